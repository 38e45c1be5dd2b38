//! The kernels that call ESP-NN on an ESP32-S3; all others are the portable ones.
//!
//! They are written in assembly of which nothing is known here, so they may do what any kernels may.

use super::call::Call;
use super::trace::Trace;
use super::{any, reference};
use serenity_ir::ElementType;
use serenity_ir::Operator::*;

pub(super) fn play(call: &Call, trace: &mut Trace) -> Option<()> {
    if calls_library(call)? { any::play(call, trace) } else { reference::play(call, trace) }
}

/// Does the library do the work?
pub(super) fn calls_library(call: &Call) -> Option<bool> {
    let dtype = call.dtype(call.first_activation()?)?;
    let is_replaced = matches!(
        call.operator(),
        CONV_2D | DEPTHWISE_CONV_2D | FULLY_CONNECTED | AVERAGE_POOL_2D | MAX_POOL_2D | ADD | MUL | SOFTMAX
    );
    Some(is_replaced && dtype != ElementType::Float32)
}
