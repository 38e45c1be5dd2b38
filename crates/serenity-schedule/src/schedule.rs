//! The entry point: [`schedule`].

use crate::answer::Answer;
use crate::divide::{self, Solved};
use crate::dp::{self, Outcome};
use crate::exact::Found;
use crate::walk::peak_of;
use crate::{
    Algorithm, OpIndex, Options, Problem, SoftBudget, TriedBudget, bounds, dfs, exact, exhaustive, greedy,
    heuristic, kahn, soft_budget,
};
use serenity_search::{Proof, StopReason, Watch};
use std::time::Duration;

/// An order, and what is proved about it.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// The ops in execution order.
    pub order: Vec<OpIndex>,
    /// The peak: the most memory in use at any time.
    pub peak: u64,
    /// A lower bound on the peak of every order.
    pub bound: u64,
    /// Whether the bound proves that no order has a lower peak.
    pub proof: Proof,
    /// The work of the search.
    pub stats: Stats,
    /// How rule L2 proved it, if it did.
    pub(crate) refutation: Vec<Found>,
}

/// The work of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// States visited: sets of executed ops for dynamic programming, partial orders for exhaustive search.
    pub states: u64,
    /// Ops in each piece that was scheduled on its own.
    pub pieces: Vec<usize>,
    /// Every run of the dynamic programming under a soft budget, in turn.
    pub soft_budgets: Vec<TriedBudget>,
    /// Wall-clock time.
    pub elapsed: Duration,
}

/// Finds an order of low peak, the lowest if the algorithm is exact and the limits allow it: the paper's equation 1.
///
/// If a limit ended the search, the result is the best order found until then, and never worse than those of the
/// heuristics.
pub fn schedule(problem: &Problem, options: &Options) -> Schedule {
    let mut watch = Watch::new(&options.limits, options.progress.as_ref());
    watch.bound = bounds::simple(problem);
    let mut soft_budgets = Vec::new();
    let found = match options.algorithm {
        Algorithm::Exact => exact::search(problem, options, &mut watch),
        Algorithm::Dp | Algorithm::DpDivide | Algorithm::DpBudget | Algorithm::DpDivideBudget => {
            with_incumbent(problem, &mut watch, |incumbent, watch| {
                dynamic_programming(problem, &incumbent, options, watch, &mut soft_budgets)
            })
        }
        Algorithm::Exhaustive => with_incumbent(problem, &mut watch, |incumbent, watch| {
            let (order, stopped) = exhaustive::search(problem, incumbent, watch);
            let at_least = if stopped.is_none() { peak_of(problem, &order) } else { bounds::simple(problem) };
            Answer { order, at_least, stopped, sizes: vec![problem.len()], refutation: Vec::new() }
        }),
        Algorithm::Greedy => unproved(problem, greedy::order(problem)),
        Algorithm::Dfs => unproved(problem, dfs::order(problem)),
        Algorithm::Kahn => unproved(problem, kahn::order(problem)),
        Algorithm::File => unproved(problem, problem.topological.clone()),
    };
    let mut found = conclude(problem, found, &watch);
    found.stats.soft_budgets = soft_budgets;
    found
}

/// Runs a search that falls back on the best heuristic order.
fn with_incumbent(
    problem: &Problem,
    watch: &mut Watch,
    search: impl FnOnce(Vec<u32>, &mut Watch) -> Answer,
) -> Answer {
    let (incumbent, peak) = heuristic::best(problem);
    watch.best = peak;
    search(incumbent, watch)
}

/// The paper's algorithms, on the whole or piece by piece, with a soft budget or without.
fn dynamic_programming(
    problem: &Problem,
    incumbent: &[u32],
    options: &Options,
    watch: &mut Watch,
    tried: &mut Vec<TriedBudget>,
) -> Answer {
    let algorithm = options.algorithm;
    let has_budget = algorithm.searches_budgets() || matches!(options.soft_budget, SoftBudget::Fixed(_));
    let divides = matches!(algorithm, Algorithm::DpDivide | Algorithm::DpDivideBudget);
    let pieces = if divides { divide::pieces(problem) } else { vec![problem.topological.clone()] };
    let mut numbers = 0..;
    divide::conquer(problem, &pieces, incumbent, watch, |piece, watch| match numbers.next() {
        Some(number) if has_budget => soft_budget::search(piece, number, options, watch, tried),
        _ => plain_dp(piece, watch),
    })
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

fn unproved(problem: &Problem, order: Vec<u32>) -> Answer {
    let sizes = vec![problem.len()];
    Answer {
        order,
        at_least: bounds::simple(problem),
        stopped: Some(StopReason::Heuristic),
        sizes,
        refutation: Vec::new(),
    }
}

fn conclude(problem: &Problem, found: Answer, watch: &Watch) -> Schedule {
    let peak = peak_of(problem, &found.order);
    let proof = Proof::of(peak, found.at_least, found.stopped);
    Schedule {
        order: found.order.into_iter().map(OpIndex).collect(),
        peak,
        bound: found.at_least,
        proof,
        refutation: found.refutation,
        stats: Stats {
            states: watch.states,
            pieces: found.sizes,
            elapsed: watch.elapsed(),
            soft_budgets: Vec::new(),
        },
    }
}
