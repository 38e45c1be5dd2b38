//! What the kernels that call CMSIS-NN ask for, on cores with vectors (MVE, Helium); all others are as on cores with
//! the DSP extension.
//!
//! Columns are padded to whole vectors and lie side by side in fours, and depthwise convolutions go through channels in
//! blocks of a fixed size, however few there are. Dense layers, products of matrices and SVDF want sums of their
//! weights: as scratch if TFLM is built for size, for ever if it is built for speed. The model does not tell, so they
//! count as both. Convolutions along a single row may ask for less than is counted.

use super::{cmsis_nn, reference};
use serenity_ir::Operator::*;
use serenity_ir::{Call, ElementType, counted_product};

/// So many columns are laid out side by side.
const COLUMNS: u64 = 4;

/// Bytes of a vector.
const VECTOR: u64 = 16;

/// Channels that a depthwise convolution of CMSIS-NN works on at a time on cores with vectors (MVE): for each block of
/// them, it goes over all pixels.
pub const CHANNELS_AT_ONCE: u64 = 124;

/// The requests in order; `None` if there are none, or if the graph does not tell.
pub(crate) fn scratch(call: &Call) -> Option<Vec<u64>> {
    match call.operator() {
        CONV_2D => convolution(call),
        DEPTHWISE_CONV_2D => depthwise_convolution(call),
        FULLY_CONNECTED => fully_connected(call),
        TRANSPOSE_CONV => transposed_convolution(call),
        BATCH_MATMUL => sums(call, call.described_result(0)?.depth()?),
        SVDF => svdf(call),
        AVERAGE_POOL_2D => None,
        _ => cmsis_nn::scratch(call),
    }
}

/// The inputs under the window, as columns of a matrix.
fn convolution(call: &Call) -> Option<Vec<u64>> {
    let input = call.described(0)?;
    let [_, _, _, channels] = input.dims()?;
    let [height, width] = call.kernel()?;
    let item = match input.dtype? {
        ElementType::Int8 if cmsis_nn::is_matrix_product(call, channels) => return None,
        ElementType::Int8 => 1,
        ElementType::Int16 => 2,
        _ => return None,
    };
    Some(vec![columns(&[height, width, channels, item])?])
}

/// One block of channels of four pixels, however many channels there are. Many results of a single channel are made by
/// a plain convolution, whose filter is turned round first.
fn depthwise_convolution(call: &Call) -> Option<Vec<u64>> {
    let input = call.described(0)?;
    let [batch, _, _, channels] = input.dims()?;
    let [height, width] = call.kernel()?;
    let results = call.described_result(0)?.depth()?;
    if !input.is(&ElementType::Int8) {
        return None;
    }
    if channels == 1 && results > 1 {
        let turned = counted_product(&[height, width, results])?;
        return Some(vec![columns(&[height, width])?.checked_add(turned)?]);
    }
    let is_fast = batch == 1 && results == channels && !cmsis_nn::is_dilated(call);
    is_fast.then(|| Some(vec![counted_product(&[COLUMNS, CHANNELS_AT_ONCE, height, width])?]))?
}

/// As on other cores where it runs as a convolution; otherwise the sum of each row of weights.
fn fully_connected(call: &Call) -> Option<Vec<u64>> {
    let is_packed = call.described(1)?.is(&ElementType::Int4);
    let as_convolution = cmsis_nn::scratch(call);
    if as_convolution.is_some() || is_packed {
        return as_convolution;
    }
    sums(call, call.described_result(0)?.depth()?)
}

/// As on other cores, with columns as they are here.
fn transposed_convolution(call: &Call) -> Option<Vec<u64>> {
    let mut requests = cmsis_nn::scratch(call)?;
    if let [of_columns, _turned] = &mut requests[..] {
        let [_, height, width, channels] = call.described(1)?.dims()?;
        *of_columns = columns(&[height, width, channels])?;
    }
    Some(requests)
}

/// A sum for each filter, besides what the portable kernel asks for.
fn svdf(call: &Call) -> Option<Vec<u64>> {
    let mut requests = reference::svdf(call)?;
    let [filters, _] = call.described(1)?.dims()?;
    requests.extend(sums(call, filters).unwrap_or_default());
    Some(requests)
}

/// So many sums of 32 bits, for bytes.
fn sums(call: &Call, count: u64) -> Option<Vec<u64>> {
    call.described(0)?.is(&ElementType::Int8).then(|| Some(vec![counted_product(&[4, count])?]))?
}

/// Columns of so many bytes, each padded to whole vectors.
fn columns(factors: &[u64]) -> Option<u64> {
    counted_product(&[COLUMNS, VECTOR, counted_product(factors)?.div_ceil(VECTOR)])
}

/// The figures follow from the sources.
#[cfg(test)]
mod tests {
    use crate::Kernels::CmsisNnMve;
    use crate::testing::assert_scratch;

    #[test]
    fn a_convolution_lays_out_four_columns_of_whole_vectors() {
        assert_scratch(
            CmsisNnMve,
            &[
                ("int8[1,8,8,16] = CONV_2D int8[1,8,8,3] int8#[16,3,3,3]", &[4 * 32]),
                ("int16[1,8,8,16] = CONV_2D int16[1,8,8,3] int8#[16,3,3,3]", &[4 * 64]),
                ("int8[1,8,8,16] = CONV_2D int8[1,8,8,16] int8#[16,1,1,16]", &[]),
                ("float32[1,8,8,16] = CONV_2D float32[1,8,8,3] int8#[16,3,3,3]", &[]),
            ],
        );
    }

    #[test]
    fn a_depthwise_convolution_asks_for_a_block_of_channels() {
        // The last is a plain convolution: columns of 9 bytes, and the filter.
        let rows: [(_, _, _, &[u64]); 5] = [
            (8, 8, 1, &[4 * 124 * 9]),
            (200, 200, 1, &[4 * 124 * 9]),
            (8, 8, 2, &[]),
            (8, 16, 1, &[]),
            (1, 8, 1, &[4 * 16 + 72]),
        ];
        for (channels, results, dilation, bytes) in rows {
            let op = format!(
                "int8[1,8,8,{results}] = DEPTHWISE_CONV_2D int8[1,8,8,{channels}] int8#[1,3,3,{results}] dilation=[{dilation},{dilation}]"
            );
            assert_scratch(CmsisNnMve, &[(&op, bytes)]);
        }
    }

    /// Sums of weights are wanted, and transposed convolutions turn their filter as elsewhere.
    #[test]
    fn products() {
        assert_scratch(
            CmsisNnMve,
            &[
                ("int8[6,5] = FULLY_CONNECTED int8[1,6,12] int8#[5,12]", &[20]),
                ("int8[1,6,5] = FULLY_CONNECTED int8[1,6,12] int8#[5,12]", &[40]),
                ("int8[6,5] = FULLY_CONNECTED int8[1,6,12] int4#[5,12]", &[]),
                ("int8[2,3,6] = BATCH_MATMUL int8[2,3,4] int8[2,4,6]", &[24]),
                (
                    "int8[1,10,14,6] = TRANSPOSE_CONV int32#[4] int8#[6,3,3,17] int8[1,5,7,17] stride=[2,2]",
                    &[4 * 160, 153 * 6],
                ),
            ],
        );
    }
}
