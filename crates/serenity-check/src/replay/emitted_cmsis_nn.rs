//! The kernels of emitted C that calls CMSIS-NN: a function of the library, or one of ours.
//!
//! Which of the two makes a layer is not asked: where a function of the library might be called, it is replayed. Ours
//! would read no later and write no earlier.

use super::call::Call;
use super::trace::Trace;
use super::{cmsis_nn, cmsis_nn_mve, emitted};
use serenity_ir::ElementType;
use serenity_ir::Operator::*;

pub(super) fn play(call: &Call, trace: &mut Trace) -> Option<()> {
    if may_call(call) { cmsis_nn::play(call, trace) } else { emitted::play(call, trace) }
}

pub(super) fn play_mve(call: &Call, trace: &mut Trace) -> Option<()> {
    if may_call(call) { cmsis_nn_mve::play(call, trace) } else { emitted::play(call, trace) }
}

fn may_call(call: &Call) -> bool {
    let is_known = matches!(
        call.operator(),
        CONV_2D | DEPTHWISE_CONV_2D | FULLY_CONNECTED | AVERAGE_POOL_2D | MAX_POOL_2D | ADD | MUL | SOFTMAX
    );
    is_known && call.dtype(0) == Some(ElementType::Int8)
}
