//! Temporary buffers that ONNX Runtime's kernels request from the arena while they run, on one thread.

use serenity_ir::{Call, Graph, OpId, Operator};

/// What one thread of a convolution works in.
const CONVOLUTION: u64 = 1 << 16;

/// The temporary buffers of an op, as far as they are known: of convolutions on floats.
pub(super) fn temporary(graph: &Graph, op: OpId) -> u64 {
    if graph.op(op).kind.operator() == Operator::Conv {
        convolution(graph, op).unwrap_or(CONVOLUTION)
    } else {
        0
    }
}

fn convolution(graph: &Graph, op: OpId) -> Option<u64> {
    let call = Call::new(graph, op);
    let kernel = call.op.sizes("kernel")?;
    let is_unpadded = call.op.word("padding") == Some("valid");
    let all_one = |values: &[u64]| values.iter().all(|&value| value == 1);
    if all_one(&kernel) && all_one(&call.op.sizes("stride")?) && is_unpadded {
        return Some(0);
    }
    let input = graph.tensor(call.activation(0)?).shape.as_ref()?;
    let output = graph.tensor(call.output(0)?).shape.as_ref()?;
    let groups = call.op.size("group").unwrap_or(1).max(1);
    let product = |dims: &[u64]| dims.iter().copied().fold(1, u64::saturating_mul);
    let pixels = product(output.get(2..)?);
    if output.get(1)? / groups > pixels {
        let taps = (input.get(1)? / groups).saturating_mul(product(&kernel));
        return Some(pixels.saturating_mul(taps).saturating_mul(4));
    }
    Some(CONVOLUTION)
}
