//! The kernels of emitted C, kind by kind.
//!
//! Each says in its own file in which order it reads and writes. Convolutions, depthwise ones and dense layers make
//! four channels of a pixel at a time: they read what all four are made of, then write the four. Played one by one, as
//! the portable kernels are, no read comes earlier than it really does and no write later, so what is safe there is
//! safe here. Blocks are moved as a whole, a row of padding after the row was read; everything else goes element by
//! element from front to back.

use super::call::Call;
use super::reference;
use super::trace::Trace;
use serenity_ir::Operator::{RESIZE_BILINEAR, RESIZE_NEAREST_NEIGHBOR, TRANSPOSE_CONV};

pub(super) fn play(call: &Call, trace: &mut Trace) -> Option<()> {
    match call.operator() {
        // Gathered in an order of their own.
        RESIZE_BILINEAR | RESIZE_NEAREST_NEIGHBOR | TRANSPOSE_CONV => None,
        _ => reference::play(call, trace),
    }
}
