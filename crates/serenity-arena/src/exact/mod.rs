//! The exact planner: a lowest placement, and the proof that there is no lower one.
//!
//! The question is always the same: is there a placement within a target height? The search ([`mod@search`]) builds it
//! from the bottom up ([`state`]). It needs to look only at placements in which every buffer *rests*: on the ground, on
//! something fixed, or on another buffer, since any placement can be pushed down into such a one without getting
//! higher. For that, two buffers that live together are an arc: the upper one begins at least so many bytes above the
//! lower one. Mostly that is the size of the lower one; where one may be written over the other it is less, in that one
//! direction. Pushing down follows the longest paths along the arcs, and these have no cycle: where an arc has length
//! 0, it leads from the buffer that begins later to the one that begins earlier.
//!
//! At every node, take a section of time and the lowest offset at which one of its open buffers can rest. Either one of
//! the buffers that could be there is there, with all open ones it lives with above it, provided that none of those
//! could slide beneath it; or none is, and each of them rests on a buffer that is still open. These are all cases, so
//! if all fail the target is refuted, and so is every height below the least that a branch cut off on the way would
//! have needed: the next target.
//!
//! A branch is cut off where the open buffers of a section, stacked without a gap from the lowest offset on, end above
//! the target ([`sharing`] takes off what they could share, [`obstacles`] adds what is taken), where a part that looks
//! the same has failed before ([`memo`]), and where nothing holds a refused buffer ([`support`]). A buffer that is in
//! nobody's way is placed without branching ([`questions`]), and parts of time that no open buffer connects are solved
//! one after the other.
//!
//! Where all of that stalls, a [`beam`] follows many partial placements at once. It proves nothing, but finds
//! placements without slack.

mod beam;
mod choose;
mod lean;
mod lists;
mod memo;
mod model;
mod obstacles;
mod portfolio;
mod questions;
mod search;
mod sharing;
mod skyline;
mod state;
mod support;

use crate::first_fit::FirstFit;
use crate::{Problem, StopReason};
use beam::{Guide, Shape};
use lean::Lean;
use portfolio::{Attempt, Portfolio, Thoroughness};
use serenity_search::Watch;

/// What the search found, and why it ended if that leaves a gap.
pub(crate) struct Answer {
    pub(crate) offsets: Vec<u64>,
    /// No placement is lower.
    pub(crate) at_least: u64,
    pub(crate) stopped: Option<StopReason>,
}

/// Looks for a lowest placement, or with a `capacity` for one within it.
pub(crate) fn search(
    problem: &Problem,
    capacity: Option<u64>,
    simple_bound: u64,
    watch: &mut Watch,
) -> Answer {
    let mut fronts = Fronts { offsets: Vec::new(), height: u64::MAX, bound: simple_bound, capacity };
    watch.bound = simple_bound;
    let mut first_fit = FirstFit::new(problem);
    let packing = first_fit.pack(&first_fit.by_size(), watch);
    fronts.found(packing.offsets, packing.height, watch);
    if fronts.is_settled() {
        return fronts.answer(None);
    }
    let Some(mut portfolio) = Portfolio::new(problem, watch.memory_limit()) else {
        return fronts.answer(Some(StopReason::Memory));
    };
    fronts.proved(portfolio.bound(), watch);
    let lean = Lean::new(problem);
    let stopped = if fronts.is_settled() { None } else { fronts.close(&mut portfolio, lean.as_ref(), watch) };
    fronts.answer(stopped)
}

/// The height comes down, the bound goes up.
struct Fronts {
    offsets: Vec<u64>,
    height: u64,
    bound: u64,
    capacity: Option<u64>,
}

impl Fronts {
    fn found(&mut self, offsets: Vec<u64>, height: u64, watch: &mut Watch) {
        if height < self.height {
            (self.offsets, self.height) = (offsets, height);
            watch.best = height;
        }
    }

    fn proved(&mut self, bound: u64, watch: &mut Watch) {
        self.bound = self.bound.max(bound.min(self.height));
        watch.bound = self.bound;
    }

    /// Is the height proved, or is it known whether the capacity can be met?
    fn is_settled(&self) -> bool {
        self.height <= self.bound
            || self.capacity.is_some_and(|capacity| self.height <= capacity || self.bound > capacity)
    }

