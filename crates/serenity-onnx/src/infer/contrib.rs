//! The operators of ONNX Runtime that its own quantizer and optimizer write into models: pure functions with the shapes of their
//! standard relatives. Any other operator outside the standard stays a secret.

use super::call::one;
use super::elementwise::{broadcast_shapes, like_first, skip_normalization};
use super::{Call, Rule, attention, product, window};
use crate::fact::Fact;

/// The domain of these operators.
const DOMAIN: &str = "com.microsoft";

/// The facts of the outputs of a node; `None` if it runs none of these operators.
pub(super) fn rule(domain: &str, op_type: &str) -> Option<Rule> {
    (domain == DOMAIN).then(|| rule_of(op_type))?
}

fn rule_of(op_type: &str) -> Option<Rule> {
    Some(match op_type {
        // Each tensor is followed by its scale and zero point.
        "QLinearAdd" | "QLinearMul" => {
            |call| one(call.data_type(0), broadcast_shapes(call.shape(0)?, call.shape(3)?)?)
        }
        "QLinearWhere" => |call| {
            let choices = broadcast_shapes(call.shape(1)?, call.shape(4)?)?;
            one(call.data_type(1), broadcast_shapes(call.shape(0)?, &choices)?)
        },
        "QLinearConcat" => concat,
        "QLinearAveragePool" | "NhwcMaxPool" => {
            |call| Some(window::pool(call)?.into_iter().take(1).collect())
        }
        "QLinearGlobalAveragePool" => window::global_pool,
        "FusedConv" | "QLinearConv" => window::convolution,
        "FusedGemm" => product::gemm,
        "FusedMatMul" | "TransposeMatMul" => product::turned_matmul,
        "DynamicQuantizeMatMul" => |call| product::matmul(call, 0, 1, call.data_type(0)),
        "MatMulIntegerToFloat" => |call| product::matmul(call, 0, 1, call.data_type(2)),
        "MatMulNBits" => |call| {
            let mut shape = call.shape(0)?.to_vec();
            *shape.last_mut()? = u64::try_from(call.int_attribute("N")?).ok()?;
            one(call.data_type(0), shape)
        },
        // Without a zero point for the result, the result is not quantized.
        "QGemm" => |call| {
            let data_type = if call.has_input(8) { call.data_type(8) } else { call.data_type(1) };
            product::product_of(call, 3, data_type)
        },
        "Attention" => |call| attention::packed(call, 4, call.data_type(0)),
        "QAttention" => |call| attention::packed(call, 8, call.data_type(3)),
        "MultiHeadAttention" => attention::separate,
        "EmbedLayerNormalization" => attention::embedding,
        "SkipLayerNormalization" | "SkipSimplifiedLayerNormalization" => skip_normalization,
        "QuantizeLinear" => |call| like_first(call, Some(call.data_type(2)?)),
        "DequantizeLinear" => |call| like_first(call, Some(call.data_type(1)?)),
        "BiasGelu" | "FastGelu" | "Gelu" | "QLinearLeakyRelu" | "QLinearSigmoid" | "QLinearSoftmax"
        | "QuickGelu" | "RotaryEmbedding" | "Trilu" => |call| like_first(call, None),
        _ => return None,
    })
}

/// Scale and zero point of the result, then for each piece its tensor, scale and zero point.
fn concat(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let mut shape = call.shape(2)?.to_vec();
    let axis = call.axis(0, shape.len())?;
    for position in (5..call.input_count()).step_by(3) {
        shape[axis] = shape[axis].checked_add(*call.shape(position)?.get(axis)?)?;
    }
    one(call.data_type(1), shape)
}
