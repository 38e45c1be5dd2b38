//! Valid execution orders.

use crate::{Graph, OpId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Why a list of ops is not an execution order of a graph.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each message names its fields")]
pub enum OrderError {
    /// An id names no op.
    #[error("position {position} names op {op}, but the graph has only {ops} ops")]
    UnknownOp { position: usize, op: OpId, ops: usize },
    /// An op is listed twice.
    #[error("op {op} (`{label}`) occurs twice, the second time at position {position}")]
    Twice { op: OpId, label: String, position: usize },
    /// An op is not listed.
    #[error("op {op} (`{label}`) is missing")]
    Missing { op: OpId, label: String },
    /// An op runs before the writer of one of its inputs.
    #[error(
        "op {op} (`{label}`) at position {position} reads `{tensor}` before op {producer} has written it"
    )]
    TooEarly { op: OpId, label: String, position: usize, tensor: String, producer: OpId },
}

impl Graph {
    /// Is `order` an order in which this graph can run: every op once, writers before readers?
    ///
    /// # Errors
    /// The first fault found.
    pub fn check_order(&self, order: &[OpId]) -> Result<(), OrderError> {
        let mut done = vec![false; self.ops().len()];
        for (position, &op) in order.iter().enumerate() {
            let Some(seen) = done.get_mut(op.index()) else {
                let ops = self.ops().len();
                return Err(OrderError::UnknownOp { position, op, ops });
            };
            let label = || self.op_label(op);
            if std::mem::replace(seen, true) {
                return Err(OrderError::Twice { op, label: label(), position });
            }
            for &input in &self.op(op).inputs {
                if let Some(producer) = self.producer(input)
                    && !done[producer.index()]
                {
                    let tensor = self.tensor_label(input);
                    return Err(OrderError::TooEarly { op, label: label(), position, tensor, producer });
                }
            }
        }
        match self.op_ids().find(|op| !done[op.index()]) {
            Some(op) => Err(OrderError::Missing { op, label: self.op_label(op) }),
            None => Ok(()),
        }
    }
}

/// The topological order that always runs the ready op of the lowest index; shorter than the graph if there is a cycle.
pub(crate) fn lowest_index_first(graph: &Graph) -> Vec<OpId> {
    let mut waits_for: Vec<usize> = graph.op_ids().map(|op| graph.predecessors(op).len()).collect();
    let mut ready: BinaryHeap<Reverse<OpId>> =
        graph.op_ids().filter(|op| waits_for[op.index()] == 0).map(Reverse).collect();
    let mut order = Vec::with_capacity(waits_for.len());
    let mut seen_by = vec![None; waits_for.len()];
    while let Some(Reverse(op)) = ready.pop() {
        order.push(op);
        for &output in &graph.op(op).outputs {
            for &reader in graph.consumers(output) {
                // An op that reads several outputs of `op` waits for it only once.
                if seen_by[reader.index()].replace(op) != Some(op) {
                    waits_for[reader.index()] -= 1;
                    if waits_for[reader.index()] == 0 {
                        ready.push(Reverse(reader));
                    }
                }
            }
        }
    }
    order
}

/// The names along one cycle, given the ops that could be ordered.
pub(crate) fn find_cycle(graph: &Graph, ordered: &[OpId]) -> Vec<String> {
    let mut stuck = vec![true; graph.ops().len()];
    for op in ordered {
        stuck[op.index()] = false;
    }
    let Some(start) = graph.op_ids().find(|op| stuck[op.index()]) else {
        return Vec::new();
    };
    // Every stuck op has a stuck predecessor: walk back until one repeats.
    let mut walk = vec![start];
    let mut position = vec![None; graph.ops().len()];
    loop {
        let op = walk[walk.len() - 1];
        position[op.index()] = Some(walk.len() - 1);
        let Some(previous) = graph.predecessors(op).into_iter().find(|p| stuck[p.index()]) else {
            return Vec::new();
        };
        if let Some(first) = position[previous.index()] {
            let mut path: Vec<OpId> = walk[first..].iter().rev().copied().collect();
            // Begin at the op the file lists first, so that the message does not depend on where the walk began.
            let least = (0..path.len()).min_by_key(|&i| path[i]).unwrap_or(0);
            path.rotate_left(least);
            path.push(path[0]);
            return path.into_iter().map(|op| graph.op_label(op)).collect();
        }
        walk.push(previous);
    }
}
