//! Remembers parts that have no solution within the capacity.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

/// Signatures of 128 bits: two different parts out of a billion have the same one with a probability of one in 10^20.
pub(super) struct Memo {
    known: HashSet<u128, BuildHasherDefault<Low>>,
    most: usize,
}

/// What an entry takes, with the free space a hash table keeps.
const BYTES_PER_ENTRY: u64 = 40;

/// A signature is a hash already.
#[derive(Default)]
struct Low(u64);

impl Hasher for Low {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    fn write_u128(&mut self, signature: u128) {
        self.0 = signature as u64;
    }
}

impl Memo {
    pub(super) fn new(memory: u64) -> Self {
        let most = (memory / BYTES_PER_ENTRY).min(1 << 23) as usize;
        Self { known: HashSet::default(), most }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    pub(super) fn contains(&self, signature: u128) -> bool {
        self.known.contains(&signature)
    }

    /// Starts anew when full: what is learned now is closer to what will be asked.
    pub(super) fn insert(&mut self, signature: u128) {
        if self.known.len() >= self.most {
            self.known.clear();
        }
        if self.most > 0 {
            self.known.insert(signature);
        }
    }
}
