//! What a runtime's own planner makes of an order.
//!
//! A model comes as one graph a sub-graph, the main one first; an op that runs others names them in its attribute `bodies`.

use serenity_arena::Buffer;
use serenity_ir::{Graph, OpId, TensorId};

/// What lies in a runtime's arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// A tensor of one of the model's graphs, and what shares its memory.
    Tensor {
        /// Which graph.
        graph: usize,
        /// Which of its tensors.
        tensor: TensorId,
    },
    /// What an op needs besides its tensors.
    Scratch {
        /// Which graph.
        graph: usize,
        /// Which of its ops.
        op: OpId,
    },
}

impl Content {
    /// What to call it: the name of the tensor, or whose scratch it is; with the number of its graph if that is not the main one.
    ///
    /// # Panics
    /// If it is none of these graphs' own.
    pub fn label(&self, graphs: &[&Graph]) -> String {
        let (graph, label) = match *self {
            Self::Tensor { graph, tensor } => (graph, graphs[graph].tensor_label(tensor)),
            Self::Scratch { graph, op } => (graph, format!("scratch of {}", graphs[graph].op_label(op))),
        };
        if graph == 0 { label } else { format!("{label} of graph {graph}") }
    }
}

/// One piece of a runtime's arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// What it holds.
    pub content: Content,
    /// Its size, as the runtime counts it.
    pub bytes: u64,
    /// Where it begins.
    pub offset: u64,
}

/// A runtime's arena for activations, as its own planner lays it out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arena {
    /// Its size: what TFLM calls the head, the span of LiteRT's arena, the most that ONNX Runtime asks its arena for in a first run.
    pub bytes: u64,
    /// All pieces, in the runtime's order; none for ONNX Runtime, which has no places before it runs.
    pub pieces: Vec<Piece>,
}

/// The time line of one run: who needs how much, from when to when.
pub(crate) struct Demand {
    pub(crate) content: Content,
    pub(crate) buffer: Buffer,
}

/// Offsets that a model's own plan gives its tensors: by graph, by tensor.
pub type Offsets = Vec<Vec<Option<u64>>>;
