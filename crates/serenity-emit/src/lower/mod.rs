//! Turns operators into calls of kernels, one file per operator family.

mod choices;
mod cmsis_nn;
mod elementwise;
mod filters;
mod floats;
mod gathers;
mod loops;
mod matrices;
mod moves;
mod numbers;
mod options;
mod packed;
mod products;
mod quantized;
mod recurrent;
mod reduce;
mod resize;
mod signal;
mod softmax;
mod space;
mod state;
mod tables;
mod transposed;
mod whole;
mod windows;

pub(crate) use floats::fused as float_cut;
pub(crate) use moves::padding;
#[cfg(test)]
pub(crate) use options::Affine;
#[cfg(test)]
pub(crate) use quantized::Layer;
pub(crate) use reduce::Mean;
pub(crate) use windows::{Pool, Weighted};

use crate::emitter::At;
use crate::refused::Refused;
use crate::source::{DataPlace, SourceTensor};
use serenity_ir::ElementType::Float32;

/// Nothing is gained by tensors without elements, and much could go wrong.
fn refuse_empty(at: &At) -> Result<(), Refused> {
    let tensors =
        at.op.inputs.iter().chain(&at.op.outputs).flatten().map(|&tensor| &at.graph.tensors[tensor]);
    let is_empty =
        |tensor: &SourceTensor| matches!(tensor.place, DataPlace::Arena(_)) && tensor.shape.contains(&0);
    let is_there = { tensors }.any(is_empty);
    if is_there { Err(at.refused("a tensor of it has no elements")) } else { Ok(()) }
}

/// The code of one operator; `None` if there is nothing to do, as where a view lies where it looks.
pub(crate) fn lowered(at: &mut At) -> Result<Option<String>, Refused> {
    if numbers::are_known(at) {
        return Ok(None);
    }
    refuse_empty(at)?;
    if let Some(code) = floats::lowered(at)? {
        return Ok(Some(code));
    }
    for family in [whole::lowered, signal::lowered, cmsis_nn::lowered] {
        if let Some(code) = family(at)? {
            return Ok(Some(code));
        }
    }
    match at.op.kind.as_str() {
        "CONV_2D" => windows::convolution(at).map(Some),
        "DEPTHWISE_CONV_2D" => windows::depthwise(at).map(Some),
        "AVERAGE_POOL_2D" | "MAX_POOL_2D" => windows::pool(at).map(Some),
        "TRANSPOSE_CONV" if at.output(0)?.dtype == Float32 => floats::transposed(at).map(Some),
        "TRANSPOSE_CONV" => transposed::convolution(at).map(Some),
        "BATCH_MATMUL" => matrices::products(at).map(Some),
        "FULLY_CONNECTED" => products::fully_connected(at).map(Some),
        "ADD" | "SUB" => elementwise::sum(at).map(Some),
        "SQUARED_DIFFERENCE" => elementwise::squared_difference(at).map(Some),
        "MUL" => elementwise::product(at).map(Some),
        "MAXIMUM" | "MINIMUM" => elementwise::extreme(at).map(Some),
        "RELU" | "RELU6" => elementwise::relu(at).map(Some),
        "LOGISTIC" | "TANH" => tables::curve(at).map(Some),
        "LEAKY_RELU" => tables::leaky_relu(at).map(Some),
        "ELU" => tables::elu(at).map(Some),
        "HARD_SWISH" => tables::hard_swish(at).map(Some),
        "QUANTIZE" => tables::quantize(at).map(Some),
        "DEQUANTIZE" => tables::dequantize(at).map(Some),
        "CAST" => whole::cast(at).map(Some),
        "SOFTMAX" => softmax::softmax(at).map(Some),
        "MEAN" => reduce::mean(at).map(Some),
        "REDUCE_MAX" | "REDUCE_MIN" => reduce::extreme(at).map(Some),
        "ARG_MAX" | "ARG_MIN" => reduce::place(at).map(Some),
        "SVDF" => filters::svdf(at).map(Some),
        "UNIDIRECTIONAL_SEQUENCE_LSTM" if at.input(0)?.dtype == Float32 => {
            recurrent::lstm_of_floats(at).map(Some)
        }
        "UNIDIRECTIONAL_SEQUENCE_LSTM" => recurrent::lstm(at).map(Some),
        "RESHAPE" | "SQUEEZE" | "EXPAND_DIMS" => moves::reshape(at),
        "PAD" | "PADV2" => moves::pad(at).map(Some),
        "CONCATENATION" => moves::concatenation(at),
        "PACK" => moves::pack(at),
        "SPLIT" | "SPLIT_V" | "UNPACK" => moves::split(at),
        "SLICE" => moves::slice(at),
        "STRIDED_SLICE" => moves::strided_slice(at),
        "TRANSPOSE" => moves::transpose(at).map(Some),
        "SPACE_TO_BATCH_ND" | "BATCH_TO_SPACE_ND" => space::batches(at).map(Some),
        "SPACE_TO_DEPTH" | "DEPTH_TO_SPACE" => space::depth(at).map(Some),
        "GATHER" => gathers::taken(at).map(Some),
        "MIRROR_PAD" => gathers::mirror_pad(at).map(Some),
        "RESIZE_NEAREST_NEIGHBOR" => gathers::nearest(at).map(Some),
        "RESIZE_BILINEAR" => resize::bilinear(at).map(Some),
        "EQUAL" | "NOT_EQUAL" | "LESS" | "LESS_EQUAL" | "GREATER" | "GREATER_EQUAL" => {
            choices::compared(at).map(Some)
        }
        "LOGICAL_AND" | "LOGICAL_OR" => choices::truth(at).map(Some),
        "SELECT_V2" => choices::select(at).map(Some),
        "FILL" => moves::fill(at),
        "DYNAMIC_UPDATE_SLICE" => moves::update(at),
        "VAR_HANDLE" => state::handle(at),
        "READ_VARIABLE" => state::read(at).map(Some),
        "ASSIGN_VARIABLE" => state::assign(at).map(Some),
        "CALL_ONCE" => state::once(at),
        "WHILE" => loops::lowered(at).map(Some),
        _ => Err(at.not_covered("this operator is not covered")),
    }
}
