//! Reverse post-order of a depth-first walk.

use crate::Problem;

/// Walks from every source along successors, last index first, and lists ops in the reverse of the order in which the walk left
/// them. The result follows one branch to its end before it begins the next, lowest index first.
pub(crate) fn order(problem: &Problem) -> Vec<u32> {
    let mut entered = vec![false; problem.len()];
    let mut order = Vec::with_capacity(problem.len());
    // Each entry is an op and how many of its successors are still to be walked; the depth may be the whole graph.
    let mut path: Vec<(u32, usize)> = Vec::new();
    for root in (0..problem.ops).rev().filter(|&op| problem.predecessors[op as usize].is_empty()) {
        entered[root as usize] = true;
        path.push((root, problem.successors[root as usize].len()));
        while let Some((op, rest)) = path.last_mut() {
            if *rest == 0 {
                order.push(*op);
                path.pop();
                continue;
            }
            *rest -= 1;
            let next = problem.successors[*op as usize][*rest];
            if !std::mem::replace(&mut entered[next as usize], true) {
                path.push((next, problem.successors[next as usize].len()));
            }
        }
    }
    order.reverse();
    order
}
