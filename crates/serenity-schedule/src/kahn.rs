//! Kahn's algorithm with a first-in-first-out queue.

use crate::Problem;
use std::collections::VecDeque;

/// Ready ops enter by index at the start, then newly ready successors by index: the order a framework without any idea of
/// memory comes up with, and the paper's hard budget.
pub(crate) fn order(problem: &Problem) -> Vec<u32> {
    let mut waits_for: Vec<usize> = problem.predecessors.iter().map(Vec::len).collect();
    let mut queue: VecDeque<u32> = (0..problem.ops).filter(|&op| waits_for[op as usize] == 0).collect();
    let mut order = Vec::with_capacity(problem.len());
    while let Some(op) = queue.pop_front() {
        order.push(op);
        for &s in &problem.successors[op as usize] {
            waits_for[s as usize] -= 1;
            if waits_for[s as usize] == 0 {
                queue.push_back(s);
            }
        }
    }
    order
}
