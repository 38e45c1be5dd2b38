//! The kernels of emitted C, kind by kind.
//!
//! Each says in its own file in which order it reads and writes. Convolutions, depthwise ones and dense layers make four channels of a pixel at a time: they read what all four are made of, then write the
//! four. Played one by one, as here, three of four channels are read later than they really are, so what is safe here is safe there. Blocks are moved as a whole, a row of padding after the row was
//! read; everything else goes element by element from front to back.

use super::call::Call;
use super::trace::Trace;
use super::{copies, elementwise, products, windows};
use serenity_ir::Operator::*;

pub(super) fn play(call: &Call, trace: &mut Trace) -> Option<()> {
    match call.operator() {
        CONV_2D => windows::convolution(call, trace),
        DEPTHWISE_CONV_2D => windows::depthwise_convolution(call, trace),
        AVERAGE_POOL_2D | MAX_POOL_2D => windows::pool(call, trace),
        FULLY_CONNECTED => products::fully_connected(call, trace),
        PAD | PADV2 => copies::pad(call, trace),
        CONCATENATION => copies::concatenation(call, trace),
        SLICE => copies::slice(call, trace),
        STRIDED_SLICE => copies::strided_slice(call, trace),
        SPLIT => copies::split(call, 1, trace),
        SPLIT_V => copies::split(call, 0, trace),
        RESHAPE | SQUEEZE | EXPAND_DIMS => copies::reshape(call, trace),
        SOFTMAX => elementwise::softmax(call, trace),
        operator => elementwise::one_by_one(call, elementwise::operands(operator)?, trace),
    }
}
