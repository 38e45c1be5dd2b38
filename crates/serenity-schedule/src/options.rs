//! The options of the scheduler.

use crate::{Limits, Memo, ProgressFn, Rules};
use std::fmt;
use std::time::Duration;

/// The algorithm that finds an order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Algorithm {
    /// The exact engine: a bottleneck search from both ends, with reductions that solve most real networks without
    /// search. Exact.
    #[default]
    Exact,
    /// Dynamic programming over sets of executed ops: Algorithm 1 of the paper. Exact.
    Dp,
    /// Algorithm 1 on the pieces between cut nodes: divide-and-conquer, section 3.2 and figure 7 of the paper. Exact.
    DpDivide,
    /// Algorithm 1 under a soft budget found by search: Algorithm 2 of the paper, on the whole graph. Exact.
    DpBudget,
    /// Algorithm 2 on the pieces between cut nodes: all of the paper's scheduler. Exact.
    DpDivideBudget,
    /// Tries all orders one by one. Exact; for a dozen ops.
    Exhaustive,
    /// Always runs the ready op that leaves the least memory in use.
    Greedy,
    /// Reverse post-order of a depth-first walk.
    Dfs,
    /// Runs ops in the order in which they become ready, as most frameworks do.
    Kahn,
    /// Keeps the given order.
    File,
}

serenity_search::named! {
    "algorithm": Algorithm {
        "exact" => Exact,
        "dp" => Dp,
        "dp+dc" => DpDivide,
        "dp+asb" => DpBudget,
        "dp+dc+asb" => DpDivideBudget,
        "exhaustive" => Exhaustive,
        "greedy" => Greedy,
        "dfs" => Dfs,
        "kahn" => Kahn,
        "file" => File,
    }
}

impl Algorithm {
    /// Does it prove its result, given enough time?
    pub fn is_exact(self) -> bool {
        matches!(self, Self::Exact | Self::Exhaustive) || self.is_dynamic_programming()
    }

    /// Is it Algorithm 1 of the paper, alone or extended?
    pub fn is_dynamic_programming(self) -> bool {
        matches!(self, Self::Dp | Self::DpDivide) || self.searches_budgets()
    }

    /// Does it search for a soft budget, as Algorithm 2 of the paper?
    pub fn searches_budgets(self) -> bool {
        matches!(self, Self::DpBudget | Self::DpDivideBudget)
    }
}

/// The paper's soft budget tau, above which dynamic programming drops partial schedules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SoftBudget {
    /// Searched for by a rule that always ends, where the algorithm [searches budgets](Algorithm::searches_budgets).
    #[default]
    Adaptive,
    /// Searched for by the rule that Algorithm 2 prints, which may [circle](crate::StopReason::Circles).
    Printed,
    /// This many bytes, for every piece.
    Fixed(u64),
}

/// The paper's hyperparameter T: how much one search step (one more op scheduled) may cost under a soft budget before the budget
/// is called too loose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepLimit {
    /// A limit on visited states, which gives the same result on every machine.
    States(u64),
    /// Wall-clock time, as the paper has it: which budgets are tried then depends on the machine, the peak found does not.
    Time(Duration),
}

impl Default for StepLimit {
    /// About as many states as this implementation visits in one second on a slow core. The paper gives no value for T.
    fn default() -> Self {
        Self::States(250_000)
    }
}

impl fmt::Display for StepLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::States(states) => write!(f, "{states}"),
            Self::Time(time) => write!(f, "{time:?}"),
        }
    }
}

impl serde::Serialize for StepLimit {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The options of `schedule`. `Options::default()` proves the optimum and may take as long as that takes.
#[derive(Clone)]
pub struct Options {
    /// The algorithm that finds an order.
    pub algorithm: Algorithm,
    /// Adaptive soft budgeting's limit on one search step.
    pub step_limit: StepLimit,
    /// The budget of dynamic programming.
    pub soft_budget: SoftBudget,
    /// The rules of the exact engine that are on.
    pub rules: Rules,
    /// Threads for the exact engine: two help on hard problems, more do not. The answer does not depend on it.
    pub threads: usize,
    /// Only orders that need less than this are wanted: the exact engine ends as soon as it has proved that there are
    /// none, and then returns any order.
    pub wanted_below: Option<u64>,
    /// What the exact engine remembers of earlier problems; clones of one memo can serve problems that resemble each
    /// other.
    pub memo: Memo,
    /// When to give up proving and return the best order so far.
    pub limits: Limits,
    /// Called a few times a second with the state of the search.
    pub progress: Option<ProgressFn>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            algorithm: Algorithm::default(),
            step_limit: StepLimit::default(),
            soft_budget: SoftBudget::default(),
            rules: Rules::default(),
            threads: 1,
            wanted_below: None,
            memo: Memo::default(),
            limits: Limits::default(),
            progress: None,
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("algorithm", &self.algorithm)
            .field("step_limit", &self.step_limit)
            .field("soft_budget", &self.soft_budget)
            .field("rules", &self.rules)
            .field("threads", &self.threads)
            .field("wanted_below", &self.wanted_below)
            .field("memo", &self.memo)
            .field("limits", &self.limits)
            .field("progress", &self.progress.is_some())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for (name, algorithm) in Algorithm::all() {
            assert_eq!(name.parse(), Ok(algorithm));
            assert_eq!(algorithm.to_string(), name);
        }
        assert!("exakt".parse::<Algorithm>().unwrap_err().to_string().contains("dp+dc+asb"));
    }
}
