//! Buffers that have their place, from low to high.

use crate::{Buffer, Step};

/// A buffer in its place.
#[derive(Clone, Copy)]
pub(crate) struct Placed {
    pub(crate) offset: u64,
    pub(crate) end: u64,
    first: Step,
    last: Step,
}

/// What lies in the arena, sorted by offset; of equal offsets, the one that came first.
#[derive(Default)]
pub(crate) struct ByOffset(Vec<Placed>);

impl ByOffset {
    /// Adds a buffer that takes `size` bytes from `offset`.
    pub(crate) fn insert(&mut self, buffer: &Buffer, offset: u64, size: u64) {
        let at = self.0.partition_point(|placed| placed.offset <= offset);
        let placed = Placed { offset, end: offset + size, first: buffer.first, last: buffer.last };
        self.0.insert(at, placed);
    }

    /// From low to high, all that are in use while the buffer is.
    pub(crate) fn living_with(&self, buffer: &Buffer) -> impl Iterator<Item = &Placed> {
        let (first, last) = (buffer.first, buffer.last);
        self.0.iter().filter(move |placed| placed.first <= last && first <= placed.last)
    }
}
