//! What the kernels that call CMSIS-NN allow, on cores with the DSP extension; all others are the portable ones.
//!
//! Read in the sources of `TensorFlow` Lite for Microcontrollers and of CMSIS-NN. Only 8-bit integers were looked at:
//! others overlap what they may with any kernels where a kernel of CMSIS-NN runs. Floats run on the portable kernels.

use super::safe::{Pair, Safe};
use super::{any, copies, elementwise, reference, windows};
use serenity_ir::Operator::*;
use serenity_ir::{Call, ElementType};

pub(super) fn overlaps(call: &Call) -> Option<Vec<Pair>> {
    let dtype = call.dtype(call.first_activation()?)?;
    match call.operator() {
        CONV_2D | DEPTHWISE_CONV_2D | TRANSPOSE_CONV | FULLY_CONNECTED | AVERAGE_POOL_2D | MAX_POOL_2D
        | PAD | PADV2 | ADD | MUL | MAXIMUM | MINIMUM | SOFTMAX
            if dtype != ElementType::Float32 =>
        {
            if dtype == ElementType::Int8 {
                of_bytes(call)
            } else {
                any::overlaps(call)
            }
        }
        _ => reference::overlaps(call),
    }
}

fn of_bytes(call: &Call) -> Option<Vec<Pair>> {
    match call.operator() {
        CONV_2D => convolution(call),
        DEPTHWISE_CONV_2D => depthwise_convolution(call),
        // Into a column of sums for one pixel, all channels at once, then out.
        AVERAGE_POOL_2D => windows::pool(call),
        MAX_POOL_2D => max_pool(call),
        PAD | PADV2 => pad(call),
        // Four elements are read, then four written.
        ADD | MUL if !elementwise::is_broadcast(call, 2) => Some(elementwise::front_to_back(call, 2)),
        MAXIMUM | MINIMUM => elementwise::in_place(call, 2),
        // Row by row: the largest, the sum, then each element once more before it is written.
        SOFTMAX => elementwise::in_place(call, 1),
        // Dense layers of many rows run as 1x1 convolutions; transposed convolutions run one of two ways, both row by row.
        _ => None,
    }
}

/// The inputs of two pixels are gathered into columns before the first of them is written, so reads are ahead of those
/// of the portable kernel. 1x1 convolutions are matrix products that go through the whole input for every few output
/// channels; one along a single row may be one too; grouped ones go through all of it for every group; those with
/// filters of 4 bits were not looked at.
fn convolution(call: &Call) -> Option<Vec<Pair>> {
    let (input, _) = call.input_and_output(0)?;
    let [_, height, _, depth] = input.dims()?;
    let filter_depth = call.shape(1).filter(|shape| shape.len() == 4)?[3];
    let [rows, columns] = windows::kernel(call)?;
    let is_product = rows == 1 && (columns == 1 || height == 1);
    let is_gathered = !is_product && filter_depth as i64 == depth && has_byte_filter(call);
    is_gathered.then(|| windows::convolution(call))?
}

/// Four channels are read, then four written, or all of a pixel; otherwise as in the portable kernel. With several
/// output channels for an input channel, there are further ways that were not looked at.
fn depthwise_convolution(call: &Call) -> Option<Vec<Pair>> {
    let (input, output) = call.input_and_output(0)?;
    let is_one_to_one = input.depth() == output.depth() && has_byte_filter(call);
    is_one_to_one.then(|| windows::depthwise_convolution(call))?
}

fn has_byte_filter(call: &Call) -> bool {
    call.dtype(1) == Some(ElementType::Int8)
}

/// The first pixel under the window is copied to the output, then replaced by larger ones: a pixel is written before
/// most of what it is made from is read.
fn max_pool(call: &Call) -> Option<Vec<Pair>> {
    let (_, output) = call.input_and_output(0)?;
    Some(further(windows::pool(call)?, output.depth() * output.item))
}

/// Rows are copied as blocks; pixels, if there is padding between them.
fn pad(call: &Call) -> Option<Vec<Pair>> {
    let (input, output) = call.input_and_output(0)?;
    let columns = input.shape.iter().rev().nth(1).map_or(1, |&columns| columns as i64);
    let pixels = if input.depth() == output.depth() { columns } else { 1 };
    let is_picture = input.shape.len() <= 4;
    is_picture.then(|| Some(further(copies::pad(call)?, pixels * input.depth() * input.item)))?
}

/// The pairs with `bytes` added to their least distances.
fn further(pairs: Vec<Pair>, bytes: i64) -> Vec<Pair> {
    let moved = |safe: Safe| Safe { at_least: safe.at_least.map(|least| least + bytes as u64), ..safe };
    pairs.into_iter().map(|pair| Pair { safe: moved(pair.safe), ..pair }).collect()
}
