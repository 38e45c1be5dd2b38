//! Sets of executed ops of one size, as columns, each found again by its hash.

use crate::{Problem, bits};
use hashbrown::HashTable;

/// All sets that `level` ops can make, with what follows from a set alone: who can run next, and the memory in use.
pub(crate) struct SetTable {
    /// Words of a bit set.
    words: usize,
    hash: Vec<u64>,
    done: Vec<u64>,
    /// The zero-indegree sets.
    ready: Vec<u64>,
    in_use: Vec<u64>,
    by_hash: HashTable<u32>,
}

/// One op more than a set.
#[derive(Clone, Copy)]
pub(crate) struct Move {
    pub(crate) from: usize,
    pub(crate) op: u32,
    /// The hash key of the op.
    pub(crate) key: u64,
    /// Memory in use while it runs.
    pub(crate) during: u64,
}

impl SetTable {
    pub(crate) fn new(problem: &Problem) -> Self {
        Self {
            words: problem.words(),
            hash: Vec::new(),
            done: Vec::new(),
            ready: Vec::new(),
            in_use: Vec::new(),
            by_hash: HashTable::new(),
        }
    }

    /// The empty set alone.
    pub(crate) fn start(problem: &Problem) -> Self {
        Self {
            hash: vec![0],
            done: vec![0; problem.words()],
            ready: problem.sources(),
            in_use: vec![problem.at_start()],
            ..Self::new(problem)
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.hash.len()
    }

    pub(crate) fn clear(&mut self) {
        self.hash.clear();
        self.done.clear();
        self.ready.clear();
        self.in_use.clear();
        self.by_hash.clear();
    }

    /// Bytes taken.
    pub(crate) fn memory(&self) -> u64 {
        let words =
            self.hash.capacity() + self.done.capacity() + self.ready.capacity() + self.in_use.capacity();
        // A slot of the table is an index and a control byte, and a table is at most 7/8 full.
        8 * words as u64 + 6 * self.by_hash.capacity() as u64
    }

    pub(crate) fn done(&self, set: usize) -> &[u64] {
        &self.done[set * self.words..][..self.words]
    }

    pub(crate) fn ready(&self, set: usize) -> &[u64] {
        &self.ready[set * self.words..][..self.words]
    }

    pub(crate) fn in_use(&self, set: usize) -> u64 {
        self.in_use[set]
    }

    /// Where a set of `before` leads to, and whether that was not known yet.
    pub(crate) fn reach(&mut self, problem: &Problem, before: &Self, step: Move) -> (usize, bool) {
        let Move { from, op, key, during } = step;
        let hash = before.hash[from] ^ key;
        let done = before.done(from);
        // All sets here have one op more than `done`, so the one that contains both is the one that is looked for.
        let is_this = |&other: &u32| {
            let other = other as usize;
            self.hash[other] == hash && {
                let other = self.done(other);
                let missing = done.iter().zip(other).fold(0, |missing, (d, o)| missing | (d & !o));
                missing == 0 && bits::contains(other, op)
            }
        };
        if let Some(&known) = self.by_hash.find(hash, is_this) {
            return (known as usize, false);
        }
        let set = self.len();
        self.by_hash.insert_unique(hash, set as u32, |&other| self.hash[other as usize]);
        self.hash.push(hash);
        self.done.extend_from_slice(done);
        self.ready.extend_from_slice(before.ready(from));
        let span = set * self.words..;
        bits::insert(&mut self.done[span.clone()], op);
        problem.advance(&self.done[span.clone()], &mut self.ready[span], op);
        self.in_use.push(during - problem.freed(done, op));
        (set, true)
    }
}
