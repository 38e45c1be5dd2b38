//! What the kernels of emitted C allow. They go over rows, columns and channels from front to back as the portable ones
//! do, and where they make four channels at a time they have read all that the four are made of before they write the
//! first: no read is later than one by one, and no write earlier, so whatever distance is safe there is safe here.
//! Blocks are moved by `memmove`, and those that are where they belong are not moved.

//!
//! Convolutions of 8-bit integers have a second form that makes one pixel after the other from the last to the first.
//! It is called where the output begins above the input.

use super::safe::{Pair, Safe};
use super::{reference, windows};
use serenity_ir::Operator::{
    CONV_2D, DEPTHWISE_CONV_2D, RESIZE_BILINEAR, RESIZE_NEAREST_NEIGHBOR, TRANSPOSE_CONV,
};
use serenity_ir::{Call, ElementType};

pub(super) fn overlaps(call: &Call) -> Option<Vec<Pair>> {
    match call.operator() {
        // Gathered in an order of their own.
        RESIZE_BILINEAR | RESIZE_NEAREST_NEIGHBOR | TRANSPOSE_CONV => None,
        CONV_2D | DEPTHWISE_CONV_2D if has_second_form(call) => {
            let either_way =
                |pair: Pair| Pair { safe: Safe { backwards: windows::backwards(call), ..pair.safe }, ..pair };
            Some(reference::overlaps(call)?.into_iter().map(either_way).collect())
        }
        _ => reference::overlaps(call),
    }
}

/// One picture at a time, and no groups of channels, which have a kernel of their own.
fn has_second_form(call: &Call) -> bool {
    let sides = |operand: usize| <[u64; 4]>::try_from(call.shape(operand)?.as_slice()).ok();
    let is_int8 = [0, 1].iter().all(|&operand| call.dtype(operand) == Some(ElementType::Int8));
    let Some(([batches, _, _, depth], [_, _, _, of_filter])) = sides(0).zip(sides(1)) else { return false };
    is_int8 && batches == 1 && (call.operator() == DEPTHWISE_CONV_2D || depth == of_filter)
}
