//! Permissions to share bytes that a target height does not call for.
//!
//! Permission makes a problem easier to solve but harder to search: buffers that lie skewed, half over others, are in
//! the way of what comes later. Where all that is alive fits side by side, they can be done without.

use crate::{Overlap, Problem, Step};
use std::collections::BTreeMap;

/// The problem with only those overlaps that are needed below a height: at steps at which more than that is alive.
pub(super) struct Lean<'a> {
    problem: &'a Problem,
    alive: BTreeMap<Step, u64>,
}

impl<'a> Lean<'a> {
    /// `None` if there are no overlaps.
    pub(super) fn new(problem: &'a Problem) -> Option<Self> {
        let buffers = problem.buffers();
        let mut alive: BTreeMap<Step, u64> =
            problem.overlaps().iter().map(|overlap| (buffers[overlap.writer].lower, 0)).collect();
        let mut starts: Vec<(Step, u64)> = buffers.iter().map(|buffer| (buffer.lower, buffer.size)).collect();
        let mut ends: Vec<(Step, u64)> = buffers.iter().map(|buffer| (buffer.upper, buffer.size)).collect();
        starts.sort_unstable();
        ends.sort_unstable();
        let (mut begun, mut ended) = (starts.into_iter().peekable(), ends.into_iter().peekable());
        let mut total = 0;
        for (&step, at_step) in &mut alive {
            while let Some((_, size)) = begun.next_if(|&(lower, _)| lower <= step) {
                total += size;
            }
            while let Some((_, size)) = ended.next_if(|&(upper, _)| upper <= step) {
                total -= size;
            }
            *at_step = total;
        }
        (!alive.is_empty()).then_some(Self { problem, alive })
    }

    /// The most that is alive at a step with an overlap.
    pub(super) fn most_alive(&self) -> u64 {
        self.alive.values().copied().max().unwrap_or(0)
    }

    /// A placement of this is one of the whole problem. That there is none says nothing.
    pub(super) fn below(&self, height: u64) -> Option<Problem> {
        let is_needed = |overlap: &&Overlap| {
            let step = self.problem.buffers()[overlap.writer].lower;
            self.alive.get(&step).is_some_and(|&alive| alive > height)
        };
        let overlaps: Vec<Overlap> = self.problem.overlaps().iter().filter(is_needed).copied().collect();
        self.problem.clone().with_overlaps(overlaps).ok()
    }
}
