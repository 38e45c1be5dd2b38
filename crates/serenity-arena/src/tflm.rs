//! The greedy planner of TensorFlow Lite Micro.

use crate::placed::ByOffset;
use crate::{Buffer, Problem};
use std::cmp::Reverse;
use std::ops::ControlFlow::{Break, Continue};

/// Buffers with a fixed offset first, in order; then the largest first, of equals the one that was given last. Each goes into the
/// lowest gap that holds it.
///
/// Fixed offsets are believed: they may overlap or be unaligned, and the others find their way around them.
pub(crate) fn offsets(problem: &Problem) -> Vec<u64> {
    let buffers = problem.buffers();
    let size = |buffer: &Buffer| buffer.size.next_multiple_of(problem.alignment());
    let (fixed, mut free): (Vec<usize>, Vec<usize>) =
        (0..buffers.len()).partition(|&index| buffers[index].offset.is_some());
    free.sort_unstable_by_key(|&index| (Reverse(size(&buffers[index])), Reverse(index)));

    let mut offsets = vec![0; buffers.len()];
    // A gap may begin anywhere: all but what is fixed ends at a multiple.
    let mut arena = ByOffset::new(1);
    for index in fixed.into_iter().chain(free) {
        let buffer = &buffers[index];
        offsets[index] = buffer.offset.unwrap_or_else(|| lowest_gap(&arena, buffer, size(buffer)));
        arena.insert(buffer, offsets[index], size(buffer));
    }
    offsets
}

fn lowest_gap(arena: &ByOffset, buffer: &Buffer, size: u64) -> u64 {
    let (Break(offset) | Continue(offset)) = arena.gaps(buffer, size, |from, _| Break(from));
    offset
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(buffers: &[Buffer], alignment: u64) -> Vec<u64> {
        offsets(&Problem::new(buffers.to_vec(), alignment).unwrap())
    }

    #[test]
    fn of_equal_sizes_the_last_goes_to_the_bottom() {
        let buffers = [Buffer::new(10, 0..2), Buffer::new(10, 1..3), Buffer::new(30, 2..4)];
        assert_eq!(plan(&buffers, 1), [0, 30, 0]);
        let twins = [Buffer::new(10, 0..2), Buffer::new(10, 1..3)];
        assert_eq!(plan(&twins, 1), [10, 0]);
    }

    #[test]
    fn sizes_are_rounded_and_decide_the_order_only_then() {
        // 15 and 16 are equal once rounded, so the last one is placed first.
        assert_eq!(plan(&[Buffer::new(16, 0..2), Buffer::new(15, 0..2)], 16), [16, 0]);
        assert_eq!(plan(&[Buffer::new(16, 0..2), Buffer::new(15, 0..2)], 1), [0, 16]);
    }

    #[test]
    fn the_lowest_gap_is_taken_even_if_a_higher_one_fits_better() {
        let buffers = [
            Buffer::new(100, 0..10).at(40),
            Buffer::new(100, 0..10).at(150),
            Buffer::new(10, 0..10),
            Buffer::new(35, 0..10),
            Buffer::new(6, 0..10),
        ];
        assert_eq!(plan(&buffers, 1), [40, 150, 140, 0, 250]);
    }

    #[test]
    fn fixed_buffers_may_overlap_and_come_in_any_order() {
        let buffers = [
            Buffer::new(10, 0..2).at(50),
            Buffer::new(20, 0..2).at(45),
            Buffer::new(60, 0..2),
            Buffer::new(40, 1..3),
        ];
        assert_eq!(plan(&buffers, 1), [50, 45, 65, 0]);
    }

    #[test]
    fn what_no_op_touches_meets_only_its_like() {
        let buffers = [Buffer::new(64, -1..0), Buffer::new(32, 0..6), Buffer::new(64, -1..0)];
        assert_eq!(plan(&buffers, 1), [64, 0, 0]);
    }
}
