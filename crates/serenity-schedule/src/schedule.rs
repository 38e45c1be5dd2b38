//! The one entry point: a problem and options in, a schedule out.

use crate::divide::{self, Combined, Solved};
use crate::dp::{self, Outcome};
use crate::limits::{StopReason, Watch};
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
    if options.algorithm.is_exact() {
        watch.best = best_heuristic(problem).1;
    }
    let found = match options.algorithm {
        Algorithm::Exact => {
            let answer = exact::search(problem, &options.rules, options.threads, &mut watch);
            Combined {
                order: answer.order,
                at_least: answer.at_least,
                stopped: answer.stopped,
                sizes: answer.sizes,
            }
        }
        Algorithm::Dp => {
            let solved = plain_dp(problem, &mut watch);
            Combined {
                order: solved.order,
                at_least: solved.at_least,
                stopped: solved.stopped,
                sizes: vec![problem.len()],
            }
        }
        Algorithm::DpDivide => divide::conquer(problem, &mut watch, plain_dp),
        Algorithm::DpDivideBudget => divide::conquer(problem, &mut watch, |piece, watch| {
            soft_budget::search(piece, options.step_limit, watch)
        }),
        Algorithm::Exhaustive => {
            let incumbent = best_heuristic(problem).0;
            let (order, stopped) = exhaustive::search(problem, incumbent, &mut watch);
            let at_least = if stopped.is_none() { peak_of(problem, &order) } else { bounds::simple(problem) };
            Combined { order, at_least, stopped, sizes: vec![problem.len()] }
        }
        Algorithm::Greedy => heuristic(problem, greedy::order(problem)),
        Algorithm::Dfs => heuristic(problem, dfs::order(problem)),
        Algorithm::Kahn => heuristic(problem, kahn::order(problem)),
        Algorithm::File => heuristic(problem, problem.topological.clone()),
    };
    conclude(problem, options, found, &watch)
}

fn plain_dp(problem: &Problem, watch: &mut Watch) -> Solved {
    match dp::search(problem, u64::MAX, None, watch) {
        Outcome::Solution { order, peak } => Solved { order, at_least: peak, stopped: None },
        Outcome::Stopped { reason, at_least } => {
            Solved { order: best_heuristic(problem).0, at_least, stopped: Some(reason) }
        }
        Outcome::NoSolution { .. } | Outcome::StepLimit => {
            unreachable!("without a budget and a step limit every schedule is within them")
        }
    }
}

fn heuristic(problem: &Problem, order: Vec<u32>) -> Combined {
    let sizes = vec![problem.len()];
    Combined { order, at_least: bounds::simple(problem), stopped: Some(StopReason::Heuristic), sizes }
}

fn conclude(problem: &Problem, options: &Options, mut found: Combined, watch: &Watch) -> Schedule {
    let mut peak = peak_of(problem, &found.order);
    if options.algorithm.is_exact() && found.stopped.is_some() {
        // Optimal pieces beside a heuristic one may be worse together than a heuristic for the whole.
        let (order, heuristic_peak) = best_heuristic(problem);
        if heuristic_peak < peak {
            (found.order, peak) = (order, heuristic_peak);
        }
    }
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
    let order: Vec<OpIndex> = order.iter().map(|&op| OpIndex(op)).collect();
    problem.profile(&order)
}

pub(crate) fn peak_of(problem: &Problem, order: &[u32]) -> u64 {
    steps_of(problem, order).iter().map(|s| s.during).fold(problem.at_start(), u64::max)
}