    fn answer(self, stopped: Option<StopReason>) -> Answer {
        let stopped = if self.height <= self.bound { None } else { stopped.or(Some(StopReason::Capacity)) };
        Answer { offsets: self.offsets, at_least: self.bound, stopped }
    }

    /// Ever longer attempts at the lowest height that is not refuted; in between, brief ones higher up, so that there is a good
    /// placement when time runs out.
    fn close(
        &mut self,
        portfolio: &mut Portfolio,
        lean: Option<&Lean>,
        watch: &mut Watch,
    ) -> Option<StopReason> {
        // Where buffers may share bytes, the bound is often out of reach: better to have a good placement first.
        if let Some(lean) = lean {
            let without_sharing = lean.most_alive();
            let end = self
                .attempt(portfolio, Some(lean), without_sharing, Thoroughness::Brief, watch)
                .or_else(|| self.approach(portfolio, Some(lean), watch));
            if let Some(end) = end {
                return end.err();
            }
        }
        let mut beams = BEAMS.iter();
        loop {
            let target = self.capacity.unwrap_or(self.bound);
            let end = self
                .attempt(portfolio, None, target, Thoroughness::Full, watch)
                .or_else(|| self.beam(portfolio, *beams.next()?, watch))
                .or_else(|| self.approach(portfolio, lean, watch));
            if let Some(end) = end {
                return end.err();
            }
            portfolio.try_harder();
        }
    }

    /// A beam at the lowest height that is not refuted.
    fn beam(&mut self, portfolio: &mut Portfolio, shape: Shape, watch: &mut Watch) -> End {
        let found = portfolio.beam(self.capacity.unwrap_or(self.bound), shape, watch);
        self.learn(found, watch)
    }

    /// Brief attempts, each halfway between what seems out of reach and the best height.
    fn approach(&mut self, portfolio: &mut Portfolio, lean: Option<&Lean>, watch: &mut Watch) -> End {
        let lowest = self.capacity.unwrap_or(self.bound);
        let mut out_of_reach = lowest;
        for attempt in 0..BRIEF_ATTEMPTS {
            let target = if attempt == 0 && lean.is_some() {
                lowest
            } else {
                u64::midpoint(out_of_reach, self.height)
            };
            let end = self.attempt(portfolio, lean, target, Thoroughness::Brief, watch);
            if end.is_some() {
                return end;
            }
            if self.height > target {
                out_of_reach = target;
            }
        }
        None
    }

    fn attempt(
        &mut self,
        portfolio: &mut Portfolio,
        lean: Option<&Lean>,
        target: u64,
        effort: Thoroughness,
        watch: &mut Watch,
    ) -> End {
        let attempt = match lean {
            None => portfolio.attempt(target, effort, watch),
            Some(lean) => {
                let problem = lean.below(target)?;
                match portfolio.on(&problem)?.attempt(target, effort, watch) {
                    // With fewer permissions than there are.
                    Attempt::Refuted { .. } => Attempt::Unknown,
                    attempt => attempt,
                }
            }
        };
        self.learn(attempt, watch)
    }

    fn learn(&mut self, attempt: Attempt, watch: &mut Watch) -> End {
        match attempt {
            Attempt::Found { offsets, height } => self.found(offsets, height, watch),
            Attempt::Refuted { at_least } => self.proved(at_least, watch),
            Attempt::Unknown => {}
            Attempt::Stopped(reason) => return Some(Err(reason)),
        }
        self.is_settled().then_some(Ok(()))
    }
}

/// Settled, or stopped; `None` to go on.
type End = Option<Result<(), StopReason>>;

const BRIEF_ATTEMPTS: usize = 5;

/// The beam after each round of attempts. They grow as the rounds do.
const BEAMS: &[Shape] = &[
    Shape::new(300, 2, Guide::Far),
    Shape::new(200, 6, Guide::Far),
    Shape::new(600, 2, Guide::Worst),
    Shape::new(1000, 2, Guide::Even),
    Shape::new(1000, 6, Guide::Worst),
    Shape::new(3000, 2, Guide::Far),
    Shape::new(3000, 6, Guide::Worst),
];
