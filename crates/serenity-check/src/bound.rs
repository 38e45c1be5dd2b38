//! A lower bound that needs no search.

use crate::holdings::Holdings;
use serenity_ir::{Graph, OpId, TensorId};
use std::collections::BTreeSet;
use std::fmt;

/// A lower bound that can be seen by looking at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// No order peaks below this.
    pub bytes: u64,
    /// The place in the order that needs this much.
    pub place: Place,
}

/// A place that needs a number of bytes in every order.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "its text names the fields")]
pub enum Place {
    /// All inputs are in use before the first op.
    Inputs,
    /// All results are in use after the last op.
    Results,
    /// An op runs with all it reads and writes.
    Op { op: OpId, label: String },
    /// A tensor needs this much, wherever it lies.
    Tensor { tensor: TensorId, label: String },
    /// While an op runs, at least one tensor of each of some chains is in use.
    Chains { op: OpId, label: String, chains: usize },
    /// A chain of cuts leaves no order.
    Cuts { steps: usize },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inputs => f.write_str("the graph's inputs alone need that much"),
            Self::Results => f.write_str("the graph's results alone need that much"),
            Self::Op { op, label } => write!(f, "op {op} (`{label}`) alone needs that much"),
            Self::Tensor { tensor, label } => write!(f, "tensor {tensor} (`{label}`) alone needs that much"),
            Self::Chains { op, label, chains } => write!(
                f,
                "while op {op} (`{label}`) runs, at least one tensor of each of {chains} chains is in use, whatever the order"
            ),
            Self::Cuts { steps } => write!(f, "a chain of {steps} cuts rules out all orders that would"),
        }
    }
}

/// The largest tensor, or all inputs, which are there at once before anything runs. That much is needed also where
/// several tensors share their bytes, so that what an op reads and writes does not add up.
pub(crate) fn largest_tensor(graph: &Graph, holdings: &Holdings) -> Shown {
    let bytes_of = |tensor: TensorId| {
        let memory = holdings.tensors[tensor.index()].as_ref();
        memory.map_or(0, |memory| u64::try_from(memory.bytes).unwrap_or(0))
    };
    let inputs = graph.inputs().iter().map(|&input| bytes_of(input)).fold(0, u64::saturating_add);
    let mut best = Shown { bytes: inputs, place: Place::Inputs };
    for tensor in graph.tensor_ids() {
        let bytes = bytes_of(tensor);
        if bytes > best.bytes {
            best = Shown { bytes, place: Place::Tensor { tensor, label: graph.tensor_label(tensor) } };
        }
    }
    best
}

/// The largest of: what is in use at the start, what stays at the end, what one op reads and writes, less what it may
/// write over. Every order needs that much.
pub(crate) fn shown(graph: &Graph, holdings: &Holdings) -> Shown {
    let (mut inputs, mut results) = (0_i128, 0_i128);
    let mut by_op = vec![0_i128; graph.ops().len()];
    for memory in holdings.iter() {
        if memory.writers.is_empty() {
            inputs += memory.bytes;
        }
        if memory.kept {
            results += memory.bytes;
        }
        let touched: BTreeSet<OpId> = memory.writers.iter().chain(&memory.readers).copied().collect();
        for op in touched {
            by_op[op.index()] += memory.bytes;
        }
    }
    // A sum below 0 shows nothing, and one beyond 64 bits is shown as far as that goes.
    let bytes = |sum: i128| sum.clamp(0, i128::from(u64::MAX)) as u64;
    let mut best = Shown { bytes: bytes(inputs), place: Place::Inputs };
    if bytes(results) > best.bytes {
        best = Shown { bytes: bytes(results), place: Place::Results };
    }
    for (op, sum) in graph.op_ids().zip(by_op) {
        let sum = sum - holdings.in_place.most_saved(op, &holdings.tensors);
        if bytes(sum) > best.bytes {
            best = Shown { bytes: bytes(sum), place: Place::Op { op, label: graph.op_label(op) } };
        }
    }
    best
}
