//! **Bound L1: while some op runs, so much is in use, whatever has run before.**
//!
//! *For every op `v`, the minimum over all sets that can have run before `v` of the memory in use while `v` runs is a lower
//! bound for the peak.* Every order runs `v` after some such set. One minimum cut per op ([`cuts`](super::cuts)).
//!
//! The value for `v` is at most the step of `v` in any known order. So taking ops by falling step, the search for the
//! largest can stop as soon as the steps do not exceed what is proved.

use super::closure::reached;
use super::cuts;
use crate::Problem;
use crate::walk::steps_of;

/// The best bound found for `problem`, at least `floor`; `order` tells which ops are worth a cut.
pub(super) fn raise(problem: &Problem, order: &[u32], floor: u64, stop: &dyn Fn() -> bool) -> u64 {
    raise_up_to(problem, order, floor, (u64::MAX, usize::MAX), stop)
}

/// The bound found for `problem`, at least `floor`; ends when it is `enough` or when so many cuts have been made.
pub(super) fn raise_up_to(
    problem: &Problem,
    order: &[u32],
    floor: u64,
    (enough, cuts): (u64, usize),
    stop: &dyn Fn() -> bool,
) -> u64 {
    let steps = steps_of(problem, order);
    let mut by_step: Vec<usize> = (0..order.len()).collect();
    by_step.sort_by_key(|&i| (std::cmp::Reverse(steps[i].during), i));
    let mut bound = floor.max(problem.at_start()).max(problem.at_end());
    for i in by_step.into_iter().take(cuts) {
        if steps[i].during <= bound || bound >= enough || stop() {
            break;
        }
        let op = order[i];
        // A cut looks at every op anyway: who comes before and after this one need not be known of all of them.
        let ancestors = reached(op, &problem.predecessors, problem.words());
        let descendants = reached(op, &problem.successors, problem.words());
        bound = bound.max(cuts::minimum_during(problem, op, &ancestors, &descendants));
    }
    bound
}

#[cfg(test)]
mod tests {
    use super::super::testing::{NEVER, least_peak, problems, sets};
    use super::*;
    use crate::{bits, bounds};

    #[test]
    fn the_bound_is_what_some_op_cannot_do_without() {
        let mut raised = 0;
        for problem in problems() {
            let during = |op: u32, set: &u64| problem.in_use_after(&[*set]) + problem.allocated(&[*set], op);
            let before = |op: u32| {
                let predecessors = &problem.predecessors[op as usize];
                let can_run = move |set: &u64| predecessors.iter().all(|&p| bits::contains(&[*set], p));
                sets(&problem).into_iter().filter(move |set| can_run(set) && !bits::contains(&[*set], op))
            };
            let least = (0..problem.ops).map(|op| before(op).map(|set| during(op, &set)).min().unwrap());
            let expected = least.max().unwrap().max(problem.at_start()).max(problem.at_end());
            let bound = raise(&problem, &problem.topological, 0, NEVER);
            assert_eq!(bound, expected);
            assert!(bound <= least_peak(&problem));
            assert_eq!(raise(&problem, &problem.topological, expected + 1, NEVER), expected + 1);
            let simple = bounds::simple(&problem);
            raised += usize::from(bound > simple);
            let quick = raise_up_to(&problem, &problem.topological, simple, (u64::MAX, 1), NEVER);
            assert!((simple..=expected).contains(&quick));
        }
        assert!(raised > 20, "{raised}");
    }
}
