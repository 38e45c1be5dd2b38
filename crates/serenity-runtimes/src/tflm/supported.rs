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
            "TFLM's `DEQUANTIZE` does not take float16: convert the model with weights of float32 or int8"
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
    use serde_json::{Map, json};
    use serenity_ir::ElementType::{Float16, Float32, Int8, UInt8};
    use serenity_ir::{Attributes, GraphBuilder, Op, OpKind, Tensor};

    /// Why an op is refused that reads an activation, or a constant, or both.
    fn reasons(kind: &str, activation: Option<ElementType>, constant: Option<&ElementType>) -> Vec<String> {
        let tensor = |dtype| Tensor::shaped("", vec![4], dtype).unwrap();
        let mut builder = GraphBuilder::new("");
        let inputs: Vec<_> = activation.into_iter().map(|dtype| builder.input(tensor(dtype))).collect();
        let outputs = vec![builder.tensor(tensor(Float32))];
        let mut attributes = Attributes::new();
        if let Some(dtype) = constant {
            let description = json!({"name": "", "shape": [4], "dtype": dtype.name()});
            attributes.insert("constants".to_owned(), json!({inputs.len().to_string(): description}));
        }
        let (name, kind) = (String::new(), OpKind::new(kind));
        builder.push_op(Op { name, kind, inputs, outputs, attributes, extra: Map::new() });
        unsupported(&builder.build().unwrap()).into_iter().map(|refused| refused.reason).collect()
    }

    #[test]
    fn types_that_kernels_refuse_are_told() {
        let conv = |input, weights| reasons("CONV_2D", Some(input), Some(&weights));
        assert_eq!((conv(Int8, Int8), conv(Float32, Float32)), (vec![], vec![]));
        assert!(
            conv(Float32, Int8)[0].contains("a hybrid model") && conv(UInt8, UInt8)[0].contains("not uint8")
        );
        assert!(reasons("DEQUANTIZE", None, Some(&Float16))[0].contains("does not take float16"));
        assert_eq!(reasons("TILE", Some(Int8), None), ["TFLM has no `TILE`"]);
        // Whoever has such an operator brings its kernel.
        assert!(reasons("CUSTOM:mine", Some(Int8), None).is_empty());
    }
}
