//! The operators of ONNX Runtime that its own quantizer and optimizer write into models: pure functions with the shapes of their
//! standard relatives. Any other operator outside the standard stays a secret.

use super::call::one;
use super::elementwise::{broadcast_shapes, like_first, skip_normalization};
use super::{Call, attention, product, window};
use crate::fact::Fact;

/// The domain of these operators.
const DOMAIN: &str = "com.microsoft";

/// Is this one of them?
pub(super) fn knows(domain: &str, op_type: &str) -> bool {
    const KNOWN: [&str; 33] = [
        "Attention",
        "BiasGelu",
        "DequantizeLinear",
        "DynamicQuantizeMatMul",
        "EmbedLayerNormalization",
        "FastGelu",
        "FusedConv",
        "FusedGemm",
        "FusedMatMul",
        "Gelu",
        "MatMulIntegerToFloat",
        "MatMulNBits",
        "MultiHeadAttention",
        "NhwcMaxPool",
        "QAttention",
        "QGemm",
        "QLinearAdd",
        "QLinearAveragePool",
        "QLinearConcat",
        "QLinearConv",
        "QLinearGlobalAveragePool",
        "QLinearLeakyRelu",
        "QLinearMul",
        "QLinearSigmoid",
        "QLinearSoftmax",
        "QLinearWhere",
        "QuantizeLinear",
        "QuickGelu",
        "RotaryEmbedding",
        "SkipLayerNormalization",
        "SkipSimplifiedLayerNormalization",
        "TransposeMatMul",
        "Trilu",
    ];
    domain == DOMAIN && KNOWN.contains(&op_type)
}

/// The facts of the outputs of an operator that is [known](knows).
pub(super) fn infer(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let data_type = call.data_type(0);
    match call.node.op_type {
        // Each tensor is followed by its scale and zero point.
        "QLinearAdd" | "QLinearMul" => one(data_type, broadcast_shapes(call.shape(0)?, call.shape(3)?)?),
        "QLinearWhere" => {
            let choices = broadcast_shapes(call.shape(1)?, call.shape(4)?)?;
            one(call.data_type(1), broadcast_shapes(call.shape(0)?, &choices)?)
        }
        "QLinearConcat" => concat(call),
        "QLinearAveragePool" | "NhwcMaxPool" => Some(window::pool(call)?.into_iter().take(1).collect()),
        "QLinearGlobalAveragePool" => window::global_pool(call),
        "FusedConv" | "QLinearConv" => window::convolution(call),
        "FusedGemm" => product::gemm(call),
        "FusedMatMul" | "TransposeMatMul" => product::turned_matmul(call),
        "DynamicQuantizeMatMul" => product::matmul(call, 0, 1, data_type),
        "MatMulIntegerToFloat" => product::matmul(call, 0, 1, call.data_type(2)),
        "MatMulNBits" => {
            let mut shape = call.shape(0)?.to_vec();
            *shape.last_mut()? = u64::try_from(call.int_attribute("N")?).ok()?;
            one(data_type, shape)
        }
        "QGemm" => {
            let (&[a0, a1], &[b0, b1]) = (call.shape(0)?, call.shape(3)?) else { return None };
            let rows = if call.is_set("transA") { a1 } else { a0 };
            let columns = if call.is_set("transB") { b0 } else { b1 };
            // Without a zero point for the result, the result is not quantized.
            one(if call.has_input(8) { call.data_type(8) } else { call.data_type(1) }, vec![rows, columns])
        }
        "Attention" => attention::packed(call, 4, data_type),
        "QAttention" => attention::packed(call, 8, call.data_type(3)),
        "MultiHeadAttention" => attention::separate(call),
        "EmbedLayerNormalization" => attention::embedding(call),
        "SkipLayerNormalization" | "SkipSimplifiedLayerNormalization" => skip_normalization(call),
        "QuantizeLinear" => like_first(call, Some(call.data_type(2)?)),
        "DequantizeLinear" => like_first(call, Some(call.data_type(1)?)),
        _ => like_first(call, None),
    }
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
