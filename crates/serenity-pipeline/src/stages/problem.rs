//! From a graph and a memory model to a scheduling problem.

use serenity_ir::{Graph, Lifetimes, OpId};
use serenity_schedule::{Buffer, HandOver, OpIndex, Problem};

/// The buffers of a memory model as the scheduler takes them, under the same indices.
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

/// Pairs of ops of which the first must run before the second.
pub fn edges(graph: &Graph) -> impl Iterator<Item = (OpIndex, OpIndex)> {
    graph.tensor_ids().flat_map(|t| {
        let producer = graph.producer(t);
        graph.consumers(t).iter().filter_map(move |c| Some((OpIndex(producer?.0), OpIndex(c.0))))
    })
}

/// The scheduling problem of a graph: the ops under the same numbers, the buffers of its memory model, which of them
/// may be written over which, and the precedence of all its tensors (also of those that take no memory).
///
/// # Panics
/// Never for a [`Graph`] and its own lifetimes: a graph is acyclic and its sizes add up.
pub fn problem(graph: &Graph, lifetimes: &Lifetimes) -> Problem {
    let hand_over = |pair: &serenity_ir::HandOver| HandOver {
        op: OpIndex(pair.op.0),
        new: pair.new.index(),
        old: pair.old.index(),
    };
    let hand_overs: Vec<HandOver> = lifetimes.hand_overs().iter().map(hand_over).collect();
    Problem::with_hand_overs(graph.ops().len() as u32, buffers(lifetimes), &hand_overs, edges(graph))
        .expect("a validated graph is a valid problem")
}
