//! **Rules R1 and R3, valleys.**
//!
//! *R1. Let `T ⊇ X` be reachable from `X` within the limit, and `f(T) <= f(W)` for every set `W` between `X` and `T`
//! that can have run. Then the end can be reached from `X` within the limit iff it can from `T`.* Proof sketch. Of a
//! chain `C_i` from `X` to the end, take `T ∪ C_i`: `f(T ∪ C_i) <= f(C_i) + f(T) - f(T ∩ C_i) <= f(C_i)`, as `T ∩ C_i`
//! lies between `X` and `T`. Nothing depends on the limit under which `T` was reached, so a commitment holds for every
//! larger limit too, and is never undone.
//!
//! *R3. If some `T ≠ X` with `f(T) <= f(X)` is reachable from `X`, then so is the largest minimiser `M` of f between
//! `X` and `T`, and R1 applies to it.* Proof sketch. Leave the ops outside `M` out of the path to `T`: `f(M ∩ C_i) <=
//! f(C_i) + f(M) - f(M ∪ C_i) <= f(C_i)`, because `M ∪ C_i` lies between `X` and `T`. If `X` is a minimiser then so is
//! `T`, hence `M ≠ X`. Committing to `T` itself would be wrong: a lower set between may be the only way on.

use super::cuts;
use super::instance::{Instance, State};
use crate::{Problem, bits};

/// Given the moves from `state` to a valley (a later state with no more in use), keeps those that lead to the largest
/// minimiser between the two.
pub(super) fn minimised(instance: &Instance, state: &State, moves: &[u32]) -> Vec<u32> {
    let (mut done, mut ready) = (state.done.clone(), state.ready.clone());
    for &head in moves {
        instance.apply(&mut done, &mut ready, head);
    }
    let between: Vec<u32> = bits::iter(&done).filter(|&op| !bits::contains(&state.done, op)).collect();
    // Lazy ops of the minimiser whose head is outside it change nothing: leaving them out does not raise f.
    kept(&instance.problem, (&state.done, state.in_use), &between, moves)
}

/// Those of `moves` that are in the largest minimiser from what is `done`, with so much in use, to that and all of `between`.
pub(crate) fn kept(
    problem: &Problem,
    (done, in_use): (&[u64], u64),
    between: &[u32],
    moves: &[u32],
) -> Vec<u32> {
    let segment = problem.segment(done, in_use, between);
    let minimiser = cuts::minimum(&segment.problem).greatest;
    let is_kept =
        |op: &u32| segment.ops.binary_search(op).is_ok_and(|local| bits::contains(&minimiser, local as u32));
    moves.iter().copied().filter(is_kept).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{problems, sets};
    use super::*;

    #[test]
    fn a_valley_is_reduced_to_its_largest_minimiser() {
        let mut reduced = 0;
        for problem in problems() {
            let instance = Instance::new(problem.clone(), false);
            let (sets, order) = (sets(&problem), &problem.topological);
            let set_of = |ops: &[u32]| ops.iter().fold(0_u64, |set, op| set | 1 << op);
            for from in 0..order.len() {
                let mut state = instance.start();
                for &op in &order[..from] {
                    let cost = instance.cost(&mut state.done, state.in_use, op);
                    instance.advance(&mut state, op, cost.after);
                }
                for to in from + 1..=order.len() {
                    let (low, high) = (set_of(&order[..from]), set_of(&order[..to]));
                    if problem.in_use_after(&[high]) > state.in_use {
                        continue;
                    }
                    let between = || sets.iter().filter(|&&set| low & !set == 0 && set & !high == 0);
                    let in_use = |set: &u64| problem.in_use_after(&[*set]);
                    let least = between().map(in_use).min().unwrap();
                    let largest = between().filter(|set| in_use(set) == least).fold(0, |all, set| all | set);
                    let kept = minimised(&instance, &state, &order[from..to]);
                    assert_eq!(low | set_of(&kept), largest);
                    reduced += usize::from(largest != high);
                }
            }
        }
        assert!(reduced > 100, "{reduced}");
    }
}
