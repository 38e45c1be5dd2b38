//! The arena that a runtime's own planner makes of an order.
//!
//! A model is one graph per sub-graph, the main one first; an op that runs others names them in its attribute `bodies`.

use serenity_arena::Buffer;
use serenity_ir::{Graph, OpId, TensorId};

/// What a piece of a runtime's arena holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Content {
    /// A tensor of one of the model's graphs, and all that shares its memory.
    Tensor {
        /// The index of the graph.
        graph: usize,
        /// The tensor in that graph.
        tensor: TensorId,
    },
    /// Scratch: what an op needs besides its tensors.
    Scratch {
        /// The index of the graph.
        graph: usize,
        /// The op in that graph.
        op: OpId,
    },
}

impl Content {
    /// A name to show: that of the tensor, or of the op whose scratch it is; with the number of its graph unless that
    /// is the main one.
    ///
    /// # Panics
    /// If the content belongs to none of these graphs.
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
    /// Its size in bytes, as the runtime counts it.
    pub bytes: u64,
    /// Its offset in the arena.
    pub offset: u64,
}

/// A runtime's arena for activations, as its own planner lays it out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arena {
    /// The size in bytes: what TFLM calls the head, the span of LiteRT's arena, the most that ONNX Runtime requests
    /// from its arena in a first run.
    pub bytes: u64,
    /// All pieces, in the runtime's order; none for ONNX Runtime, which has no offsets before it runs.
    pub pieces: Vec<Piece>,
}

/// A buffer that a run needs, with its size and lifetime.
pub(crate) struct Demand {
    pub(crate) content: Content,
    pub(crate) buffer: Buffer,
}

/// Offsets that a model's own memory plan gives its tensors, per graph and per tensor.
pub type Offsets = Vec<Vec<Option<u64>>>;
