//! The kernels that call CMSIS-NN, on cores with the DSP extension; all others are the portable ones.
//!
//! Read in the sources of `TensorFlow` Lite for Microcontrollers and of CMSIS-NN. Only 8-bit integers were looked at:
//! others may do what any kernels may where a kernel of CMSIS-NN runs. Floats run on the portable kernels.

use super::call::Call;
use super::copies::{Padding, Row};
use super::trace::Trace;
use super::windows::Window;
use super::{any, elementwise, reference, windows};
use serenity_ir::ElementType;
use serenity_ir::Operator::*;

pub(super) fn play(call: &Call, trace: &mut Trace) -> Option<()> {
    match call.dtype(call.first_activation()?)? {
        ElementType::Int8 if is_replaced(call) => of_bytes(call, trace),
        dtype if is_replaced(call) && dtype != ElementType::Float32 => any::in_place(call, trace),
        _ => reference::play(call, trace),
    }
}

/// Has the library a kernel for this operator?
fn is_replaced(call: &Call) -> bool {
    matches!(
        call.operator(),
        CONV_2D
            | DEPTHWISE_CONV_2D
            | TRANSPOSE_CONV
            | FULLY_CONNECTED
            | AVERAGE_POOL_2D
            | MAX_POOL_2D
            | PAD
            | PADV2
            | ADD
            | MUL
            | MAXIMUM
            | MINIMUM
            | SOFTMAX
    )
}

/// The one distance at which elements that were not looked at lie in the same place; `None` for others.
pub(super) fn own_distance(call: &Call) -> Option<u64> {
    let dtype = call.dtype(call.first_activation()?)?;
    let is_known = matches!(dtype, ElementType::Int8 | ElementType::Float32);
    (is_replaced(call) && !is_known).then_some(0)
}

fn of_bytes(call: &Call, trace: &mut Trace) -> Option<()> {
    match call.operator() {
        CONV_2D => convolution(call, trace),
        DEPTHWISE_CONV_2D => depthwise_convolution(call, trace),
        AVERAGE_POOL_2D => average_pool(call, trace),
        MAX_POOL_2D => max_pool(call, trace),
        PAD | PADV2 => pad(call, trace),
        // `ADD` and `MUL` read four elements, then write four: no read is later than one by one.
        ADD | MUL | MAXIMUM | MINIMUM => {
            elementwise::alike(call, 2)?;
            elementwise::one_by_one(call, 2, trace)
        }
        // Row by row: the largest, the sum, then each element once more before it is written. Results of 16 bits were
        // not looked at.
        SOFTMAX => {
            let (input, output) = call.only(0)?;
            (input.dtype == output.dtype).then(|| elementwise::softmax(call, trace))?
        }
        // Dense layers of many rows run as 1x1 convolutions; transposed convolutions run one of two ways, both row by row.
        _ => None,
    }
}

/// The inputs of two pixels are gathered into columns before the first of them is written. So no read is later than in
/// the portable kernel, which reads all of a pixel's input again for the last of its channels: that is replayed. 1x1
/// convolutions are matrix products that go through the whole input for every few output channels; one along a single
/// row may be one too; grouped ones go through all of it for every group; those with filters of 4 bits were not looked
/// at.
fn convolution(call: &Call, trace: &mut Trace) -> Option<()> {
    let (input, _) = call.only(0)?;
    let [_, height, _, depth] = input.dims::<4>()?;
    let [_, _, _, filter_depth] = call.shape_of(1)?[..] else { return None };
    let [rows, columns] = windows::kernel(call)?;
    let is_product = rows == 1 && (columns == 1 || height == 1);
    let is_gathered = !is_product && filter_depth == depth && has_byte_filter(call);
    is_gathered.then(|| windows::convolution(call, trace))?
}

/// Four channels are read, then four written, or all of a pixel, or one: no read is later than channel by channel. With
/// several output channels for an input channel, there are further ways that were not looked at.
fn depthwise_convolution(call: &Call, trace: &mut Trace) -> Option<()> {
    let (input, output) = call.only(0)?;
    let is_one_to_one = input.depth() == output.depth() && has_byte_filter(call);
    is_one_to_one.then(|| windows::depthwise_convolution(call, trace))?
}

fn has_byte_filter(call: &Call) -> bool {
    call.dtype(1) == Some(ElementType::Int8)
}

/// Into a column of sums for one pixel, all channels at once, then out.
fn average_pool(call: &Call, trace: &mut Trace) -> Option<()> {
    pool(call)?.whole_pixels(trace);
    Some(())
}

/// In the end, the kernel goes over its result once more: what it then reads is no input.
fn max_pool(call: &Call, trace: &mut Trace) -> Option<()> {
    pool(call)?.first_then_larger(trace);
    Some(())
}

fn pool(call: &Call) -> Option<Window> {
    let (input, output) = call.only(0)?;
    (input.depth() == output.depth()).then(|| Window::of(call, &input, &output))?
}

/// Rows of a picture are copied as blocks; pixels, if there is padding between them.
fn pad(call: &Call, trace: &mut Trace) -> Option<()> {
    let (input, _) = call.only(0)?;
    let mut padding = (input.shape.len() <= 4).then(|| Padding::of(call))??;
    if padding.keeps_depth() {
        padding.merge_last();
    }
    let item = padding.item;
    padding.rows(|row| match row {
        Row::Padding { bytes } => trace.append(bytes),
        Row::Inside { from, before, elements, after } => {
            trace.append(before);
            trace.copy(from, elements * item);
            trace.append(after);
        }
    });
    Some(())
}
