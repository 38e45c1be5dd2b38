//! What the kernels of emitted C allow. They go over rows, columns and channels from front to back as the portable ones do, and where they make four channels at a time they have read all that the
//! four are made of before they write the first: no read is later than one by one, so whatever distance is safe there is safe here. Blocks are moved by `memmove`, and those that are
//! where they belong are not moved.

use super::safe::Pair;
use super::{copies, elementwise, products, windows};
use serenity_ir::Call;
use serenity_ir::Operator::*;

pub(in crate::tflm) fn overlaps(call: &Call) -> Option<Vec<Pair>> {
    match call.operator() {
        CONV_2D => windows::convolution(call),
        DEPTHWISE_CONV_2D => windows::depthwise_convolution(call),
        AVERAGE_POOL_2D | MAX_POOL_2D => windows::pool(call),
        FULLY_CONNECTED => products::fully_connected(call),
        PAD | PADV2 => copies::pad(call),
        CONCATENATION => copies::concatenation(call),
        SLICE => copies::slice(call),
        STRIDED_SLICE => copies::strided_slice(call),
        SPLIT => copies::split(call, 1),
        SPLIT_V => copies::split(call, 0),
        RESHAPE | SQUEEZE | EXPAND_DIMS => copies::reshape(call),
        operator => Some(elementwise::front_to_back(call, elementwise::operands(operator)?)),
    }
}
