//! A lower bound that needs no search.

use crate::holdings::accumulates;
use crate::peak::{is_private_partial, is_view};
use serenity_ir::{Graph, MemoryModel, OpId, TensorId};
use std::collections::BTreeSet;

/// The largest of: what is in use at the start, what stays at the end, what one op reads and writes. Every order needs that much.
pub(crate) fn shown(graph: &Graph, model: MemoryModel) -> u64 {
    let inputs_in_use =
        graph.inputs().iter().filter(|&&t| !graph.consumers(t).is_empty() || graph.outputs().contains(&t));
    let start = bytes_together(graph, model, inputs_in_use.copied());
    let end = bytes_together(graph, model, graph.outputs().iter().copied());
    let around = |op: OpId| {
        let op = graph.op(op);
        bytes_together(graph, model, op.inputs.iter().chain(&op.outputs).copied())
    };
    graph.op_ids().map(around).fold(start.max(end), u64::max)
}

/// Bytes that some tensors occupy together: views are looked through, partial results stand for their sum, nothing counts twice.
fn bytes_together(graph: &Graph, model: MemoryModel, tensors: impl Iterator<Item = TensorId>) -> u64 {
    let mut open: Vec<TensorId> = tensors.collect();
    let mut seen = BTreeSet::new();
    let mut bytes = 0;
    while let Some(t) = open.pop() {
        if !seen.insert(t) {
            continue;
        }
        if model == MemoryModel::Paper {
            if let Some(view) = graph.producer(t).filter(|&p| is_view(graph, p)) {
                open.extend(&graph.op(view).inputs);
                continue;
            }
            let sum = graph.consumers(t).first().copied().filter(|&c| is_private_partial(graph, t, c));
            if let Some(sum) = sum
                && accumulates(graph, sum)
            {
                open.extend(&graph.op(sum).outputs);
                continue;
            }
        }
        bytes += graph.tensor(t).bytes;
    }
    bytes
}
