//! What the kernels of emitted C allow. They go over rows, columns and channels from front to back as the portable ones do, and where they make four channels at a time they have read all that the
//! four are made of before they write the first: no read is later than one by one, and no write earlier, so whatever distance is safe there is safe here. Blocks are moved by `memmove`, and those that are
//! where they belong are not moved.

use super::reference;
use super::safe::Pair;
use serenity_ir::Call;
use serenity_ir::Operator::{RESIZE_BILINEAR, RESIZE_NEAREST_NEIGHBOR};

pub(in crate::tflm) fn overlaps(call: &Call) -> Option<Vec<Pair>> {
    match call.operator() {
        // Gathered in an order of their own.
        RESIZE_BILINEAR | RESIZE_NEAREST_NEIGHBOR => None,
        _ => reference::overlaps(call),
    }
}
