//! Node numberings that lead ONNX Runtime's default walk to a wanted order.
//!
//! The walk goes backwards and takes, of two nodes that the same node reads, the one with the higher number first, with
//! everything that it needs. So a node that should run early needs a high number; but a file lists every node behind
//! its inputs. It is not known which orders the walk can be led to, so this makes several guesses, for the caller to
//! run and improve.

use serenity_ir::{Graph, OpId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Orders of a file that might make the default walk run ops in the order `wanted`.
pub fn numberings(graph: &Graph, wanted: &[OpId]) -> [Vec<OpId>; 2] {
    let mut early = vec![0; wanted.len()];
    for (position, op) in wanted.iter().enumerate() {
        early[op.index()] = position;
    }
    let before = |op| graph.predecessors(op);
    let after = |op| readers(graph, op);
    // From the last number to the first: of all ops whose readers have theirs, the one that should run first.
    let mut backwards = listed(graph, after, before, |op| Reverse(early[op.index()]));
    backwards.reverse();
    // From the first number to the last: of all ops that can run, the one that should run last.
    [backwards, listed(graph, before, after, |op| early[op.index()])]
}

/// All ops, each behind those that it needs; of several that can come next, the one of the highest rank.
fn listed<R: Ord>(
    graph: &Graph,
    needs: impl Fn(OpId) -> Vec<OpId>,
    needed_by: impl Fn(OpId) -> Vec<OpId>,
    rank: impl Fn(OpId) -> R,
) -> Vec<OpId> {
    let mut missing: Vec<usize> = graph.op_ids().map(|op| needs(op).len()).collect();
    let is_ready = |op: &OpId| missing[op.index()] == 0;
    let mut ready: BinaryHeap<(R, OpId)> = graph.op_ids().filter(is_ready).map(|op| (rank(op), op)).collect();
    let mut order = Vec::with_capacity(missing.len());
    while let Some((_, op)) = ready.pop() {
        order.push(op);
        for next in needed_by(op) {
            missing[next.index()] -= 1;
            if missing[next.index()] == 0 {
                ready.push((rank(next), next));
            }
        }
    }
    order
}

/// The ops that read a result of `op`, each once.
fn readers(graph: &Graph, op: OpId) -> Vec<OpId> {
    let mut readers: Vec<OpId> =
        graph.op(op).outputs.iter().flat_map(|&t| graph.consumers(t).iter().copied()).collect();
    readers.sort_unstable();
    readers.dedup();
    readers
}
