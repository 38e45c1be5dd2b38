//! A lower bound that needs no search.

use crate::holdings::accumulates;
use crate::peak::is_view;
use serenity_ir::{Graph, MemoryModel, OpId, TensorId};
use std::collections::BTreeSet;
use std::fmt;

/// A lower bound that can be seen by looking at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// No order peaks below this.
    pub bytes: u64,
    /// Where to look.
    pub place: Place,
}

/// What needs so much in every order.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// All inputs are in use before the first op.
    Inputs,
    /// All results are in use after the last op.
    Results,
    /// An op runs with all it reads and writes.
    Op {
        /// The op.
        op: OpId,
        /// Its name.
        label: String,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inputs => f.write_str("the graph's inputs alone need that much"),
            Self::Results => f.write_str("the graph's results alone need that much"),
            Self::Op { op, label } => write!(f, "op {op} (`{label}`) alone needs that much"),
        }
    }
}

/// The largest of: what is in use at the start, what stays at the end, what one op reads and writes. Every order needs that much.
pub(crate) fn shown(graph: &Graph, model: MemoryModel) -> Shown {
    let storage = Storage::new(graph, model);
    let inputs_in_use =
        graph.inputs().iter().filter(|&&t| !graph.consumers(t).is_empty() || graph.is_output(t));
    let mut best = Shown { bytes: storage.bytes_together(inputs_in_use.copied()), place: Place::Inputs };
    let results = storage.bytes_together(graph.outputs().iter().copied());
    if results > best.bytes {
        best = Shown { bytes: results, place: Place::Results };
    }
    for op in graph.op_ids() {
        let node = graph.op(op);
        let bytes = storage.bytes_together(node.inputs.iter().chain(&node.outputs).copied());
        if bytes > best.bytes {
            best = Shown { bytes, place: Place::Op { op, label: graph.op_label(op) } };
        }
    }
    best
}

/// What shares memory with what.
struct Storage<'a> {
    graph: &'a Graph,
    shares: bool,
    /// For every op, whether it adds up partial results in place.
    accumulates: Vec<bool>,
}

impl<'a> Storage<'a> {
    fn new(graph: &'a Graph, model: MemoryModel) -> Self {
        let accumulates = graph.op_ids().map(|op| accumulates(graph, op)).collect();
        Self { graph, shares: model == MemoryModel::Paper, accumulates }
    }

    /// Bytes that some tensors occupy together: views are looked through, partial results stand for their sum, nothing counts twice.
    fn bytes_together(&self, tensors: impl Iterator<Item = TensorId>) -> u64 {
        let graph = self.graph;
        let mut open: Vec<TensorId> = tensors.collect();
        let mut seen = BTreeSet::new();
        let mut bytes = 0;
        while let Some(t) = open.pop() {
            if !seen.insert(t) {
                continue;
            }
            let view = graph.producer(t).filter(|&p| self.shares && is_view(graph, p));
            let sum = graph.consumers(t).first().filter(|c| self.shares && self.accumulates[c.index()]);
            if let Some(view) = view {
                open.extend(&graph.op(view).inputs);
            } else if let Some(&sum) = sum {
                open.extend(&graph.op(sum).outputs);
            } else {
                bytes += graph.tensor(t).bytes;
            }
        }
        bytes
    }
}
