//! temporary
use crate::{Graph, Kernels, OpId, TensorId};
/// o
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// i
    pub input: TensorId,
    /// o
    pub output: TensorId,
    /// d
    pub distance: u64,
}
/// o
pub fn overlaps(graph: &Graph, op: OpId, _kernels: Kernels) -> Vec<Overlap> {
    let node = graph.op(op);
    let ok = ["RELU", "RELU6", "ADD", "MUL", "LOGISTIC", "RESHAPE"].contains(&node.kind.as_str());
    if !ok {
        return Vec::new();
    }
    let Some(&output) = node.outputs.first() else { return Vec::new() };
    node.inputs
        .iter()
        .filter(|&&t| graph.tensor(t).bytes == graph.tensor(output).bytes)
        .map(|&input| Overlap { input, output, distance: 0 })
        .collect()
}
