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
    for order in [FirstFit::by_size, FirstFit::by_pressure] {
        let order = order(&first_fit);
        let packing = first_fit.pack(&order, watch);
        fronts.found(packing.offsets, packing.height, watch);
        if fronts.is_settled() {
            return fronts.answer(None);
        }
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

    /// Ever longer attempts at the lowest height that is not refuted; and a brief look halfway up to the best height, so that there is
    /// a good placement when time runs out.
    fn close(&mut self, portfolio: &mut Portfolio, watch: &mut Watch) -> Option<StopReason> {
        loop {
            let middle = u64::midpoint(self.bound, self.height);
            let is_worth_a_look = self.capacity.is_none() && middle > self.bound;
            let efforts = [(self.capacity.unwrap_or(self.bound), Effort::Full), (middle, Effort::Brief)];
            for (target, effort) in efforts.into_iter().take(1 + usize::from(is_worth_a_look)) {
                match portfolio.attempt(target, effort, watch) {
                    Attempt::Found { offsets, height } => self.found(offsets, height, watch),
                    Attempt::Refuted { at_least } => self.proved(at_least, watch),
                    Attempt::Unknown => {}
                    Attempt::Stopped(reason) => return Some(reason),
                }
                if self.is_settled() {
                    return None;
                }
            }
            portfolio.try_harder();
        }
    }
}
