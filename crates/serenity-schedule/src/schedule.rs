//! The one entry point: a problem and options in, a schedule out.

use crate::divide::{self, Combined, Solved};
use crate::dp::{self, Outcome};
use crate::limits::{StopReason, Watch};
use crate::walk::Walk;
use crate::{
    Algorithm, OpIndex, Options, Problem, Step, bounds, dfs, exact, exhaustive, greedy, kahn, soft_budget,
};
use std::time::Duration;

/// An order, and what is proved about it.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// The ops in execution order.
    pub order: Vec<OpIndex>,
    /// The most memory in use at any time.
    pub peak: u64,
    /// No order peaks below this.
    pub bound: u64,
    /// Whether that settles it.
    pub proof: Proof,
    /// What it took.
    pub stats: Stats,
}

/// What is proved about a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// The peak equals the bound: no order needs less.
    Optimal,
    /// There may be better orders between the bound and the peak.
    Gap {
        /// Why the search ended.
        stopped: StopReason,
    },
}

/// What a search took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// States visited: sets of executed ops for dynamic programming, partial orders for exhaustive search.
    pub states: u64,
    /// Ops in each piece that was scheduled on its own.
    pub pieces: Vec<usize>,
    /// Wall-clock time.
    pub elapsed: Duration,
}

/// Finds an order of low peak, the lowest if the algorithm is exact and the limits allow.
///
/// An order returned because a limit was hit is the best found until then, and never worse than those of the heuristics.
pub fn schedule(problem: &Problem, options: &Options) -> Schedule {
    let mut watch = Watch::new(&options.limits, options.progress.as_ref());
    watch.bound = bounds::simple(problem);
    let found = match options.algorithm {
        Algorithm::Exact => exactly(problem, options, &mut watch),
        Algorithm::Dp => with_incumbent(problem, &mut watch, |incumbent, watch| {
            let sizes = vec![problem.len()];
            match plain_dp(problem, watch) {
                Solved::Optimal { order, peak } => Combined { order, at_least: peak, stopped: None, sizes },
                Solved::Stopped { reason, at_least } => {
                    Combined { order: incumbent, at_least, stopped: Some(reason), sizes }
                }
            }
        }),
        Algorithm::DpDivide => with_incumbent(problem, &mut watch, |incumbent, watch| {
            divide::conquer(problem, &incumbent, watch, plain_dp)
        }),
        Algorithm::DpDivideBudget => with_incumbent(problem, &mut watch, |incumbent, watch| {
            divide::conquer(problem, &incumbent, watch, |piece, watch| {
                soft_budget::search(piece, options.step_limit, watch)
            })
        }),
        Algorithm::Exhaustive => with_incumbent(problem, &mut watch, |incumbent, watch| {
            let (order, stopped) = exhaustive::search(problem, incumbent, watch);
            let at_least = if stopped.is_none() { peak_of(problem, &order) } else { bounds::simple(problem) };
            Combined { order, at_least, stopped, sizes: vec![problem.len()] }
        }),
        Algorithm::Greedy => heuristic(problem, greedy::order(problem)),
        Algorithm::Dfs => heuristic(problem, dfs::order(problem)),
        Algorithm::Kahn => heuristic(problem, kahn::order(problem)),
        Algorithm::File => heuristic(problem, problem.topological.clone()),
    };
    conclude(problem, found, &watch)
}

/// Runs a search that falls back on the best heuristic order.
fn with_incumbent(
    problem: &Problem,
    watch: &mut Watch,
    search: impl FnOnce(Vec<u32>, &mut Watch) -> Combined,
) -> Combined {
    let (incumbent, peak) = best_heuristic(problem);
    watch.best = peak;
    search(incumbent, watch)
}

fn plain_dp(problem: &Problem, watch: &mut Watch) -> Solved {
    match dp::search(problem, u64::MAX, None, watch) {
        Outcome::Solution { order, peak } => Solved::Optimal { order, peak },
        Outcome::Stopped { reason, at_least } => Solved::Stopped { reason, at_least },
        Outcome::NoSolution { .. } | Outcome::StepLimit => {
            unreachable!("without a budget and a step limit every schedule is within them")
        }
    }
}

fn exactly(problem: &Problem, options: &Options, watch: &mut Watch) -> Combined {
    let answer = exact::search(problem, &options.rules, options.threads, watch);
    let mut found = Combined {
        order: answer.order,
        at_least: answer.at_least,
        stopped: answer.stopped,
        sizes: answer.sizes,
    };
    if found.stopped.is_some() {
        // Parts that were improved one by one may be worse together than a heuristic for the whole.
        let (order, peak) = best_heuristic(problem);
        if peak < peak_of(problem, &found.order) {
            found.order = order;
        }
    }
    found
}

fn heuristic(problem: &Problem, order: Vec<u32>) -> Combined {
    let sizes = vec![problem.len()];
    Combined { order, at_least: bounds::simple(problem), stopped: Some(StopReason::Heuristic), sizes }
}

fn conclude(problem: &Problem, found: Combined, watch: &Watch) -> Schedule {
    let peak = peak_of(problem, &found.order);
    let proof = match found.stopped {
        Some(stopped) if peak > found.at_least => Proof::Gap { stopped },
        _ => Proof::Optimal,
    };
    Schedule {
        order: found.order.into_iter().map(OpIndex).collect(),
        peak,
        bound: found.at_least,
        proof,
        stats: Stats { states: watch.states, pieces: found.sizes, elapsed: watch.elapsed() },
    }
}

/// The best order that costs next to nothing to find, and its peak.
pub(crate) fn best_heuristic(problem: &Problem) -> (Vec<u32>, u64) {
    let mut best = (problem.topological.clone(), peak_of(problem, &problem.topological));
    for order in [greedy::order(problem), dfs::order(problem), kahn::order(problem)] {
        let peak = peak_of(problem, &order);
        if peak < best.1 {
            best = (order, peak);
        }
    }
    best
}

pub(crate) fn steps_of(problem: &Problem, order: &[u32]) -> Vec<Step> {
    let mut walk = Walk::new(problem);
    order.iter().map(|&op| walk.run(op)).collect()
}

pub(crate) fn peak_of(problem: &Problem, order: &[u32]) -> u64 {
    let mut walk = Walk::new(problem);
    order.iter().map(|&op| walk.run(op).during).fold(problem.at_start(), u64::max)
}
