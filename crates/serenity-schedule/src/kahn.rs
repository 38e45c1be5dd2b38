//! Kahn's algorithm with a first-in-first-out queue.

use crate::Problem;
use crate::walk::Waiting;
use std::collections::VecDeque;

/// Ready ops enter by index at the start, then newly ready successors by index: the order a framework without any idea of
/// memory comes up with, and the paper's hard budget.
pub(crate) fn order(problem: &Problem) -> Vec<u32> {
    let mut waiting = Waiting::new(problem);
    let mut queue: VecDeque<u32> = waiting.ready().collect();
    let mut order = Vec::with_capacity(problem.len());
    while let Some(op) = queue.pop_front() {
        order.push(op);
        waiting.run(problem, op, |next| queue.push_back(next));
    }
    order
}
