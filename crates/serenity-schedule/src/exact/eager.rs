//! **Rule R2, eager moves.**
//!
//! *If a move is possible within the limit and does not raise f, make it now.*
//!
//! Proof sketch. Let `T = X + u` with `f(T) <= f(X)`. For any chain of sets `C_i` from `X` to the end within the limit,
//! the sets `T ∪ C_i` form one from `T`: by submodularity `f(T ∪ C_i) <= f(C_i) + f(T) - f(T ∩ C_i) <= f(C_i)`, since
//! `T ∩ C_i` is `X` or `T`, or for a move of several ops a set between them on which f is at least `f(X)`. So nothing
//! is lost by going to `T` first.

use super::instance::{Instance, State};
use crate::bits;

/// Makes eager moves within `limit` until there is none left; appends them to `trail`.
pub(super) fn close(instance: &Instance, state: &mut State, limit: u64, trail: &mut Vec<u32>) {
    let mut candidates = state.ready.clone();
    settle(instance, state, limit, trail, &mut candidates, u64::MAX);
}

/// Makes eager moves in a state reached by moving `last` from a closed one with `before` in use: only moves that `last`
/// affects can have become eager, unless f has fallen below `before`, which lets in moves that exceeded the limit
/// there.
pub(super) fn close_after(
    instance: &Instance,
    state: &mut State,
    limit: u64,
    trail: &mut Vec<u32>,
    (last, before): (u32, u64),
    candidates: &mut [u64],
) {
    let affected = instance.affects.row(last);
    for (candidate, (&ready, &affected)) in candidates.iter_mut().zip(state.ready.iter().zip(affected)) {
        *candidate = ready & affected;
    }
    if state.in_use < before {
        candidates.copy_from_slice(&state.ready);
    }
    settle(instance, state, limit, trail, candidates, before);
}

fn settle(
    instance: &Instance,
    state: &mut State,
    limit: u64,
    trail: &mut Vec<u32>,
    candidates: &mut [u64],
    before: u64,
) {
    while let Some(head) = pop(candidates) {
        let cost = instance.cost(&mut state.done, state.in_use, head);
        if cost.after > state.in_use || cost.during > limit {
            continue;
        }
        let fell = cost.after < before;
        instance.advance(state, head, cost.after);
        trail.push(head);
        let affected = instance.affects.row(head);
        for (candidate, (&ready, &affected)) in candidates.iter_mut().zip(state.ready.iter().zip(affected)) {
            *candidate = if fell { ready } else { (*candidate | affected) & ready };
        }
    }
}

fn pop(set: &mut [u64]) -> Option<u32> {
    let first = bits::iter(set).next()?;
    bits::remove(set, first);
    Some(first)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{least_peak, problems, reachable};
    use super::*;
    use crate::walk::peak_of;

    #[test]
    fn eager_moves_leave_none_and_lose_nothing() {
        for problem in problems() {
            let (limit, all) = (least_peak(&problem), (1 << problem.ops) - 1);
            let instance = Instance::new(problem.clone(), false);
            let (mut state, mut trail) = (instance.start(), Vec::new());
            close(&instance, &mut state, limit, &mut trail);
            assert!(problem.in_use_after(&state.done) == state.in_use && state.in_use <= problem.at_start());
            assert!(peak_of(&problem, &trail) <= limit);
            assert!(reachable(&problem, state.done[0], limit).contains(&all));
            for head in bits::iter(&state.ready.clone()) {
                let cost = instance.cost(&mut state.done, state.in_use, head);
                assert!(cost.after > state.in_use || cost.during > limit);
                // After a move from here, a look at what it affects finds as much as a look at everything.
                let mut next = state.clone();
                instance.advance(&mut next, head, cost.after);
                let (mut other, mut whole, mut part) = (next.clone(), Vec::new(), Vec::new());
                close(&instance, &mut other, limit, &mut whole);
                let mut room = next.done.clone();
                close_after(&instance, &mut next, limit, &mut part, (head, state.in_use), &mut room);
                assert_eq!((&next.done, next.in_use), (&other.done, other.in_use));
            }
        }
    }
}
