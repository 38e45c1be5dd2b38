//! Adaptive soft budgeting: Algorithm 2 of the paper.
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

use crate::divide::Solved;
use crate::dp::{self, Outcome};
use crate::options::StepLimit;
use crate::{Problem, bounds, kahn, walk};
use serenity_search::Watch;

/// Finds the optimum of one piece.
pub(crate) fn search(problem: &Problem, step_limit: StepLimit, watch: &mut Watch) -> Solved {
    let hard_budget = walk::peak_of(problem, &kahn::order(problem));
    let mut budgets = Budgets::new(hard_budget, bounds::simple(problem));
    let mut step_limit = step_limit;
    loop {
        match dp::search(problem, budgets.current, Some(step_limit), watch) {
            Outcome::Solution { order, peak } => return Solved::Optimal { order, peak },
            Outcome::NoSolution { at_least } => {
                budgets.refute(at_least);
                watch.raise_bound(budgets.at_least);
            }
            Outcome::StepLimit => {
                if !budgets.tighten() {
                    step_limit = doubled(step_limit);
                }
            }
            Outcome::Stopped { reason, at_least } => {
                return Solved::Stopped { reason, at_least: at_least.max(budgets.at_least) };
            }
        }
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
    fn refuting_the_last_budget_below_a_timeout_ends_at_that_timeout() {
        let mut b = Budgets::new(100, 60);
        assert!(b.tighten());
        assert_eq!(b.current, 80);
        b.refute(100);
        assert_eq!(b.current, 100);
        assert!(!b.tighten());
    }
}
