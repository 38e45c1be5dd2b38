//! What the kernels that call CMSIS-NN ask for, on cores with the DSP extension; all others are the portable ones.
//!
//! Read in the sources of `TensorFlow` Lite for Microcontrollers and of CMSIS-NN. `SOFTMAX`, `SVDF`, `BATCH_MATMUL`, `MAX_POOL_2D`,
//! `TRANSPOSE` and the element-wise kernels call CMSIS-NN too, but ask for no more on these cores than the portable kernels do.
//! A build by Arm Compiler 6 would request 4 bytes per channel more in 1x1 convolutions; GCC and clang request none
//! there.

use super::reference;
use serenity_ir::Operator::*;
use serenity_ir::{Call, ElementType, counted_product};

/// These cores have 32 bits.
const POINTER: u64 = 4;

/// Two columns of 16-bit values are laid out side by side.
const COLUMN_PAIR: u64 = 2 * 2;

/// Up to this many input channels, a transposed convolution is not worth turning into a plain one.
const FEW_CHANNELS: u64 = 16;

/// The requests in order; `None` if there are none, or if the graph does not tell.
pub(crate) fn scratch(call: &Call) -> Option<Vec<u64>> {
    match call.operator() {
        CONV_2D => convolution(call),
        DEPTHWISE_CONV_2D => depthwise_convolution(call),
        FULLY_CONNECTED => fully_connected(call),
        TRANSPOSE_CONV => transposed_convolution(call),
        AVERAGE_POOL_2D => average_pool(call),
        UNIDIRECTIONAL_SEQUENCE_LSTM => lstm(call),
        ADD_N => reference::pointers(call, POINTER),
        _ => reference::scratch(call),
    }
}

/// The inputs under the window, as columns of a matrix. Filters of 4 bits get the buffer of those of 8.
fn convolution(call: &Call) -> Option<Vec<u64>> {
    let input = call.described(0)?;
    let [_, _, _, channels] = input.dims()?;
    let [height, width] = call.kernel()?;
    let column = counted_product(&[height, width, channels])?;
    match input.dtype? {
        ElementType::Int8 => (!is_matrix_product(call, channels)).then(|| columns(column))?,
        ElementType::Int16 => Some(vec![counted_product(&[COLUMN_PAIR, column])?]),
        _ => None,
    }
}

/// One column a pixel, unless there is a kernel for just this shape. There is one for 3x3, whose padding of at most 1 the format ensures.
fn depthwise_convolution(call: &Call) -> Option<Vec<u64>> {
    let (input, filter) = (call.described(0)?, call.described(1));
    let [batch, _, _, channels] = input.dims()?;
    let kernel @ [height, width] = call.kernel()?;
    let is_fast = input.is(&ElementType::Int8)
        && batch == 1
        && call.described_result(0)?.depth()? == channels
        && !is_dilated(call);
    let is_packed = filter.is_some_and(|filter| filter.is(&ElementType::Int4));
    if !is_fast || (kernel == [3, 3] && !is_packed) {
        return None;
    }
    Some(vec![counted_product(&[2, channels, height, width])?])
}

/// Of more than one row, it may run as a 1x1 convolution, which wants multiplier and shift for each channel. (If the model has them for
/// each channel, which the graph does not tell, no copy is made.)
fn fully_connected(call: &Call) -> Option<Vec<u64>> {
    let (input, filter, output) = (call.described(0)?, call.described(1)?, call.described_result(0)?);
    let is_convolution = input.is(&ElementType::Int8)
        && !filter.is(&ElementType::Int4)
        && output.rank() > 2
        && filter.depth()?.is_multiple_of(4);
    is_convolution.then(|| Some(vec![counted_product(&[2 * 4, output.depth()?])?]))?
}

