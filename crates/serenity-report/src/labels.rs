//! What to call the ops and tensors of a graph where there is little room.

use crate::short_names;
use serenity_ir::Graph;

/// Labels as short as they can be and still tell things apart: `block_3/relu` where the model says
/// `model/functional/block_3/relu;model/functional/block_3/bn/…`.
#[derive(Clone, Debug)]
pub struct ShortLabels {
    /// By op.
    pub ops: Vec<String>,
    /// By tensor.
    pub tensors: Vec<String>,
}

impl ShortLabels {
    /// Those of a graph, of about `room` characters at most.
    pub fn of(graph: &Graph, room: usize) -> Self {
        let short = |labels: Vec<String>| {
            let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
            short_names(&labels, room)
        };
        Self {
            ops: short(graph.op_ids().map(|op| graph.op_label(op)).collect()),
            tensors: short(graph.tensor_ids().map(|tensor| graph.tensor_label(tensor)).collect()),
        }
    }
}
