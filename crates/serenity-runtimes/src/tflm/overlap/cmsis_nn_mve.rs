//! What the kernels that call CMSIS-NN allow on cores with vectors: what they allow on others, but for depthwise
//! convolutions of many channels.
//!
//! Columns of four pixels are gathered before the first of them is written, sums and products are vectors that are
//! read, then written, and pools take 16 channels of a pixel at a time: no read is later than where it counts on other
//! cores.

use super::cmsis_nn;
use super::safe::{Pair, Safe};
use serenity_facts::CMSIS_NN_MVE_CHANNELS_AT_ONCE as CHANNELS_AT_ONCE;
use serenity_ir::Call;
use serenity_ir::Operator::DEPTHWISE_CONV_2D;

pub(super) fn overlaps(call: &Call) -> Option<Vec<Pair>> {
    let pairs = cmsis_nn::overlaps(call)?;
    let is_in_blocks = call.operator() == DEPTHWISE_CONV_2D
        && call.result(0).is_some_and(|output| output.item == 1 && output.depth() as u64 > CHANNELS_AT_ONCE);
    Some(if is_in_blocks { in_blocks(pairs) } else { pairs })
}

/// All pixels of the first block of channels are written before any of the next is read. The least safe distance is a
/// whole number of pixels, so that bytes of one channel lie over bytes of that channel alone, and blocks do not meet.
/// At other distances they would.
fn in_blocks(pairs: Vec<Pair>) -> Vec<Pair> {
    let just_there = |safe: Safe| Safe { exactly: safe.at_least, at_least: None, backwards: None };
    pairs.into_iter().map(|pair| Pair { safe: just_there(pair.safe), ..pair }).collect()
}
