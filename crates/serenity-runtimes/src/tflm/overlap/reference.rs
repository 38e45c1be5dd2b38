//! What the portable kernels allow, kind by kind. Each function says in which order its kernel reads and writes.

use super::safe::Pair;
use super::{copies, elementwise, products, resize, windows};
use serenity_ir::Call;
use serenity_ir::Operator::*;

pub(super) fn overlaps(call: &Call) -> Option<Vec<Pair>> {
    match call.operator() {
        CONV_2D => windows::convolution(call),
        DEPTHWISE_CONV_2D => windows::depthwise_convolution(call),
        AVERAGE_POOL_2D | MAX_POOL_2D | L2_POOL_2D => windows::pool(call),
        TRANSPOSE_CONV => products::transposed_convolution(call),
        FULLY_CONNECTED => products::fully_connected(call),
        PAD | PADV2 => copies::pad(call),
        CONCATENATION => copies::concatenation(call),
        SLICE => copies::slice(call),
        STRIDED_SLICE => copies::strided_slice(call),
        SPLIT => copies::split(call, 1),
        SPLIT_V => copies::split(call, 0),
        RESIZE_BILINEAR => resize::bilinear(call),
        RESIZE_NEAREST_NEIGHBOR => resize::nearest_neighbor(call),
        RESHAPE | SQUEEZE | EXPAND_DIMS => copies::reshape(call),
        operator => Some(elementwise::front_to_back(call, elementwise::operands(operator)?)),
    }
}
