//! From a graph and a memory model to a scheduling problem.

use serenity_ir::{Graph, Lifetimes, OpId};
use serenity_schedule::{Buffer, OpIndex, Problem};

/// The buffers of a memory model as the scheduler takes them, in the same order.
pub(crate) fn buffers(lifetimes: &Lifetimes) -> Vec<Buffer> {
    let ops = |list: &[OpId]| list.iter().map(|op| OpIndex(op.0)).collect();
    lifetimes
        .buffers()
        .iter()
        .map(|b| Buffer {
            bytes: b.bytes,
            writers: ops(&b.writers),
            readers: ops(&b.readers),
            from_start: b.from_start,
            to_end: b.to_end,
        })
        .collect()
}

/// Who must run before whom.
pub(crate) fn edges(graph: &Graph) -> impl Iterator<Item = (OpIndex, OpIndex)> {
    graph.tensor_ids().flat_map(|t| {
        let producer = graph.producer(t);
        graph.consumers(t).iter().filter_map(move |c| Some((OpIndex(producer?.0), OpIndex(c.0))))
    })
}

/// The scheduling problem of a graph: the same ops under the same numbers, the buffers of its memory model, and the precedence
/// of all its tensors (those that cost nothing too).
///
/// # Panics
/// Never for a [`Graph`] and its own lifetimes: a graph is acyclic and its sizes add up.
pub fn problem(graph: &Graph, lifetimes: &Lifetimes) -> Problem {
    Problem::new(graph.ops().len() as u32, buffers(lifetimes), edges(graph))
        .expect("a validated graph is a valid problem")
}
