//! The simple lower bound, valid for every order.

use crate::Problem;

/// No order can peak below what is in use at the start, at the end, or around the most demanding op on its own: all it reads
/// and all it writes are in use while it runs, less what it can write over.
pub(crate) fn simple(problem: &Problem) -> u64 {
    let working_set = |op: usize| {
        let mut touched: Vec<u32> = problem.writes[op].iter().chain(&problem.reads[op]).copied().collect();
        touched.sort_unstable();
        touched.dedup();
        let bytes = touched.iter().map(|&b| problem.buffers[b as usize].bytes).sum::<u64>();
        problem.base + bytes - problem.hand_overs.most_saved(op as u32)
    };
    let edges = problem.at_start().max(problem.at_end()).max(problem.largest_working_set);
    (0..problem.len()).map(working_set).fold(edges, u64::max)
}
