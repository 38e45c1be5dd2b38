//! Adaptive soft budgeting: section 3.2, figure 8 and Algorithm 2 of the paper.
//!
//! Dynamic programming under a budget drops partial schedules that exceed it. A tight budget is fast but may leave no schedule
//! ('no solution'), a loose one may cost too much ('timeout': one search step exceeds T). The peak of Kahn's order is the hard
//! budget: it always has a solution. From there on 'timeout' halves the budget and 'no solution' raises it again.
//!
//! Where the rule printed in the paper is not followed:
//! - It takes `tau / 2` on a timeout, also if that is below a budget already found to have no solution, and then runs in
//!   circles. Here the budget stays between the largest one refuted and the smallest one that timed out; where the printed
//!   rule leaves that interval, its middle is taken.
//! - A refuted budget says more than 'no solution': the least peak that was dropped bounds all schedules from below, so
//!   no budget below that is tried.
//! - Where nothing is left between the refuted and the timed-out budget, T is what is wrong, and is doubled. So the search
//!   ends with the optimum, or at a limit that the caller gave.
//!
//! [`SoftBudget::Printed`] follows the printed rule to the letter instead, and stops when it begins to repeat itself.
//! [`SoftBudget::Fixed`] tries one budget, given by the caller.

use crate::divide::Solved;
use crate::dp::{self, Outcome};
use crate::options::{Options, SoftBudget, StepLimit};
use crate::{Problem, StopReason, bounds, kahn, walk};
use serenity_search::{Instant, Watch};
use std::collections::HashSet;
use std::time::Duration;

/// One run of the dynamic programming under a soft budget.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct TriedBudget {
    /// The index of the piece.
    pub piece: usize,
    /// The budget tau in bytes.
    pub budget: u64,
    /// T, the limit on one search step, as the command takes it; a fixed budget has none.
    #[schemars(with = "Option<String>")]
    pub step_limit: Option<StepLimit>,
    /// How the run ended.
    pub result: BudgetResult,
    /// States visited.
    pub states: u64,
    /// Wall-clock time.
    #[serde(rename = "seconds", serialize_with = "serenity_search::as_seconds")]
    #[schemars(with = "f64", range(min = 0))]
    pub elapsed: Duration,
}

/// How a run under a soft budget ended: the `flag` of Algorithm 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BudgetResult {
    /// The optimum was found.
    Solution,
    /// Every order exceeds the budget.
    NoSolution,
    /// A search step exceeded T.
    Timeout,
    /// A limit of the caller came first.
    Stopped,
}

serenity_search::named! {
    BudgetResult { "solution" => Solution, "no solution" => NoSolution, "timeout" => Timeout, "stopped" => Stopped }
}

/// Finds the optimum of one piece, and notes every budget that was tried. In Algorithm 2 the scheduler runs between lines 15 and 16, where the paper prints no call.
pub(crate) fn search(
    problem: &Problem,
    piece: usize,
    options: &Options,
    watch: &mut Watch,
    tried: &mut Vec<TriedBudget>,
) -> Solved {
    let rule = options.soft_budget;
    let hard_budget = walk::peak_of(problem, &kahn::order(problem));
    let mut budgets = Budgets::new(hard_budget, bounds::simple(problem));
    let mut step_limit = Some(options.step_limit);
    if let SoftBudget::Fixed(budget) = rule {
        (budgets.current, step_limit) = (budget, None);
    }
    let mut seen = HashSet::from([(hard_budget, hard_budget)]);
    loop {
        let (budget, started, states) = (budgets.current, Instant::now(), watch.states);
        let outcome = dp::search(problem, budget, step_limit, watch);
        let (states, elapsed) = (watch.states - states, started.elapsed());
        tried.push(TriedBudget { piece, budget, step_limit, result: outcome.result(), states, elapsed });
        match outcome {
            Outcome::Solution { order, peak } => return Solved::Optimal { order, peak },
            Outcome::Stopped { reason, at_least } => {
                return Solved::Stopped { reason, at_least: at_least.max(budgets.at_least) };
            }
            Outcome::NoSolution { at_least } => {
                if rule == SoftBudget::Adaptive {
                    budgets.refute(at_least);
                } else {
                    budgets.raise_as_printed(at_least);
                }
                watch.raise_bound(budgets.at_least);
            }
            Outcome::StepLimit if rule == SoftBudget::Printed => budgets.halve_as_printed(),
            Outcome::StepLimit => {
                if !budgets.tighten() {
                    step_limit = step_limit.map(doubled);
                }
            }
        }
        let reason = match rule {
            SoftBudget::Adaptive => continue,
            // What follows depends on these two alone, so it repeats when they do.
            SoftBudget::Printed if seen.insert((budgets.too_loose, budgets.current)) => continue,
            SoftBudget::Printed => StopReason::Circles,
            SoftBudget::Fixed(_) => StopReason::Capacity,
        };
        return Solved::Stopped { reason, at_least: budgets.at_least };
    }
}

