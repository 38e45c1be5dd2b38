//! The arena planner of LiteRT, the former TensorFlow Lite.

use crate::placed::ByOffset;
use crate::{Buffer, FOREVER, Problem};
use std::cmp::Reverse;
use std::convert::Infallible;
use std::ops::ControlFlow::Continue;

/// What lives from step 0 for ever first, in order; then the largest first, of equals the one that begins first. Each goes into
/// the smallest gap that holds it.
///
/// Sizes are not rounded, offsets are. What has an offset already lies there before all others come, as what the
/// runtime placed in an earlier round does. Where size and first step are equal, the runtime leaves the order to an
/// unstable sort; here it is the order given.
pub(crate) fn offsets(problem: &Problem) -> Vec<u64> {
    let buffers = problem.buffers();
    let (fixed, mut order): (Vec<usize>, Vec<usize>) =
        (0..buffers.len()).partition(|&index| buffers[index].offset.is_some());
    order.sort_unstable_by_key(|&index| {
        let buffer = &buffers[index];
        let stays = buffer.lower == 0 && buffer.upper == FOREVER;
        if stays { (false, Reverse(0), 0, index) } else { (true, Reverse(buffer.size), buffer.lower, index) }
    });

    let mut offsets = vec![0; buffers.len()];
    let mut arena = ByOffset::new(problem.alignment());
    for index in fixed.into_iter().chain(order) {
        let buffer = &buffers[index];
        // An empty tensor is said to be at 0 and takes no part.
        if buffer.size > 0 {
            let gap = || smallest_gap(&arena, buffer, problem.alignment());
            offsets[index] = buffer.offset.unwrap_or_else(gap);
            arena.insert(buffer, offsets[index], buffer.size);
        }
    }
    offsets
}

fn smallest_gap(arena: &ByOffset, buffer: &Buffer, alignment: u64) -> u64 {
    let mut best = None;
    let mut best_gap = u64::MAX;
    let end = arena.gaps::<Infallible>(buffer, buffer.size, |from, to| {
        let candidate = from.next_multiple_of(alignment);
        // As the runtime has it: a gap is compared by its aligned length, and remembered by its whole length.
        if to - candidate < best_gap {
            best = Some(candidate);
            best_gap = to - from;
        }
        Continue(())
    });
    let Continue(top) = end;
    best.unwrap_or_else(|| top.next_multiple_of(alignment))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(buffers: &[Buffer], alignment: u64) -> Vec<u64> {
        offsets(&Problem::new(buffers.to_vec(), alignment).unwrap())
    }

    #[test]
    fn inputs_that_stay_come_first_however_small() {
        let buffers = [Buffer::new(100, 0..2), Buffer::new(10, 0..FOREVER), Buffer::new(50, 1..FOREVER)];
        assert_eq!(plan(&buffers, 64), [64, 0, 192]);
        assert_eq!(plan(&buffers, 1), [10, 0, 110]);
    }

    #[test]
    fn of_equal_sizes_the_first_to_begin_goes_to_the_bottom() {
        assert_eq!(plan(&[Buffer::new(10, 2..4), Buffer::new(10, 1..3)], 64), [64, 0]);
    }

    #[test]
    fn the_smallest_gap_is_taken() {
        // Gaps of 300 and 200 once the two in the middle are gone; 150 goes into the smaller one, higher up.
        let buffers = [
            Buffer::new(1000, 0..10),
            Buffer::new(300, 0..2),
            Buffer::new(250, 0..10),
            Buffer::new(200, 0..2),
            Buffer::new(160, 0..10),
            Buffer::new(150, 2..4),
        ];
        assert_eq!(plan(&buffers, 1), [0, 1000, 1300, 1550, 1750, 1550]);
    }

    #[test]
    fn what_has_an_offset_is_there_before_all_others() {
        let buffers = [
            Buffer::new(1000, 3..5),
            Buffer::new(10, 0..4).at(64),
            Buffer::new(10, 0..3).at(256),
            Buffer::new(8, 2..4),
        ];
        assert_eq!(plan(&buffers, 64), [128, 64, 256, 0]);
    }

    #[test]
    fn empty_buffers_take_no_part() {
        assert_eq!(plan(&[Buffer::new(0, 0..2), Buffer::new(8, 0..2), Buffer::new(0, 0..2)], 64), [0, 0, 0]);
    }
}
