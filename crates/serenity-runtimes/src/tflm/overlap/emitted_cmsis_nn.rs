//! What C that calls CMSIS-NN allows: where a function of the library may be called, what that allows, and elsewhere
//! what the kernels of emitted C do. The library allows nothing that these do not, so it does not matter which of the
//! two makes a layer in the end.

use super::safe::Pair;
use super::{cmsis_nn, cmsis_nn_mve, emitted};
use serenity_facts::may_call_cmsis_nn as may_call;
use serenity_ir::Call;

/// On cores without vectors.
pub(super) fn overlaps(call: &Call) -> Option<Vec<Pair>> {
    if may_call(call) { cmsis_nn::overlaps(call) } else { emitted::overlaps(call) }
}

/// On cores with vectors.
pub(super) fn overlaps_mve(call: &Call) -> Option<Vec<Pair>> {
    if may_call(call) { cmsis_nn_mve::overlaps(call) } else { emitted::overlaps(call) }
}
