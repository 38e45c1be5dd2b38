//! The one entry point: a problem and options in, a placement out.

use crate::{
    Options, Placement, Planner, Problem, Proof, Stats, StopReason, bound, litert, simple_arena, tflm,
};
use std::time::Instant;

/// Gives every buffer an offset.
pub fn place(problem: &Problem, options: &Options) -> Placement {
    let started = Instant::now();
    // What the height counts for: the runtime that rounds sizes needs the rounded ones.
    let (offsets, rounding) = match options.planner {
        Planner::Tflm => (tflm::offsets(problem), problem.alignment()),
        Planner::LiteRt => (litert::offsets(problem), 1),
        Planner::SimpleArena => (simple_arena::offsets(problem), 1),
    };
    let tops =
        problem.buffers().iter().zip(&offsets).map(|(b, offset)| offset + b.size.next_multiple_of(rounding));
    let height = tops.max().unwrap_or(0);
    let bound = bound::simple(problem);
    // Nothing is optimal because a planner says so: the bound must meet the height.
    let proof = if height <= bound { Proof::Optimal } else { Proof::Gap { stopped: StopReason::Heuristic } };
    Placement {
        offsets,
        height,
        bound: bound.min(height),
        proof,
        stats: Stats { states: 0, elapsed: started.elapsed() },
    }
}
