//! Placed buffers, from low to high, and the gaps between them.

use crate::{Buffer, Step};
use std::ops::ControlFlow::{self, Break, Continue};

/// So many stand together in a block before it is halved.
const MOST_IN_A_BLOCK: usize = 256;

/// A buffer in its place.
#[derive(Clone, Copy)]
struct Placed {
    offset: u64,
    end: u64,
    lower: Step,
    upper: Step,
}

/// Neighbours by offset, and what is true of all of them, so that a search for a gap can pass them by.
struct Block {
    placed: Vec<Placed>,
    /// `lower` of the buffer that begins first and of the one that begins last.
    begins: (Step, Step),
    /// `upper` of the buffer that ends first and of the one that ends last.
    ends: (Step, Step),
    /// The end of the highest buffer.
    top: u64,
    /// The widest gap between them while all are in use, from where a buffer may begin.
    widest_gap: u64,
}

impl Block {
    /// # Panics
    /// If there is none.
    fn of(placed: Vec<Placed>, alignment: u64) -> Self {
        let lowest = placed[0];
        let mut block = Self {
            placed,
            begins: (lowest.lower, lowest.lower),
            ends: (lowest.upper, lowest.upper),
            top: lowest.end,
            widest_gap: 0,
        };
        for placed in &block.placed {
            block.begins = (block.begins.0.min(placed.lower), block.begins.1.max(placed.lower));
            block.ends = (block.ends.0.min(placed.upper), block.ends.1.max(placed.upper));
            if placed.offset > block.top {
                let gap = placed.offset.saturating_sub(aligned(block.top, alignment));
                block.widest_gap = block.widest_gap.max(gap);
            }
            block.top = block.top.max(placed.end);
        }
        block
    }

    /// Is none of them in use while the buffer is?
    fn is_apart_from(&self, buffer: &Buffer) -> bool {
        self.begins.0 >= buffer.upper || self.ends.1 <= buffer.lower
    }

    /// Are all of them in use while the buffer is?
    fn is_all_with(&self, buffer: &Buffer) -> bool {
        self.begins.1 < buffer.upper && self.ends.0 > buffer.lower
    }
}

/// What lies in the arena, sorted by offset; of equal offsets, the one that came first. In blocks, because models can
/// be made whose thousands of buffers are never in use together, or always are: either way most blocks are passed by.
pub(crate) struct ByOffset {
    blocks: Vec<Block>,
    alignment: u64,
}

fn aligned(offset: u64, alignment: u64) -> u64 {
    offset.checked_next_multiple_of(alignment).unwrap_or(u64::MAX)
}

impl ByOffset {
    /// Nothing yet; buffers may begin at multiples of `alignment`.
    pub(crate) fn new(alignment: u64) -> Self {
        Self { blocks: Vec::new(), alignment }
    }

    /// Adds a buffer that takes `size` bytes from `offset`.
    pub(crate) fn insert(&mut self, buffer: &Buffer, offset: u64, size: u64) {
        let placed = Placed { offset, end: offset + size, lower: buffer.lower, upper: buffer.upper };
        // The last block that begins no higher.
        let at = self.blocks.partition_point(|block| block.placed[0].offset <= offset).saturating_sub(1);
        let Some(block) = self.blocks.get_mut(at) else {
            self.blocks.push(Block::of(vec![placed], self.alignment));
            return;
        };
        let mut members = std::mem::take(&mut block.placed);
        members.insert(members.partition_point(|other| other.offset <= offset), placed);
        if members.len() > MOST_IN_A_BLOCK {
            let upper = members.split_off(MOST_IN_A_BLOCK / 2);
            self.blocks.insert(at + 1, Block::of(upper, self.alignment));
        }
        self.blocks[at] = Block::of(members, self.alignment);
    }

    /// Visits the gaps that hold `size` bytes between those that are in use while the buffer is, from low to high,
    /// until the visitor has found what it wants: where a gap begins, aligned or not, and where it ends. `Continue` has
    /// where the highest ends: there is room above.
    pub(crate) fn gaps<T>(
        &self,
        buffer: &Buffer,
        size: u64,
        mut visit: impl FnMut(u64, u64) -> ControlFlow<T>,
    ) -> ControlFlow<T, u64> {
        let mut top = 0_u64;
        // Most leave no gap, and to align is to divide.
        let holds = |top: u64, to: u64| {
            top.saturating_add(size) <= to && aligned(top, self.alignment).saturating_add(size) <= to
        };
        for block in self.blocks.iter().filter(|block| !block.is_apart_from(buffer)) {
            if block.is_all_with(buffer) && block.widest_gap < size && !holds(top, block.placed[0].offset) {
                top = top.max(block.top);
                continue;
            }
            let lives_with = |placed: &&Placed| placed.lower < buffer.upper && buffer.lower < placed.upper;
            for placed in block.placed.iter().filter(lives_with) {
                if holds(top, placed.offset)
                    && let Break(found) = visit(top, placed.offset)
                {
                    return Break(found);
                }
                top = top.max(placed.end);
            }
        }
        Continue(top)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serenity_search::Random;

    /// The gaps as they are found one by one.
    fn plainly(all: &[Placed], alignment: u64, buffer: &Buffer, size: u64) -> (Vec<(u64, u64)>, u64) {
        let (mut gaps, mut top) = (Vec::new(), 0);
        for placed in all.iter().filter(|placed| placed.lower < buffer.upper && buffer.lower < placed.upper) {
            if aligned(top, alignment) + size <= placed.offset {
                gaps.push((top, placed.offset));
            }
            top = top.max(placed.end);
        }
        (gaps, top)
    }

    #[test]
    fn blocks_pass_by_no_gap() {
        let mut random = Random(1);
        let mut below = |limit: u64| random.below(limit);
        for (span, steps, alignment) in
            [(40_000, 4, 1), (3_000, 60, 64), (400_000, 1, 16), (2_000_000, 1, 64)]
        {
            let (mut arena, mut all) = (ByOffset::new(alignment), Vec::<Placed>::new());
            for _ in 0..3_000 {
                let (lower, lasts) = (below(steps) as Step, 1 + below(8) as Step);
                let buffer = Buffer::new(1 + below(200), lower..lower + lasts);
                let size = 1 + below(150);
                let mut found = Vec::new();
                let top = arena.gaps::<()>(&buffer, size, |from, to| {
                    found.push((from, to));
                    Continue(())
                });
                let (gaps, plain_top) = plainly(&all, alignment, &buffer, size);
                assert_eq!((found, top), (gaps, Continue(plain_top)));
                let offset = below(span);
                arena.insert(&buffer, offset, buffer.size);
                let placed =
                    Placed { offset, end: offset + buffer.size, lower: buffer.lower, upper: buffer.upper };
                all.insert(all.partition_point(|other| other.offset <= offset), placed);
            }
        }
    }
}
