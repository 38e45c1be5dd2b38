//! The entry point: [`place`].

use crate::exact::{self, Answer};
use crate::{
    Options, Placement, Planner, Problem, Proof, Stats, StopReason, bound, hill_climb, litert, rigid,
    simple_arena, tflm,
};
use serenity_search::Watch;

/// Gives every buffer an offset. The arena is the smallest possible if the planner is exact and the limits allow it.
///
/// If a limit ended the search, the result is the best placement found until then.
pub fn place(problem: &Problem, options: &Options) -> Placement {
    let mut watch = Watch::new(&options.limits, options.progress.as_ref());
    let bound = bound::simple(problem);
    let unproved = |offsets| Answer { offsets, at_least: bound, stopped: Some(StopReason::Heuristic) };
    let answer = match options.planner {
        planner if rigid::is_needed(problem, planner) => {
            rigid::search(problem, planner, options.capacity, &options.limits, &mut watch)
        }
        Planner::Exact => exact::search(problem, options.capacity, bound, &mut watch),
        Planner::Tflm => unproved(tflm::offsets(problem)),
        Planner::LiteRt => unproved(litert::offsets(problem)),
        Planner::SimpleArena => unproved(simple_arena::offsets(problem)),
        Planner::HillClimb => hill_climb::search(problem, options.capacity, bound, &mut watch),
    };
    // What the height counts for: the runtime that rounds sizes needs the rounded ones.
    let rounding = if options.planner == Planner::Tflm { problem.alignment() } else { 1 };
    let placed = problem.buffers().iter().zip(&answer.offsets);
    let tops = placed.map(|(buffer, offset)| match buffer.size {
        0 => 0,
        size => offset + size.next_multiple_of(rounding),
    });
    let height = tops.max().unwrap_or(0);
    let proof = Proof::of(height, answer.at_least, answer.stopped);
    Placement {
        offsets: answer.offsets,
        height,
        bound: answer.at_least.min(height),
        proof,
        stats: Stats { states: watch.states, elapsed: watch.elapsed() },
    }
}
