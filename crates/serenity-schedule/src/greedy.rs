//! Least memory next.

use crate::{Problem, bits};

/// Always runs the ready op that leaves the least memory in use; of several, the one that needs the least while it runs; of
/// several, the first.
pub(crate) fn order(problem: &Problem) -> Vec<u32> {
    let mut done = vec![0; problem.words()];
    let mut ready = problem.sources();
    let mut order = Vec::with_capacity(problem.len());
    loop {
        let cost = |op: u32| {
            let allocated = problem.allocated(&done, op);
            (allocated as i64 - problem.freed(&done, op) as i64, allocated, op)
        };
        let Some((_, _, op)) = bits::iter(&ready).map(cost).min() else {
            return order;
        };
        bits::insert(&mut done, op);
        problem.advance(&done, &mut ready, op);
        order.push(op);
    }
}
