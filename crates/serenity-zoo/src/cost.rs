//! How large a network is: multiply-accumulates and parameters, from attributes and shapes.
//!
//! Convolutions and dense layers count, elementwise ops and pools do not, as in the literature. A bias is one
//! parameter a channel, which is what a folded batch normalisation leaves; a learned factor of a sum is one
//! parameter. Ops without shapes count nothing.

use serde_json::Value;
use serenity_ir::{Graph, Op};

/// Multiply-accumulates of one run.
pub fn macs(graph: &Graph) -> u64 {
    graph.ops().iter().map(|op| cost(graph, op).macs).fold(0, u64::saturating_add)
}

/// Parameters: kernels, biases and learned factors.
pub fn weights(graph: &Graph) -> u64 {
    graph.ops().iter().map(|op| cost(graph, op).weights).fold(0, u64::saturating_add)
}

#[derive(Default)]
struct Cost {
    macs: u64,
    weights: u64,
}

fn cost(graph: &Graph, op: &Op) -> Cost {
    let last_dimension = |shape: &[u64]| shape.last().copied().unwrap_or(1);
    let shape = |tensors: &[serenity_ir::TensorId]| {
        tensors.first().and_then(|&t| graph.tensor(t).shape.as_deref().map(<[u64]>::to_vec))
    };
    let (Some(input), Some(output)) = (shape(&op.inputs), shape(&op.outputs)) else {
        return Cost::default();
    };
    let (channels_in, channels_out) = (last_dimension(&input), last_dimension(&output));
    let kernel = kernel_size(op);
    let kernel_weights = match op.kind.as_str() {
        "CONV_2D" => product(&[kernel, channels_in / groups(op), channels_out]),
        "DEPTHWISE_CONV_2D" => product(&[kernel, channels_out]),
        "SEPARABLE_CONV_2D" => {
            product(&[kernel, channels_in]).saturating_add(product(&[channels_in, channels_out]))
        }
        "FULLY_CONNECTED" => product(&[channels_in, channels_out]),
        _ => 0,
    };
    // Every weight of a kernel is used once at every position of the output.
    let positions = product(&output[..output.len().saturating_sub(1)]);
    let bias = if op.attributes.get("bias") == Some(&Value::Bool(true)) { channels_out } else { 0 };
    Cost {
        macs: kernel_weights.saturating_mul(positions),
        weights: kernel_weights.saturating_add(bias).saturating_add(learned_factors(op)),
    }
}

fn product(factors: &[u64]) -> u64 {
    factors.iter().copied().fold(1, u64::saturating_mul)
}

fn kernel_size(op: &Op) -> u64 {
    let sides = op.attributes.get("kernel").and_then(Value::as_array);
    sides.map_or(1, |sides| product(&sides.iter().filter_map(Value::as_u64).collect::<Vec<_>>()))
}

fn groups(op: &Op) -> u64 {
    op.attributes.get("groups").and_then(Value::as_u64).unwrap_or(1).max(1)
}

fn learned_factors(op: &Op) -> u64 {
    let factors = op.attributes.get("input_weights").and_then(Value::as_array);
    factors.map_or(0, |factors| factors.iter().filter(|factor| *factor == "learned").count() as u64)
}

#[cfg(test)]
mod tests {
    use super::{macs, weights};
    use serenity_ir::json;

    fn one_op(kind: &str, attributes: &str) -> (u64, u64) {
        let graph = json::parse(&format!(
            r#"{{"tensors": [{{"shape": [1, 8, 8, 6], "dtype": "int8"}}, {{"shape": [1, 4, 4, 10], "dtype": "int8"}}],
                "ops": [{{"type": "{kind}", "inputs": [0], "outputs": [1], "attributes": {attributes}}}],
                "inputs": [0], "outputs": [1]}}"#
        ))
        .unwrap();
        (macs(&graph), weights(&graph))
    }

    #[test]
    fn each_kind_counts_its_own_way() {
        assert_eq!(one_op("CONV_2D", r#"{"kernel": [3, 3], "bias": true}"#), (540 * 16, 550));
        assert_eq!(one_op("CONV_2D", r#"{"kernel": [1, 1], "groups": 2}"#), (30 * 16, 30));
        assert_eq!(one_op("DEPTHWISE_CONV_2D", r#"{"kernel": [1, 7], "bias": true}"#), (70 * 16, 80));
        assert_eq!(one_op("SEPARABLE_CONV_2D", r#"{"kernel": [3, 3], "bias": true}"#), (114 * 16, 124));
        assert_eq!(one_op("ADD", r#"{"input_weights": ["learned", 0.5]}"#), (0, 1));
        assert_eq!(one_op("MAX_POOL_2D", r#"{"kernel": [3, 3]}"#), (0, 0));
    }
}
