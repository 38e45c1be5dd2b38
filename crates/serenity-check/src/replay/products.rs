//! Operators that multiply by a matrix, or scatter.

use super::call::Call;
use super::trace::{Beats, Trace};
use serenity_ir::ElementType;

/// The portable kernel makes one output after the other, row by row of the batch, and reads the whole row of the input for each.
pub(super) fn fully_connected(call: &Call, trace: &mut Trace) -> Option<()> {
    let (input, output) = call.only(0)?;
    let rows = output.count / output.depth();
    if input.count % rows != 0 {
        return None;
    }
    let length = input.count / rows * input.item;
    trace.beats(&Beats {
        reads: &[0],
        length,
        read_step: length,
        elements: output.depth(),
        item: output.item,
        count: rows,
    });
    Some(())
}

/// Quantised ones add up in scratch, and write nothing before all is read. The kernel for floats adds up in the output,
/// which it clears first.
pub(super) fn transposed_convolution(call: &Call, trace: &mut Trace) -> Option<()> {
    let (input, output) = call.only(2)?;
    if !matches!(input.dtype, ElementType::Int8 | ElementType::Int16) {
        return None;
    }
    trace.read(0, input.count * input.item);
    trace.append(output.count * output.item);
    Some(())
}
