//! The portable kernels, kind by kind.

use super::call::Call;
use super::trace::Trace;
use super::{copies, elementwise, products, resize, windows};
use serenity_ir::Operator::*;

pub(super) fn play(call: &Call, trace: &mut Trace) -> Option<()> {
    match call.operator() {
        CONV_2D => windows::convolution(call, trace),
        DEPTHWISE_CONV_2D => windows::depthwise_convolution(call, trace),
        AVERAGE_POOL_2D | MAX_POOL_2D | L2_POOL_2D => windows::pool(call, trace),
        TRANSPOSE_CONV => products::transposed_convolution(call, trace),
        FULLY_CONNECTED => products::fully_connected(call, trace),
        PAD | PADV2 => copies::pad(call, trace),
        CONCATENATION => copies::concatenation(call, trace),
        SLICE => copies::slice(call, trace),
        STRIDED_SLICE => copies::strided_slice(call, trace),
        SPLIT => copies::split(call, 1, trace),
        SPLIT_V => copies::split(call, 0, trace),
        RESHAPE | SQUEEZE | EXPAND_DIMS => copies::reshape(call, trace),
        RESIZE_BILINEAR => resize::bilinear(call, trace),
        RESIZE_NEAREST_NEIGHBOR => resize::nearest_neighbor(call, trace),
        SOFTMAX => elementwise::softmax(call, trace),
        operator => elementwise::one_by_one(call, elementwise::operands(operator)?, trace),
    }
}
