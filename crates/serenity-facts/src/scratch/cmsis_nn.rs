//! What the kernels that call CMSIS-NN ask for, on cores with the DSP extension; all others are the portable ones.
//!
//! Read in the sources of `TensorFlow` Lite for Microcontrollers and of CMSIS-NN. `SOFTMAX`, `SVDF`, `BATCH_MATMUL`,
//! `MAX_POOL_2D`, `TRANSPOSE` and the element-wise kernels call CMSIS-NN too, but ask for no more on these cores than
//! the portable kernels do. A build by Arm Compiler 6 would request 4 bytes per channel more in 1x1 convolutions; GCC
//! and clang request none there.

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

/// One column a pixel, unless there is a kernel for just this shape. There is one for 3x3, whose padding of at most 1
/// the format ensures.
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

/// Of more than one row, it may run as a 1x1 convolution, which wants multiplier and shift for each channel. (If the
/// model has them for each channel, which the graph does not tell, no copy is made.)
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
    use crate::Kernels::CmsisNn;
    use crate::testing::assert_scratch;

    /// Two columns are laid out, also if the kernel is known without the filter; a pointwise one is a matrix product.
    #[test]
    fn convolutions() {
        assert_scratch(
            CmsisNn,
            &[
                ("int8[1,8,8,16] = CONV_2D int8[1,8,8,3] int8#[16,3,3,3]", &[4 * 28]),
                ("int8[1,8,8,16] = CONV_2D int8[1,8,8,3] kernel=[3,3]", &[4 * 28]),
                ("int8[1,8,8,16] = CONV_2D int8[1,8,8,16] int8#[16,3,3,16]", &[4 * 144]),
                ("int16[1,8,8,16] = CONV_2D int16[1,8,8,3] int8#[16,3,3,3]", &[4 * 27]),
                ("float32[1,8,8,16] = CONV_2D float32[1,8,8,3] int8#[16,3,3,3]", &[]),
                ("int8[1,8,8,16] = CONV_2D int8[1,8,8,16] int8#[16,1,1,16]", &[]),
                ("int8[1,8,8,16] = CONV_2D int8[1,8,8,16] int8#[16,1,1,16] dilation=[1,1]", &[]),
                ("int8[1,8,8,16] = CONV_2D int8[1,8,8,16] int8#[16,1,1,16] dilation=[2,2]", &[64]),
                ("int8[1,8,8,16] = CONV_2D int8[1,8,8,16] int8#[16,1,1,4]", &[64]),
            ],
        );
    }

    #[test]
    fn a_depthwise_convolution_has_special_cases() {
        assert_scratch(
            CmsisNn,
            &[
                ("int8[1,8,8,10] = DEPTHWISE_CONV_2D int8[1,8,8,10] int8#[1,3,3,10]", &[]),
                ("int8[1,8,8,10] = DEPTHWISE_CONV_2D int8[1,8,8,10] int4#[1,3,3,10]", &[180]),
                ("int8[1,8,8,10] = DEPTHWISE_CONV_2D int8[1,8,8,10] int8#[1,5,3,10]", &[300]),
                ("int8[1,8,8,20] = DEPTHWISE_CONV_2D int8[1,8,8,10] int8#[1,5,3,20]", &[]),
                ("int8[2,8,8,10] = DEPTHWISE_CONV_2D int8[2,8,8,10] int8#[1,5,3,10]", &[]),
                ("int8[1,8,8,10] = DEPTHWISE_CONV_2D int8[1,8,8,10] int8#[1,5,3,10] dilation=[2,1]", &[]),
            ],
        );
    }

    #[test]
    fn a_dense_layer_of_many_rows_may_run_as_a_convolution() {
        assert_scratch(
            CmsisNn,
            &[
                ("int8[1,6,5] = FULLY_CONNECTED int8[1,6,12] int8#[5,12]", &[40]),
                ("int8[6,5] = FULLY_CONNECTED int8[1,6,12] int8#[5,12]", &[]),
                ("int8[1,6,5] = FULLY_CONNECTED int8[1,6,13] int8#[5,13]", &[]),
                ("int8[1,6,5] = FULLY_CONNECTED int8[1,6,12] int4#[5,12]", &[]),
            ],
        );
    }

    #[test]
    fn a_transposed_convolution_runs_one_of_two_ways() {
        let rows: [(_, _, _, &[u64]); 4] = [
            ("int8", 17, 2, &[4 * 156, 153 * 6]),
            ("int8", 16, 2, &[4 * (6 * 2 + 3) * 6 * 3]),
            ("int8", 17, 4, &[4 * (6 * 4 + 4) * 6 * 4]),
            ("int16", 17, 2, &[8 * 10 * 14 * 6]),
        ];
        for (dtype, channels, stride, bytes) in rows {
            let op = format!(
                "{dtype}[1,10,14,6] = TRANSPOSE_CONV int32#[4] int8#[6,3,3,{channels}] {dtype}[1,5,7,{channels}] stride=[{stride},{stride}]"
            );
            assert_scratch(CmsisNn, &[(&op, bytes)]);
        }
    }

    /// An average pool adds up a pixel, and a quantised LSTM keeps three gates; all others are the portable kernels.
    #[test]
    fn other_kinds() {
        assert_scratch(
            CmsisNn,
            &[
                ("int8[1,4,4,24] = AVERAGE_POOL_2D int8[1,8,8,24]", &[96]),
                ("int16[1,4,4,24] = AVERAGE_POOL_2D int16[1,8,8,24]", &[96]),
                ("float32[1,4,4,24] = AVERAGE_POOL_2D float32[1,8,8,24]", &[]),
                ("int8[1,28,20] = UNIDIRECTIONAL_SEQUENCE_LSTM int8[1,28,28]", &[40; 3]),
                ("float32[1,28,20] = UNIDIRECTIONAL_SEQUENCE_LSTM float32[1,28,28]", &[80; 4]),
                ("int8[1,5] = MEAN int8[1,5,4,9] int32#[2]", &[20, 16, 8]),
                ("int8[1,6] = ADD_N int8[1,6] int8[1,6]", &[8]),
            ],
        );
    }
}
