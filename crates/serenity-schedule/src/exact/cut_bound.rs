//! **Bound L1: while some op runs, so much is in use, whatever has run before.**
//!
//! *For every op `v`, the minimum over all sets that can have run before `v` of the memory in use while `v` runs is a lower
//! bound for the peak.* Every order runs `v` after some such set. One minimum cut an op ([`cuts`](super::cuts)).
//!
//! The value for `v` is at most the step of `v` in any known order. So taking ops by falling step, the search for the
//! largest can stop as soon as the steps do not exceed what is proved.

use super::closure::Closure;
use super::cuts;
use crate::Problem;
use crate::walk::steps_of;

/// The best bound found for `problem`, at least `floor`; `order` tells which ops are worth a cut.
pub(super) fn raise(problem: &Problem, order: &[u32], floor: u64, stop: &dyn Fn() -> bool) -> u64 {
    raise_up_to(problem, order, floor, (u64::MAX, usize::MAX), stop)
}

/// The same, until the bound is `enough` or so many cuts have been made.
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
    if steps.iter().all(|step| step.during <= bound) {
        return bound;
    }
    let closure = Closure::new(problem);
    for i in by_step.into_iter().take(cuts) {
        if steps[i].during <= bound || bound >= enough || stop() {
            break;
        }
        let op = order[i];
        let (ancestors, descendants) = (closure.ancestors.row(op), closure.descendants.row(op));
        bound = bound.max(cuts::minimum_during(problem, op, ancestors, descendants));
    }
    bound
}
