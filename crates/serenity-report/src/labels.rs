//! Short names for the ops and tensors of a graph.

use crate::short_names;
use serenity_ir::Graph;

/// Names that are as short as they can be and still distinct: `block_3/relu` where the model says
/// `model/functional/block_3/relu;model/functional/block_3/bn/…`.
#[derive(Clone, Debug)]
pub struct ShortLabels {
    /// The label of each op.
    pub ops: Vec<String>,
    /// The label of each tensor.
    pub tensors: Vec<String>,
}

impl ShortLabels {
    /// The labels of a graph, of at most about `room` characters.
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
