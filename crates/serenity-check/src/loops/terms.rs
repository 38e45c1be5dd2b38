//! What bytes can hold, as terms: two terms are one if, and only if, they were made alike.
//!
//! A value is an input of the model, some numbers, or what an op makes of the rows that it reads. Equal terms stand for
//! equal bytes, since whatever makes them is a function of what it reads. The reverse does not hold, so what is refused
//! may still be right; what is accepted is.

use super::identity::Identity;
use serenity_ir::OpId;
use std::collections::HashMap;
use std::rc::Rc;

/// A value, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ValueId(u32);

/// The content of a range of bytes, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct RowId(u32);

/// So many bytes of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Piece {
    pub(super) value: ValueId,
    /// From which of its bytes on.
    pub(super) offset: u64,
    pub(super) bytes: u64,
}

/// What a value is.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) enum Term {
    /// What the caller gives, at this place among the inputs.
    Input(usize),
    /// These bytes, again and again.
    Bytes(Box<[u8]>),
    /// A constant of which only that is known whose it is.
    Constant { of: Identity, position: usize },
    /// What an op makes of rows. Ops of which it is not known that they have no memory are told apart by how often they ran.
    Made { of: Identity, output: usize, run: u64, rows: Box<[RowId]> },
    /// Where the window of a pool finds nothing. No byte ever holds this.
    Outside,
    /// What nobody has written, or scratch has: in each run something else.
    Garbage { run: usize },
}

/// Where a value was made first.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Note {
    pub(super) run: usize,
    pub(super) graph: usize,
    pub(super) op: Option<OpId>,
    pub(super) iteration: Option<u64>,
    pub(super) row: u64,
}

/// All values and rows so far.
#[derive(Default)]
pub(super) struct Terms {
    values: Vec<(Rc<Term>, Note)>,
    known: HashMap<Rc<Term>, ValueId>,
    rows: Vec<Rc<[Piece]>>,
    known_rows: HashMap<Rc<[Piece]>, RowId>,
}

impl Terms {
    /// The number of a term; `note` is kept if it is new.
    pub(super) fn value(&mut self, term: Term, note: Note) -> ValueId {
        if let Some(&known) = self.known.get(&term) {
            return known;
        }
        let id = ValueId(self.values.len() as u32);
        let term = Rc::new(term);
        self.known.insert(term.clone(), id);
        self.values.push((term, note));
        id
    }

    /// Bytes that are repeated: as few of them as say the same.
    pub(super) fn bytes(&mut self, pattern: &[u8]) -> ValueId {
        let repeats = |period: &usize| {
            pattern.len().is_multiple_of(*period)
                && (0..pattern.len()).all(|i| pattern[i] == pattern[i % period])
        };
        let period = (1..=pattern.len().min(8)).find(repeats).unwrap_or(pattern.len());
        self.value(Term::Bytes(pattern[..period].into()), Note::default())
    }

    pub(super) fn term(&self, value: ValueId) -> &Term {
        &self.values[value.0 as usize].0
    }

    pub(super) fn note(&self, value: ValueId) -> Note {
        self.values[value.0 as usize].1
    }

    /// The number of a content.
    pub(super) fn row(&mut self, content: &[Piece]) -> RowId {
        if let Some(&known) = self.known_rows.get(content) {
            return known;
        }
        let id = RowId(self.rows.len() as u32);
        let content: Rc<[Piece]> = content.into();
        self.known_rows.insert(content.clone(), id);
        self.rows.push(content);
        id
    }

    pub(super) fn content(&self, row: RowId) -> Rc<[Piece]> {
        self.rows[row.0 as usize].clone()
    }

    /// Bytes of a value. Where a value is the same all over, or repeats itself, offsets that mean the same are one.
    pub(super) fn piece(&self, value: ValueId, offset: u64, bytes: u64) -> Piece {
        let offset = match self.term(value) {
            Term::Bytes(pattern) => offset % pattern.len().max(1) as u64,
            Term::Outside | Term::Garbage { .. } => 0,
            Term::Input(_) | Term::Constant { .. } | Term::Made { .. } => offset,
        };
        Piece { value, offset, bytes }
    }

    /// Adds a piece to a content. Pieces that belong together become one, so that equal contents are equal lists.
    pub(super) fn append(&self, content: &mut Vec<Piece>, piece: Piece) {
        if piece.bytes == 0 {
            return;
        }
        if let Some(last) = content.last_mut()
            && last.value == piece.value
            && self.piece(last.value, last.offset + last.bytes, 0).offset == piece.offset
        {
            last.bytes += piece.bytes;
        } else {
            content.push(piece);
        }
    }

    /// Bytes `begin..end` of a content.
    pub(super) fn cut(&self, content: &[Piece], begin: u64, end: u64) -> Vec<Piece> {
        let mut part = Vec::new();
        let mut at = 0;
        for piece in content {
            let (from, to) = (begin.max(at), end.min(at + piece.bytes));
            if from < to {
                self.append(&mut part, self.piece(piece.value, piece.offset + (from - at), to - from));
            }
            at += piece.bytes;
        }
        part
    }

    /// The bytes themselves, if they are known.
    pub(super) fn known_bytes(&self, content: &[Piece]) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        for piece in content {
            let Term::Bytes(pattern) = self.term(piece.value) else { return None };
            let at = |i: u64| pattern.get((i % pattern.len().max(1) as u64) as usize).copied();
            for i in 0..piece.bytes {
                bytes.push(at(piece.offset + i)?);
            }
        }
        Some(bytes)
    }
}
