//! Operators that TFLM cannot run, however much memory it has.

use super::tail::has_known_kernel;
use serenity_ir::Operator::*;
use serenity_ir::{Call, ElementType, Graph, OpId};

/// An operator that TFLM refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported {
    /// The operator in its graph.
    pub op: OpId,
    /// Why TFLM refuses it, for people.
    pub reason: String,
}

/// The operators of a graph that TFLM has no kernel for, or whose kernels refuse types in the file. Custom operators
/// are not listed: a build may have kernels for them.
pub fn unsupported(graph: &Graph) -> Vec<Unsupported> {
    let refused = graph.op_ids().filter_map(|op| {
        let reason = reason(&Call::new(graph, op))?;
        Some(Unsupported { op, reason })
    });
    refused.collect()
}

fn reason(call: &Call) -> Option<String> {
    let kind = call.op.kind.as_str();
    let dtype = |position: usize| call.dtype(position);
    let is_custom = kind.starts_with("CUSTOM:");
    match call.operator() {
        _ if !is_custom && !has_known_kernel(call.operator()) => Some(format!("TFLM has no `{kind}`")),
        CONV_2D | DEPTHWISE_CONV_2D | FULLY_CONNECTED => match (dtype(0)?, dtype(1)?) {
            (ElementType::UInt8, _) => {
                Some(format!("TFLM's `{kind}` takes int8, not uint8: convert the model anew"))
            }
            (
                ElementType::Float32,
                weights @ (ElementType::Int8 | ElementType::Int4 | ElementType::UInt8),
            ) => Some(format!(
                "TFLM's `{kind}` does not apply {weights} weights to floats (a hybrid model): quantise activations too"
            )),
            _ => None,
        },
        DEQUANTIZE if dtype(0)? == ElementType::Float16 => Some(
            "TFLM's `DEQUANTIZE` does not take float16: give --fold-constants, or convert the model with weights of float32 or int8"
                .to_owned(),
        ),
        CAST if dtype(0)? == ElementType::UInt8 => {
            Some("TFLM's `CAST` does not take uint8, and fails in the run".to_owned())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serenity_ir::sketch;

    /// Why an op with these operands is refused.
    fn reasons(op: &str) -> Vec<String> {
        let graph = sketch(&format!("float32[4] = {op}"));
        unsupported(&graph).into_iter().map(|refused| refused.reason).collect()
    }

    #[test]
    fn types_that_kernels_refuse_are_told() {
        for op in ["CONV_2D int8[4] int8#[4]", "CONV_2D float32[4] float32#[4]", "CUSTOM:mine int8[4]"] {
            // Whoever has an operator of their own brings its kernel.
            assert!(reasons(op).is_empty(), "{op}");
        }
        for (op, reason) in [
            ("CONV_2D float32[4] int8#[4]", "a hybrid model"),
            ("CONV_2D uint8[4] uint8#[4]", "not uint8"),
            ("DEQUANTIZE float16#[4]", "does not take float16"),
        ] {
            assert!(reasons(op)[0].contains(reason), "{op}");
        }
        assert_eq!(reasons("TILE int8[4]"), ["TFLM has no `TILE`"]);
    }
}
