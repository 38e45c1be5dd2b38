//! The arena of TensorFlow Lite until 2020: it places in order of execution, without knowing what comes later.

use crate::{Buffer, Problem, Step};

/// Walks the steps. A buffer is put into the smallest gap when it comes to life and taken out after its last step; buffers of the
/// same first step are put in the order given.
///
/// Sizes are not rounded, offsets are. That arena knew no fixed offsets, so they are ignored.
pub(crate) fn offsets(problem: &Problem) -> Vec<u64> {
    let buffers = problem.buffers();
    let mut order: Vec<usize> = (0..buffers.len()).filter(|&index| buffers[index].size > 0).collect();
    order.sort_by_key(|&index| buffers[index].lower);

    // An empty tensor is said to be at 0 and takes no part.
    let mut offsets = vec![0; buffers.len()];
    // From low to high: offset, end, `upper`.
    let mut arena: Vec<(u64, u64, Step)> = Vec::new();
    let mut now = Step::MIN;
    for index in order {
        let buffer = &buffers[index];
        if buffer.lower > now {
            now = buffer.lower;
            arena.retain(|&(_, _, upper)| upper > now);
        }
        let offset = smallest_gap(&arena, buffer, problem.alignment());
        offsets[index] = offset;
        let at = arena.partition_point(|placed| placed.0 <= offset);
        arena.insert(at, (offset, offset + buffer.size, buffer.upper));
    }
    offsets
}

fn smallest_gap(arena: &[(u64, u64, Step)], buffer: &Buffer, alignment: u64) -> u64 {
    let mut top = 0_u64;
    let mut best = None;
    let mut best_gap = u64::MAX;
    for &(offset, end, _) in arena {
        let candidate = top.next_multiple_of(alignment);
        if candidate + buffer.size <= offset && offset - top < best_gap {
            best = Some(candidate);
            best_gap = offset - top;
        }
        top = end;
    }
    best.unwrap_or_else(|| top.next_multiple_of(alignment))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(buffers: &[Buffer], alignment: u64) -> Vec<u64> {
        offsets(&Problem::new(buffers.to_vec(), alignment).unwrap())
    }

    #[test]
    fn a_chain_swings_between_bottom_and_top() {
        // The third fits into the hole of the first; the fourth does not fit below it.
        let chain =
            [Buffer::new(30, 0..2), Buffer::new(20, 1..3), Buffer::new(10, 2..4), Buffer::new(40, 3..5)];
        assert_eq!(plan(&chain, 1), [0, 30, 0, 10]);
        assert_eq!(plan(&chain, 64), [0, 64, 0, 64]);
    }

    #[test]
    fn later_buffers_are_not_foreseen() {
        // A planner that sees all of them puts the large one to the bottom.
        let buffers =
            [Buffer::new(10, 0..6), Buffer::new(10, 1..3), Buffer::new(10, 2..6), Buffer::new(20, 3..6)];
        assert_eq!(plan(&buffers, 1), [0, 10, 20, 30]);
    }

    #[test]
    fn of_two_gaps_the_smaller_is_taken_and_of_equals_the_lower() {
        let buffers = [
            Buffer::new(30, 0..1),
            Buffer::new(5, 0..10),
            Buffer::new(20, 0..1),
            Buffer::new(5, 0..10),
            Buffer::new(20, 0..1),
            Buffer::new(5, 0..10),
            Buffer::new(20, 1..3),
            Buffer::new(20, 1..3),
            Buffer::new(20, 1..3),
        ];
        assert_eq!(plan(&buffers, 1)[6..], [35, 60, 0]);
    }
}
