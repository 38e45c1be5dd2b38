//! What ONNX Runtime's kernels ask the arena for while they run, on one thread.

use serde_json::Value;
use serenity_ir::{Graph, OpId};

/// What one thread of a convolution works in.
const CONVOLUTION: u64 = 1 << 16;

/// The temporary buffers of an op, as far as they are known: of convolutions on floats.
pub(super) fn temporary(graph: &Graph, op: OpId) -> u64 {
    if graph.op(op).kind.as_str() == "Conv" { convolution(graph, op).unwrap_or(CONVOLUTION) } else { 0 }
}

fn convolution(graph: &Graph, op: OpId) -> Option<u64> {
    let node = graph.op(op);
    let list = |name: &str| -> Option<Vec<u64>> {
        node.attributes.get(name)?.as_array()?.iter().map(Value::as_u64).collect()
    };
    let kernel = list("kernel")?;
    let is_unpadded = node.attributes.get("padding").and_then(Value::as_str) == Some("valid");
    let all_one = |values: &[u64]| values.iter().all(|&value| value == 1);
    if all_one(&kernel) && all_one(&list("stride")?) && is_unpadded {
        return Some(0);
    }
    let input = graph.tensor(node.operand(0)?).shape.as_ref()?;
    let output = graph.tensor(*node.outputs.first()?).shape.as_ref()?;
    let groups = node.attributes.get("group").and_then(Value::as_u64).unwrap_or(1).max(1);
    let product = |dims: &[u64]| dims.iter().copied().fold(1, u64::saturating_mul);
    let pixels = product(output.get(2..)?);
    if output.get(1)? / groups > pixels {
        let taps = (input.get(1)? / groups).saturating_mul(product(&kernel));
        return Some(pixels.saturating_mul(taps).saturating_mul(4));
    }
    Some(CONVOLUTION)
}
