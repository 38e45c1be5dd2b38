//! Kernels of which nothing is known but what they compute.
//!
//! Vectors, blocks, loops from back to front, work shared between cores: everything is possible. But where element `i`
//! of the result is made from element `i` of the operand and from no other, and both lie in the very same bytes,
//! whoever writes it has read what lay there, and nobody else wants it. That holds for kernels that read each element
//! once, not for those that pass over their input again (`SOFTMAX`), nor surely where a smaller operand is broadcast: a
//! kernel may spread that over the output first. Nor does it hold for logistic and hyperbolic tangent of floats, which
//! vector libraries compute in several passes. The portable `SLICE` is the one that all sets of kernels have.

use super::call::Call;
use super::trace::Trace;
use super::{cmsis_nn, cmsis_nn_mve, copies, elementwise, reference};
use serenity_ir::ElementType;
use serenity_ir::Operator::*;

pub(super) fn play(call: &Call, trace: &mut Trace) -> Option<()> {
    match call.operator() {
        RESHAPE | SQUEEZE | EXPAND_DIMS => copies::reshape(call, trace)?,
        SLICE => return copies::slice(call, trace),
        LOGISTIC | TANH if call.dtype(0) == Some(ElementType::Float32) => return None,
        _ => in_place(call, trace)?,
    }
    // No known kernel may break it either. One that is not known does not: see above.
    for known in [reference::play, cmsis_nn::play, cmsis_nn_mve::play] {
        let mut of_kernel = Trace::at(trace.distance());
        let is_broken = known(call, &mut of_kernel).is_some() && of_kernel.lost_byte().is_some();
        if is_broken && trace.lost_byte().is_none() {
            *trace = of_kernel;
        }
    }
    trace.only_here();
    Some(())
}

/// Element by element at the very same place, in an order that is not known.
pub(super) fn in_place(call: &Call, trace: &mut Trace) -> Option<()> {
    let (input, output) = elementwise::alike(call, elementwise::read_once(call.operator())?)?;
    let is_same_place = trace.distance() == 0 && input.item == output.item;
    if !is_same_place {
        trace.lose_unless_disjoint(input.count * input.item, output.count * output.item);
    }
    trace.only_here();
    Some(())
}