/// With small strides and many channels a plain convolution with the filter turned round, otherwise rows of 32-bit sums.
fn transposed_convolution(call: &Call) -> Option<Vec<u64>> {
    let input = call.described(2)?;
    if !input.is(&ElementType::Int8) {
        return reference::transposed_convolution(call);
    }
    let [_, _, input_width, channels] = input.dims()?;
    let [outputs, height, width, _] = call.described(1)?.dims()?;
    let [down, across] = call.op.pair("stride")?;
    if down <= 2 && across <= 2 && channels > FEW_CHANNELS {
        let column = counted_product(&[height, width, channels])?;
        let mut requests = columns(column)?;
        requests.push(counted_product(&[column, outputs])?);
        return Some(requests);
    }
    // The library compares the window's width with the vertical stride: so it is, and so it is counted.
    let row = counted_product(&[input_width.checked_sub(1)?, across])?.checked_add(width.max(down))?;
    Some(vec![counted_product(&[4, row, outputs, height.max(down)])?])
}

/// A 32-bit sum for each channel.
fn average_pool(call: &Call) -> Option<Vec<u64>> {
    let input = call.described(0)?;
    let [_, _, _, channels] = input.dims()?;
    match input.dtype? {
        ElementType::Int8 | ElementType::Int16 => Some(vec![counted_product(&[4, channels])?]),
        _ => None,
    }
}

/// Quantised ones do without the fourth buffer.
fn lstm(call: &Call) -> Option<Vec<u64>> {
    let is_float = call.described(0)?.is(&ElementType::Float32);
    reference::lstm(call, if is_float { 4 } else { 3 })
}

/// A pair of columns, each of a length that is a multiple of 4.
fn columns(column: u64) -> Option<Vec<u64>> {
    Some(vec![counted_product(&[COLUMN_PAIR, 4, column.div_ceil(4)])?])
}

/// Does a convolution of bytes see one pixel at a time, with all its channels?
pub(super) fn is_matrix_product(call: &Call, channels: u64) -> bool {
    call.kernel() == Some([1, 1]) && !is_dilated(call) && !is_grouped(call, channels)
}

pub(super) fn is_dilated(call: &Call) -> bool {
    call.op.pair("dilation").is_some_and(|dilation| dilation != [1, 1])
}

/// Does each filter see only some of the channels?
fn is_grouped(call: &Call, channels: u64) -> bool {
    call.described(1).and_then(|filter| filter.depth()).is_some_and(|depth| depth != channels)
}

/// The figures follow from the sources; the runtime at hand has the portable kernels.
#[cfg(test)]
mod tests {
    use crate::testing::OneOp;
    use serde_json::json;
    use serenity_ir::ElementType::{self, Float32, Int4, Int8, Int16, Int32};

    fn conv(dtype: ElementType, channels: u64, kernel: [u64; 2]) -> OneOp {
        let op = OneOp::new("CONV_2D").reads(&[1, 8, 8, channels], dtype.clone());
        op.constant(&[16, kernel[0], kernel[1], channels], &Int8).gives(&[1, 8, 8, 16], dtype)
    }

    #[test]
    fn a_convolution_lays_out_two_columns() {
        assert_eq!(conv(Int8, 3, [3, 3]).cmsis_nn(), [4 * 28]);
        assert_eq!(conv(Int8, 16, [3, 3]).cmsis_nn(), [4 * 144]);
        assert_eq!(conv(Int16, 3, [3, 3]).cmsis_nn(), [4 * 27]);
        assert_eq!(conv(Float32, 3, [3, 3]).cmsis_nn(), [0; 0]);
    }

    #[test]
    fn a_pointwise_convolution_is_a_matrix_product() {
        assert_eq!(conv(Int8, 16, [1, 1]).cmsis_nn(), [0; 0]);
        assert_eq!(conv(Int8, 16, [1, 1]).with("dilation", json!([1, 1])).cmsis_nn(), [0; 0]);
        assert_eq!(conv(Int8, 16, [1, 1]).with("dilation", json!([2, 2])).cmsis_nn(), [64]);
        let grouped = OneOp::new("CONV_2D").reads(&[1, 8, 8, 16], Int8).constant(&[16, 1, 1, 4], &Int8);
        assert_eq!(grouped.gives(&[1, 8, 8, 16], Int8).cmsis_nn(), [64]);
    }

    #[test]
    fn the_kernel_may_be_known_without_the_filter() {
        let op = OneOp::new("CONV_2D").reads(&[1, 8, 8, 3], Int8).gives(&[1, 8, 8, 16], Int8);
        assert_eq!(op.with("kernel", json!([3, 3])).cmsis_nn(), [4 * 28]);
    }

