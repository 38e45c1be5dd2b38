//! How large a file can become, before it is written: the builder cannot go back.

use serenity_ir::{Model, Quantization};

/// No file of this model is larger: its data, names and lists, and for each table, with its virtual table, padding and
/// the place in the list that names it, 256 bytes.
pub(super) fn most_bytes(model: &Model) -> u64 {
    let graph = model.graph();
    let described = |name: &str, shape: &[u64], quantization: Option<&Quantization>| {
        // A scale has 4 bytes, a zero point 8.
        256 + name.len()
            + 4 * shape.len()
            + 12 * quantization.map_or(0, |q| q.scales.len().max(q.zero_points.len()))
    };
    let activations = graph.tensors().iter().map(|tensor| {
        described(&tensor.name, tensor.shape.as_deref().unwrap_or(&[]), tensor.quantization.as_ref())
    });
    let constants = model.constants().iter().map(|constant| {
        256 + constant.data.len() + described(&constant.name, &constant.shape, constant.quantization.as_ref())
    });
    let ops = graph.ops().iter().zip(model.operands());
    let ops = ops.map(|(op, operands)| 512 + 4 * (operands.len() + op.outputs.len()));
    let lists = 1024 + graph.name().len() + 4 * (graph.inputs().len() + graph.outputs().len());
    activations.chain(constants).chain(ops).map(|bytes| bytes as u64).sum::<u64>() + lists as u64
}
