//! **Rule R7, direction.** *With at least as much in use at the start as at the end, the end can be reached within the
//! limit iff a valley of the start can, or they are the same:* the end itself is one. Reversed in time the same holds
//! for the end if more is in use there. So the decision is: find a valley on the higher side, commit to it (R3), go on
//! with what is left. Failing once is a proof that there is no order within the limit.

use super::Rules;
use super::descent::{Descent, Found};
use super::instance::Instance;
use crate::{Problem, bits};

/// Is there an order within the limit?
pub(super) enum Decision {
    Feasible(Vec<u32>),
    Infeasible,
    /// The budget is spent.
    Unknown,
}

/// What a decision may spend, and what it has spent.
pub(super) struct DecisionWork<'a> {
    pub(super) budget: u64,
    pub(super) memory: u64,
    pub(super) spent: u64,
    pub(super) stop: &'a dyn Fn() -> bool,
}

/// Decides whether `problem` has an order that peaks at `limit` or below.
pub(super) fn decide(problem: &Problem, limit: u64, rules: &Rules, effort: &mut DecisionWork) -> Decision {
    let mut rest = problem.clone();
    let mut names: Vec<u32> = (0..problem.ops).collect();
    let mut prefix: Vec<u32> = Vec::new();
    let mut suffix: Vec<u32> = Vec::new();
    while !rest.is_empty() {
        if (effort.stop)() {
            return Decision::Unknown;
        }
        let (start, end) = (rest.at_start(), rest.at_end());
        if start > limit || end > limit {
            return Decision::Infeasible;
        }
        let forward = start >= end;
        if !forward && !rules.direction {
            return Decision::Unknown;
        }
        let directed = if forward { rest.clone() } else { rest.reversed() };
        let instance = Instance::new(directed, rules.lazy);
        let walked = match walk(&instance, start.min(end), limit, rules, effort) {
            Walked::To(ops) => ops,
            Walked::Nowhere => return Decision::Infeasible,
            Walked::Budget => return Decision::Unknown,
        };
        let ops: Vec<u32> = walked.iter().map(|&op| names[op as usize]).collect();
        let side = if forward { &mut prefix } else { &mut suffix };
        side.extend(ops);
        let mut left = vec![true; rest.len()];
        for &op in &walked {
            left[op as usize] = false;
        }
        let middle: Vec<u32> = (0..rest.ops).filter(|&op| left[op as usize]).collect();
        let mut done = vec![0; rest.words()];
        if forward {
            for &op in &walked {
                bits::insert(&mut done, op);
            }
        }
        let segment = rest.segment(&done, rest.in_use_after(&done), &middle);
        names = segment.ops.iter().map(|&op| names[op as usize]).collect();
        rest = segment.problem;
    }
    prefix.extend(suffix.iter().rev());
    Decision::Feasible(prefix)
}

enum Walked {
    /// These ops lead to a set with less than the goal in use, or to the end.
    To(Vec<u32>),
    Nowhere,
    Budget,
}

/// Commits to one valley after the other until less than `goal` is in use, so that the other side is the higher one.
fn walk(instance: &Instance, goal: u64, limit: u64, rules: &Rules, effort: &mut DecisionWork) -> Walked {
    let mut descent = Descent::new(instance, limit, rules.components);
    let mut state = instance.start();
    let mut heads: Vec<u32> = Vec::new();
    let outcome = loop {
        if state.is_complete() || state.in_use < goal {
            break Walked::To(instance.expand(&heads));
        }
        if (effort.stop)() {
            break Walked::Budget;
        }
        let left = effort.budget.saturating_sub(effort.spent);
        match descent.find_valley(&state, left, effort.memory, effort.stop) {
            Found::Valley(moves) => {
                for &head in &moves {
                    let cost = instance.cost(&mut state.done, state.in_use, head);
                    instance.advance(&mut state, head, cost.after);
                }
                heads.extend(moves);
            }
            Found::End(moves) => {
                heads.extend(moves);
                break Walked::To(instance.expand(&heads));
            }
            Found::Nothing => break Walked::Nowhere,
            Found::Budget => break Walked::Budget,
        }
    };
    effort.spent += descent.expanded;
    outcome
}

#[cfg(test)]
mod tests {
    use super::super::testing::{NEVER, is_order, least_peak, problems};
    use super::*;
    use crate::walk::peak_of;

    #[test]
    fn there_is_an_order_within_the_least_peak_and_none_below() {
        for problem in problems() {
            let least = least_peak(&problem);
            for rule in ["", "components", "lazy"] {
                let mut rules = Rules::default();
                rules.turn_off(rule);
                let ask = |limit| {
                    let mut effort =
                        DecisionWork { budget: u64::MAX, memory: u64::MAX, spent: 0, stop: NEVER };
                    decide(&problem, limit, &rules, &mut effort)
                };
                let Decision::Feasible(order) = ask(least) else { panic!("{rule}: there is an order") };
                assert!(is_order(&problem, &order) && peak_of(&problem, &order) == least, "{rule}");
                assert!(least == 0 || matches!(ask(least - 1), Decision::Infeasible), "{rule}");
            }
        }
    }

    #[test]
    fn a_spent_budget_decides_nothing() {
        let problem = problems().max_by_key(Problem::len).unwrap();
        let mut effort = DecisionWork { budget: 0, memory: u64::MAX, spent: 1, stop: &|| true };
        assert!(matches!(decide(&problem, u64::MAX, &Rules::default(), &mut effort), Decision::Unknown));
    }
}