fn doubled(limit: StepLimit) -> StepLimit {
    match limit {
        StepLimit::States(states) => StepLimit::States(states.max(1).saturating_mul(2)),
        StepLimit::Time(time) => {
            StepLimit::Time(time.max(std::time::Duration::from_millis(1)).saturating_mul(2))
        }
    }
}

/// The interval in which the optimum must lie, and the budget to try next.
#[derive(Debug, PartialEq, Eq)]
struct Budgets {
    /// No schedule peaks below this.
    at_least: u64,
    /// The smallest budget that timed out, or the hard budget.
    too_loose: u64,
    current: u64,
}

impl Budgets {
    fn new(hard_budget: u64, at_least: u64) -> Self {
        Self { at_least, too_loose: hard_budget, current: hard_budget }
    }

    /// 'No solution': raise the budget half way to the last one that was too loose, at least to what is possible at all.
    fn refute(&mut self, at_least: u64) {
        self.at_least = self.at_least.max(at_least).max(self.current + 1);
        self.too_loose = self.too_loose.max(self.at_least);
        self.current = self.current.midpoint(self.too_loose).max(self.at_least);
    }

    /// 'No solution' by line 14 of Algorithm 2, in which `too_loose` is `tau_old`: the middle of the last two budgets, refuted or not.
    fn raise_as_printed(&mut self, at_least: u64) {
        self.at_least = self.at_least.max(at_least);
        (self.too_loose, self.current) = (self.current, self.current.midpoint(self.too_loose));
    }

    /// 'Timeout' by line 11 of Algorithm 2: half the budget, refuted or not.
    fn halve_as_printed(&mut self) {
        (self.too_loose, self.current) = (self.current, self.current / 2);
    }

    /// 'Timeout': halve the budget, or bisect if half of it is already refuted. False if there is nothing left to try.
    fn tighten(&mut self) -> bool {
        self.too_loose = self.current;
        if self.current <= self.at_least {
            return false;
        }
        let half = self.current / 2;
        self.current = if half >= self.at_least { half } else { self.at_least.midpoint(self.current) };
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_printed_rule_is_followed_while_it_is_sound() {
        let mut b = Budgets::new(800, 10);
        assert!(b.tighten());
        assert_eq!(b.current, 400);
        b.refute(401);
        assert_eq!(b.current, 600);
    }

    #[test]
    fn a_refuted_budget_is_never_tried_again() {
        let mut b = Budgets::new(800, 10);
        b.tighten();
        b.refute(450);
        assert!(b.tighten());
        // The printed rule would fall to 300, below the refuted 400.
        assert_eq!(b.current, 525);
        let mut tried = vec![b.current];
        while b.tighten() {
            tried.push(b.current);
        }
        assert_eq!(tried.last(), Some(&450));
        assert!(tried.windows(2).all(|w| w[0] > w[1]));
    }

    #[test]
    fn the_printed_rule_never_gets_above_what_it_refuted_last() {
        // The hard budget times out, the optimum is 800: the example of this crate's DESIGN.md.
        let mut b = Budgets::new(1000, 10);
        b.halve_as_printed();
        let mut tried = vec![b.current];
        for _ in 0..20 {
            b.raise_as_printed(0);
            tried.push(b.current);
        }
        assert_eq!(tried[..5], [500, 750, 625, 687, 656]);
        assert_eq!((b.too_loose, b.current), (665, 665));
        assert!(tried.iter().all(|&budget| budget <= 750));
    }

    #[test]
    fn refuting_the_last_budget_below_a_timeout_ends_at_that_timeout() {
        let mut b = Budgets::new(100, 60);
        assert!(b.tighten());
        assert_eq!(b.current, 80);
        b.refute(100);
        assert_eq!(b.current, 100);
        assert!(!b.tighten());
    }
}
