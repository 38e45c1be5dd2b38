//! The kernels that call CMSIS-NN, on cores with vectors.
//!
//! Up to four pixels are gathered before the first of them is written, and vectors are read before they are written: no
//! read is later than on other cores, but in depthwise convolutions. These go over all pixels for one block of
//! channels, then for the next. Pools go over 16 channels of a pixel at a time, which is no later than one by one.

use super::call::Call;
use super::trace::Trace;
use super::{cmsis_nn, windows};
use serenity_ir::Operator::*;
use serenity_ir::{ElementType, Layout};

/// Channels of a block.
const BLOCK: i64 = 124;

pub(super) fn play(call: &Call, trace: &mut Trace) -> Option<()> {
    match call.operator() {
        DEPTHWISE_CONV_2D if is_in_blocks(call)? => in_blocks(call, trace),
        AVERAGE_POOL_2D if call.dtype(0) == Some(ElementType::Int8) => windows::pool(call, trace),
        _ => cmsis_nn::play(call, trace),
    }
}

/// Of more than one block, each byte of the output lies over a byte of the same channel if the two begin a whole number
/// of pixels apart. Then blocks do not meet, and each of them goes from pixel to pixel. At other distances, one block
/// may be written before another is read.
fn in_blocks(call: &Call, trace: &mut Trace) -> Option<()> {
    let (input, output) = call.only(0)?;
    if trace.distance() % output.depth() == 0 {
        cmsis_nn::play(call, trace)?;
        trace.only_here();
    } else {
        let bytes = |layout: &Layout| layout.count * layout.item;
        trace.lose_unless_disjoint(bytes(&input), bytes(&output));
    }
    Some(())
}

/// The least distance at which blocks do not meet; `None` if there is but one block.
pub(super) fn own_distance(call: &Call) -> Option<u64> {
    if call.operator() != DEPTHWISE_CONV_2D || !is_in_blocks(call)? {
        return None;
    }
    let mut trace = Trace::at(0);
    cmsis_nn::play(call, &mut trace)?;
    let lead = trace.lead().and_then(|lead| u64::try_from(lead).ok())?;
    Some(lead.next_multiple_of(call.output()?.depth().try_into().ok()?))
}

fn is_in_blocks(call: &Call) -> Option<bool> {
    let output = call.output()?;
    Some(output.item == 1 && output.depth() > BLOCK)
}
