//! What the kernels that call ESP-NN on an ESP32-S3 allow; all others are the portable ones.
//!
//! They are written in assembly that was not read, so they are trusted with no more than any kernels are.

use super::safe::Pair;
use super::{any, reference};
use serenity_ir::Operator::*;
use serenity_ir::{Call, ElementType};

pub(super) fn overlaps(call: &Call) -> Option<Vec<Pair>> {
    let dtype = call.dtype(call.first_activation()?)?;
    match call.operator() {
        CONV_2D | DEPTHWISE_CONV_2D | FULLY_CONNECTED | AVERAGE_POOL_2D | MAX_POOL_2D | ADD | MUL
        | SOFTMAX
            if dtype != ElementType::Float32 =>
        {
            any::overlaps(call)
        }
        _ => reference::overlaps(call),
    }
}
