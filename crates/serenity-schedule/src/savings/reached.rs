//! The sets of executed ops that a search has reached.

use hashbrown::HashTable;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

/// A set of executed ops.
#[derive(Clone)]
pub(super) struct Set {
    pub(super) done: Vec<u64>,
    pub(super) ready: Vec<u64>,
    /// The XOR of the keys of its ops.
    pub(super) hash: u64,
    pub(super) in_use: u64,
    /// The peak at which it was reached.
    pub(super) peak: u64,
    /// The ops that ran last.
    pub(super) ops: Vec<u32>,
}

/// The sets of executed ops that were reached, each at the least peak, as columns.
pub(super) struct Reached {
    words: usize,
    pub(super) done: Vec<u64>,
    pub(super) ready: Vec<u64>,
    pub(super) sets: Vec<ReachedSet>,
    /// The ops that led from each set to another.
    pub(super) ops: Vec<u32>,
    by_hash: HashTable<u32>,
    /// Sets whose turn has not come, and of those reached again at no higher peak also where they stood before.
    open: BinaryHeap<Turn>,
    turns: u64,
}

pub(super) struct ReachedSet {
    pub(super) hash: u64,
    pub(super) in_use: u64,
    pub(super) peak: u64,
    /// Where it was reached from, and by which of the ops.
    before: u32,
    ops: Range<u32>,
    had_its_turn: bool,
}

/// When it is the turn of a set, as a heap takes the largest: the one with the least peak, the least memory in use, the
/// most ops, the one reached last.
type Turn = (Reverse<u64>, Reverse<u64>, u32, u64, u32);

impl Reached {
    pub(super) fn new(root: &Set) -> Self {
        let mut reached = Self {
            words: root.done.len(),
            done: Vec::new(),
            ready: Vec::new(),
            sets: Vec::new(),
            ops: Vec::new(),
            by_hash: HashTable::new(),
            open: BinaryHeap::new(),
            turns: 0,
        };
        reached.offer(0, root);
        reached
    }

    pub(super) fn done(&self, at: usize) -> &[u64] {
        &self.done[at * self.words..][..self.words]
    }

    pub(super) fn ready(&self, at: usize) -> &[u64] {
        &self.ready[at * self.words..][..self.words]
    }

    /// Takes a set that is reached from the one at `before`, unless that is known at a lower peak.
    pub(super) fn offer(&mut self, before: usize, set: &Set) {
        let is_this =
            |&at: &u32| self.sets[at as usize].hash == set.hash && self.done(at as usize) == set.done;
        let known = self.by_hash.find(set.hash, is_this).copied();
        let is_beaten = |known: &ReachedSet| known.had_its_turn || known.peak < set.peak;
        if known.is_some_and(|at| is_beaten(&self.sets[at as usize])) {
            return;
        }
        let first = self.ops.len() as u32;
        self.ops.extend_from_slice(&set.ops);
        let reached = ReachedSet {
            hash: set.hash,
            in_use: set.in_use,
            peak: set.peak,
            before: before as u32,
            ops: first..self.ops.len() as u32,
            had_its_turn: false,
        };
        let at = if let Some(at) = known {
            self.sets[at as usize] = reached;
            at
        } else {
            let at = self.sets.len() as u32;
            self.done.extend_from_slice(&set.done);
            self.ready.extend_from_slice(&set.ready);
            self.sets.push(reached);
            self.by_hash.insert_unique(set.hash, at, |&other| self.sets[other as usize].hash);
            at
        };
        let size = set.done.iter().map(|word| word.count_ones()).sum();
        self.turns += 1;
        self.open.push((Reverse(set.peak), Reverse(set.in_use), size, self.turns, at));
    }

    /// The next set whose turn it is.
    pub(super) fn next(&mut self) -> Option<usize> {
        loop {
            let (.., at) = self.open.pop()?;
            let at = at as usize;
            if !std::mem::replace(&mut self.sets[at].had_its_turn, true) {
                return Some(at);
            }
        }
    }

    /// The ops from the first of the sets to the one at `at`.
    pub(super) fn way_to(&self, mut at: usize) -> Vec<u32> {
        let mut ops = Vec::new();
        while at > 0 {
            let ReachedSet { before, ops: last, .. } = &self.sets[at];
            ops.extend(self.ops[last.start as usize..last.end as usize].iter().rev());
            at = *before as usize;
        }
        ops.reverse();
        ops
    }

    /// Bytes taken.
    pub(super) fn memory(&self) -> u64 {
        let words = self.done.capacity() + self.ready.capacity();
        let sets = size_of::<ReachedSet>() * self.sets.capacity() + size_of::<Turn>() * self.open.capacity();
        // A slot of the table is an index and a control byte, and a table is at most 7/8 full.
        (8 * words + sets + 4 * self.ops.capacity() + 6 * self.by_hash.capacity()) as u64
    }
}
