//! The arena: which bytes hold what.

use super::terms::{Piece, Terms, ValueId};
use std::collections::BTreeMap;

/// Contents by where they begin. Bytes in between hold garbage.
pub(super) struct Memory {
    pieces: BTreeMap<u64, Piece>,
    garbage: ValueId,
}

impl Memory {
    pub(super) fn full_of(garbage: ValueId) -> Self {
        Self { pieces: BTreeMap::new(), garbage }
    }

    /// What so many bytes hold.
    pub(super) fn read(&self, begin: u64, bytes: u64, terms: &Terms) -> Vec<Piece> {
        let end = begin + bytes;
        let first = self.pieces.range(..=begin).next_back().map_or(begin, |(&at, _)| at);
        let mut content = Vec::new();
        let mut next = begin;
        for (&at, piece) in self.pieces.range(first..end) {
            let (from, to) = (at.max(begin), (at + piece.bytes).min(end));
            if from >= to {
                continue;
            }
            terms.append(&mut content, terms.piece(self.garbage, 0, from - next));
            terms.append(&mut content, terms.piece(piece.value, piece.offset + (from - at), to - from));
            next = to;
        }
        terms.append(&mut content, terms.piece(self.garbage, 0, end - next));
        content
    }

    /// Writes a content from `begin` on.
    pub(super) fn write(&mut self, begin: u64, content: &[Piece], terms: &Terms) {
        let bytes: u64 = content.iter().map(|piece| piece.bytes).sum();
        self.lose(begin, begin + bytes, terms);
        let mut at = begin;
        for piece in content {
            self.pieces.insert(at, *piece);
            at += piece.bytes;
        }
    }

    /// What lay there is gone.
    pub(super) fn lose(&mut self, begin: u64, end: u64, terms: &Terms) {
        if begin >= end {
            return;
        }
        if let Some((&at, &piece)) = self.pieces.range(..begin).next_back()
            && at + piece.bytes > begin
        {
            self.pieces.insert(at, Piece { bytes: begin - at, ..piece });
            self.keep_behind(end, at, piece, terms);
        }
        let inside: Vec<u64> = self.pieces.range(begin..end).map(|(&at, _)| at).collect();
        for at in inside {
            if let Some(piece) = self.pieces.remove(&at) {
                self.keep_behind(end, at, piece, terms);
            }
        }
    }

    /// Of a piece that lay at `at`, what reaches beyond `end` stays.
    fn keep_behind(&mut self, end: u64, at: u64, piece: Piece, terms: &Terms) {
        if at + piece.bytes > end {
            let gone = end - at;
            let rest = terms.piece(piece.value, piece.offset + gone, piece.bytes - gone);
            self.pieces.insert(end, rest);
        }
    }
}
