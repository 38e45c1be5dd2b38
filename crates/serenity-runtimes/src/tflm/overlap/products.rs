//! Operators that multiply by a matrix, or scatter.

use super::safe::{Pair, Safe, walk};
use serenity_ir::{Call, ElementType};

/// The portable kernel makes one output after the other, row by row of the batch, and reads the whole input row for each.
pub(super) fn fully_connected(call: &Call) -> Option<Vec<Pair>> {
    let (input, output) = call.input_and_output(0)?;
    let rows = output.count / output.depth();
    if input.count % rows != 0 {
        return None;
    }
    let [read_row, write_row] = [input.count / rows * input.item, output.depth() * output.item];
    let lead = write_row - output.item + walk(rows, write_row, read_row);
    Some(Safe::at_least(lead).of_operand(0))
}

/// Quantised ones add up in scratch, and write nothing before all is read. The kernel for floats adds up in the output,
/// which it clears first.
pub(super) fn transposed_convolution(call: &Call) -> Option<Vec<Pair>> {
    let (input, _) = call.input_and_output(2)?;
    let is_quantised = matches!(input.dtype, ElementType::Int8 | ElementType::Int16);
    is_quantised.then(|| Safe::at_least(0).of_operand(2))
}
