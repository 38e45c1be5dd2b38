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
    [highest_first(graph, &early), lowest_first(graph, &early)]
}

/// From the last number to the first: of all ops whose readers have theirs, the one that should run first.
fn highest_first(graph: &Graph, early: &[usize]) -> Vec<OpId> {
    let mut missing: Vec<usize> = graph.op_ids().map(|op| readers(graph, op).len()).collect();
    let mut ready: BinaryHeap<Reverse<(usize, OpId)>> = BinaryHeap::new();
    ready.extend(
        graph.op_ids().filter(|op| missing[op.index()] == 0).map(|op| Reverse((early[op.index()], op))),
    );
    let mut order = Vec::with_capacity(early.len());
    while let Some(Reverse((_, op))) = ready.pop() {
        order.push(op);
        for before in graph.predecessors(op) {
            missing[before.index()] -= 1;
            if missing[before.index()] == 0 {
                ready.push(Reverse((early[before.index()], before)));
            }
        }
    }
    order.reverse();
    order
}

/// From the first number to the last: of all ops that can run, the one that should run last.
fn lowest_first(graph: &Graph, early: &[usize]) -> Vec<OpId> {
    let mut missing: Vec<usize> = graph.op_ids().map(|op| graph.predecessors(op).len()).collect();
    let mut ready: BinaryHeap<(usize, OpId)> = BinaryHeap::new();
    ready.extend(graph.op_ids().filter(|op| missing[op.index()] == 0).map(|op| (early[op.index()], op)));
    let mut order = Vec::with_capacity(early.len());
    while let Some((_, op)) = ready.pop() {
        order.push(op);
        for after in readers(graph, op) {
            missing[after.index()] -= 1;
            if missing[after.index()] == 0 {
                ready.push((early[after.index()], after));
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
