//! The exact planner: a lowest placement, and the proof that there is no lower one.

mod choose;
mod lists;
mod memo;
mod model;
mod obstacles;
mod portfolio;
mod search;
mod sharing;
mod state;

use crate::first_fit::FirstFit;
use crate::limits::Watch;
use crate::{Problem, StopReason};
use portfolio::{Attempt, Effort, Portfolio};

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
    let stopped = if fronts.is_settled() { None } else { fronts.close(&mut portfolio, watch) };
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
    fn close(&mut self, portfolio: &mut Portfolio, watch: &mut Watch) -> Option<StopReason> {
        loop {
            let target = self.capacity.unwrap_or(self.bound);
            if let Some(end) = self.attempt(portfolio, target, Effort::Full, watch) {
                return end.err();
            }
            if self.capacity.is_none() {
                let mut out_of_reach = self.bound;
                for _ in 0..BRIEF_ATTEMPTS {
                    let target = u64::midpoint(out_of_reach, self.height);
                    if let Some(end) = self.attempt(portfolio, target, Effort::Brief, watch) {
                        return end.err();
                    }
                    if self.height > target {
                        out_of_reach = target;
                    }
                }
            }
            portfolio.try_harder();
        }
    }

    /// Something if that is the end: settled, or stopped.
    fn attempt(
        &mut self,
        portfolio: &mut Portfolio,
        target: u64,
        effort: Effort,
        watch: &mut Watch,
    ) -> Option<Result<(), StopReason>> {
        match portfolio.attempt(target, effort, watch) {
            Attempt::Found { offsets, height } => self.found(offsets, height, watch),
            Attempt::Refuted { at_least } => self.proved(at_least, watch),
            Attempt::Unknown => {}
            Attempt::Stopped(reason) => return Some(Err(reason)),
        }
        self.is_settled().then_some(Ok(()))
    }
}

/// Each halfway between what seems out of reach and the best height.
const BRIEF_ATTEMPTS: usize = 4;
