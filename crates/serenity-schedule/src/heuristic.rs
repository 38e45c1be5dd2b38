//! Heuristics that find an order at next to no cost.

use crate::walk::peak_of;
use crate::{Problem, dfs, greedy, kahn};

/// The best order that costs next to nothing to find, and its peak.
pub(crate) fn best(problem: &Problem) -> (Vec<u32>, u64) {
    let mut best = (problem.topological.clone(), peak_of(problem, &problem.topological));
    for order in [greedy::order(problem), dfs::order(problem), kahn::order(problem)] {
        let peak = peak_of(problem, &order);
        if peak < best.1 {
            best = (order, peak);
        }
    }
    best
}