    #[test]
    fn a_depthwise_convolution_has_special_cases() {
        let op = |batch, filter, kernel: [u64; 2], outputs| {
            let op = OneOp::new("DEPTHWISE_CONV_2D").reads(&[batch, 8, 8, 10], Int8);
            op.constant(&[1, kernel[0], kernel[1], outputs], &filter).gives(&[batch, 8, 8, outputs], Int8)
        };
        assert_eq!(op(1, Int8, [3, 3], 10).cmsis_nn(), [0; 0]);
        assert_eq!(op(1, Int4, [3, 3], 10).cmsis_nn(), [180]);
        assert_eq!(op(1, Int8, [5, 3], 10).cmsis_nn(), [300]);
        assert_eq!(op(1, Int8, [5, 3], 20).cmsis_nn(), [0; 0]);
        assert_eq!(op(2, Int8, [5, 3], 10).cmsis_nn(), [0; 0]);
        assert_eq!(op(1, Int8, [5, 3], 10).with("dilation", json!([2, 1])).cmsis_nn(), [0; 0]);
    }

    #[test]
    fn a_dense_layer_of_many_rows_may_run_as_a_convolution() {
        let op = |filter, depth, output: &[u64]| {
            OneOp::new("FULLY_CONNECTED")
                .reads(&[1, 6, depth], Int8)
                .constant(&[5, depth], &filter)
                .gives(output, Int8)
        };
        assert_eq!(op(Int8, 12, &[1, 6, 5]).cmsis_nn(), [40]);
        assert_eq!(op(Int8, 12, &[6, 5]).cmsis_nn(), [0; 0]);
        assert_eq!(op(Int8, 13, &[1, 6, 5]).cmsis_nn(), [0; 0]);
        assert_eq!(op(Int4, 12, &[1, 6, 5]).cmsis_nn(), [0; 0]);
    }

    #[test]
    fn a_transposed_convolution_runs_one_of_two_ways() {
        let op = |dtype: ElementType, channels, stride| {
            let op =
                OneOp::new("TRANSPOSE_CONV").constant(&[4], &Int32).constant(&[6, 3, 3, channels], &Int8);
            let op = op.reads(&[1, 5, 7, channels], dtype.clone()).gives(&[1, 10, 14, 6], dtype);
            op.with("stride", json!([stride, stride])).cmsis_nn()
        };
        assert_eq!(op(Int8, 17, 2), [4 * 156, 153 * 6]);
        assert_eq!(op(Int8, 16, 2), [4 * (6 * 2 + 3) * 6 * 3]);
        assert_eq!(op(Int8, 17, 4), [4 * (6 * 4 + 4) * 6 * 4]);
        assert_eq!(op(Int16, 17, 2), [8 * 10 * 14 * 6]);
    }

    #[test]
    fn an_average_pool_adds_up_a_pixel() {
        let op = |dtype: ElementType| {
            OneOp::new("AVERAGE_POOL_2D").reads(&[1, 8, 8, 24], dtype.clone()).gives(&[1, 4, 4, 24], dtype)
        };
        assert_eq!(op(Int8).cmsis_nn(), [96]);
        assert_eq!(op(Int16).cmsis_nn(), [96]);
        assert_eq!(op(Float32).cmsis_nn(), [0; 0]);
    }

    #[test]
    fn a_quantised_lstm_keeps_three_gates() {
        let op = |dtype: ElementType| {
            let op = OneOp::new("UNIDIRECTIONAL_SEQUENCE_LSTM").reads(&[1, 28, 28], dtype.clone());
            op.gives(&[1, 28, 20], dtype).cmsis_nn()
        };
        assert_eq!(op(Int8), [40; 3]);
        assert_eq!(op(Float32), [80; 4]);
    }

    #[test]
    fn all_others_are_the_portable_kernels() {
        let mean = OneOp::new("MEAN").reads(&[1, 5, 4, 9], Int8).constant(&[2], &Int32).gives(&[1, 5], Int8);
        assert_eq!(mean.cmsis_nn(), [20, 16, 8]);
        let sum = OneOp::new("ADD_N").reads(&[1, 6], Int8).reads(&[1, 6], Int8).gives(&[1, 6], Int8);
        assert_eq!(sum.cmsis_nn(), [8]);
    }
}
