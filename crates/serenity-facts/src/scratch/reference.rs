//! What the portable kernels ask for.
//!
//! The list of kinds is complete for the release that the figures in the tests come from: no other kernel of that build
//! asks for scratch. Not counted: the buffers into which a build with compression unpacks compressed constants, since
//! only the model's metadata tells which those are. `BATCH_MATMUL` keeps its transposed operands for ever, which is not
//! scratch.

use serenity_ir::Operator::*;
use serenity_ir::{Call, ElementType, counted_product};

/// `sizeof(int)`, `sizeof(int32_t)`, `sizeof(float)`.
const WORD: u64 = 4;

/// `sizeof(int64_t)`.
const LONG: u64 = 8;

/// On the 64-bit machine that the figures were checked on. A microcontroller needs half of it.
const POINTER: u64 = 8;

/// The requests in order; `None` if there are none, or if the graph does not tell.
pub(crate) fn scratch(call: &Call) -> Option<Vec<u64>> {
    match call.operator() {
        CONV_2D | DEPTHWISE_CONV_2D | FULLY_CONNECTED => unpacked_filter(call),
        TRANSPOSE_CONV => transposed_convolution(call),
        MEAN | SUM => sum(call),
        REDUCE_MAX | REDUCE_MIN | REDUCE_ALL => index_and_axes(call),
        SVDF => svdf(call),
        UNIDIRECTIONAL_SEQUENCE_LSTM => lstm(call, 4),
        ADD_N => pointers(call, POINTER),
        MIRROR_PAD => strides(call),
        SignalRfft => padded_signal(call),
        TFLite_Detection_PostProcess => detections(call),
        _ => None,
    }
}

/// Filters of 4 bits are unpacked to a byte a weight.
fn unpacked_filter(call: &Call) -> Option<Vec<u64>> {
    let filter = call.described(1)?;
    filter.is(&ElementType::Int4).then(|| Some(vec![filter.elements()?]))?
}

/// Quantised ones add up in wide accumulators; old models have a narrow bias that is widened first.
pub(super) fn transposed_convolution(call: &Call) -> Option<Vec<u64>> {
    let (input, sums) = (call.described(2)?, call.described_result(0)?.elements()?);
    match input.dtype? {
        ElementType::Int8 => Some(vec![counted_product(&[WORD, sums])?]),
        ElementType::Int16 => {
            let mut requests = vec![counted_product(&[LONG, sums])?];
            if let Some(bias) = call.described(3).filter(|bias| bias.is(&ElementType::Int16)) {
                requests.push(counted_product(&[LONG, bias.elements()?])?);
            }
            Some(requests)
        }
        _ => None,
    }
}

/// Quantised ones add up in wide accumulators.
fn sum(call: &Call) -> Option<Vec<u64>> {
    let mut requests = index_and_axes(call)?;
    if matches!(call.described(0)?.dtype?, ElementType::Int8 | ElementType::Int16) {
        requests.insert(0, counted_product(&[WORD, call.described_result(0)?.elements()?])?);
    }
    Some(requests)
}

/// Every reduction walks by an index with one place a dimension, and keeps its axes counted from the front.
fn index_and_axes(call: &Call) -> Option<Vec<u64>> {
    let (input, axes) = (call.described(0)?, call.described(1)?.elements()?);
    Some(vec![counted_product(&[WORD, input.rank()])?, counted_product(&[WORD, axes])?])
}

/// The features of all filters; quantised, also the outputs before they are scaled. LiteRT's kernel asks for the same.
pub(crate) fn svdf(call: &Call) -> Option<Vec<u64>> {
    let input = call.described(0)?;
    let ([batch, _], [filters, _], [_, units]) =
        (input.dims()?, call.described(1)?.dims()?, call.described_result(0)?.dims()?);
    let features = counted_product(&[WORD, batch, filters])?;
    match input.dtype? {
        ElementType::Float32 => Some(vec![features]),
        ElementType::Int8 => Some(vec![features, counted_product(&[WORD, batch, units])?]),
        _ => None,
    }
}

/// Each of `buffers` holds one gate for all of a batch, in the type of the cell state.
pub(super) fn lstm(call: &Call, buffers: usize) -> Option<Vec<u64>> {
    let input = call.described(0)?;
    let [slow, fast, _] = input.dims()?;
    let batch = if call.op.flag("time_major").unwrap_or(false) { fast } else { slow };
    let cell = match input.dtype? {
        ElementType::Float32 => 4,
        ElementType::Int8 | ElementType::Int16 => 2,
        _ => return None,
    };
    let gate = counted_product(&[batch, call.described_result(0)?.depth()?, cell])?;
    Some(vec![gate; buffers])
}

/// Where each operand lies.
pub(super) fn pointers(call: &Call, pointer: u64) -> Option<Vec<u64>> {
    Some(vec![counted_product(&[call.operand_count() as u64, pointer])?])
}

/// How far apart neighbours are along each dimension, in the output and in the input.
fn strides(call: &Call) -> Option<Vec<u64>> {
    let strides = counted_product(&[WORD, call.described(0)?.rank()])?;
    Some(vec![strides; 2])
}

/// The signal, padded to the length of the transform. Of n real values, n/2 + 1 complex ones come out.
fn padded_signal(call: &Call) -> Option<Vec<u64>> {
    let bytes = match call.described(0)?.dtype? {
        ElementType::Int16 => 2,
        ElementType::Int32 | ElementType::Float32 => 4,
        _ => return None,
    };
    let length = match call.op.size("fft_length") {
        Some(length) => length,
        None => call.described_result(0)?.depth()?.checked_sub(2)?,
    };
    Some(vec![counted_product(&[length, bytes])?])
}

/// Decoded boxes, scores, and the lists that non-maximum suppression sorts.
fn detections(call: &Call) -> Option<Vec<u64>> {
    let ([_, boxes, _], [_, rows, columns]) = (call.described(0)?.dims()?, call.described(1)?.dims()?);
    let (kept, classes) = (call.op.size("max_detections")?, call.op.size("num_classes")?);
    let scores = counted_product(&[WORD, rows, columns])?;
    let [one, all_kept] = [counted_product(&[WORD, boxes])?, counted_product(&[WORD, boxes, kept])?];
    Some(vec![
        boxes,
        counted_product(&[WORD, boxes, 4])?,
        scores,
        one,
        one,
        all_kept,
        all_kept,
        one,
        all_kept,
        counted_product(&[WORD, boxes, kept.max(classes)])?,
        counted_product(&[WORD, boxes, kept.min(boxes)])?,
    ])
}

/// Every figure was read off the runtime itself, at the calls with which these very ops ask for scratch.
#[cfg(test)]
mod tests {
    use crate::Kernels::Reference;
    use crate::testing::assert_scratch;

    #[test]
    fn filters_of_4_bits_are_unpacked() {
        assert_scratch(
            Reference,
            &[
                ("int8[1,12,9,14] = CONV_2D int8[1,12,9,3] int4#[14,3,3,3] int32#[14]", &[378]),
                ("int8[1,12,9,14] = CONV_2D int8[1,12,9,3] int8#[14,3,3,3] int32#[14]", &[]),
                ("int8[2,5,6,10] = DEPTHWISE_CONV_2D int8[2,10,11,5] int4#[1,4,4,10]", &[160]),
                ("int8[3,17] = FULLY_CONNECTED int8[3,10] int4#[17,10]", &[170]),
            ],
        );
    }

    #[test]
    fn transposed_convolutions_add_up_in_wide_sums() {
        let narrow_bias =
            "int16[1,6,21,5] = TRANSPOSE_CONV int32#[4] int8#[5,3,2,8] int16[1,2,7,8] int16#[5]";
        assert_scratch(
            Reference,
            &[
                ("int8[1,6,5,3] = TRANSPOSE_CONV int32#[4] int8#[3,1,2,2] int8[1,6,5,2]", &[360]),
                (
                    "int16[1,12,8,9] = TRANSPOSE_CONV int32#[4] int8#[9,4,1,8] int16[1,6,4,8] int64#[9]",
                    &[6912],
                ),
                (narrow_bias, &[5040, 40]),
                ("float32[1,18,6,9] = TRANSPOSE_CONV int32#[4] int8#[9,2,1,4] float32[1,6,2,4]", &[]),
            ],
        );
    }

    /// Means and sums of integers add up in wide sums; all keep an index and their axes.
    #[test]
    fn reductions() {
        assert_scratch(
            Reference,
            &[
                ("float32[1,8,7,9] = MEAN float32[3,8,7,9] int32#[1]", &[16, 4]),
                ("uint8[9,7] = MEAN uint8[1,6,9,7] int32#[2]", &[16, 8]),
                ("int8[1,5] = MEAN int8[1,5,4,9] int32#[2]", &[20, 16, 8]),
                ("int16[1,6,1,1] = MEAN int16[3,6,8,1] int32#[3]", &[24, 16, 12]),
                ("int8[1,7,6,1] = SUM int8[9,7,6,1] int32#[1]", &[168, 16, 4]),
                ("int16[2,5,8,1] = SUM int16[2,5,8,3] int32#[1]", &[320, 16, 4]),
                ("int32[7] = SUM int32[1,7,4,6] int32#[3]", &[16, 12]),
                ("int8[4,2,9] = REDUCE_MAX int8[4,8,2,9] int32#[]", &[16, 4]),
                ("float32[1,5] = REDUCE_MAX float32[1,5,3,7] int32#[2]", &[16, 8]),
                ("int16[1,1,1,7] = REDUCE_MIN int16[2,8,6,7] int32#[3]", &[16, 12]),
                ("bool[6,1] = REDUCE_ALL bool[6,5,7,1] int32#[2]", &[16, 8]),
            ],
        );
    }

    #[test]
    fn svdf_keeps_features_and_quantised_also_outputs() {
        assert_scratch(
            Reference,
            &[
                ("float32[1,5] = SVDF float32[1,2] float32#[5,2] float32#[5,1]", &[20]),
                ("int8[2,7] = SVDF int8[2,6] int8#[21,6] int8#[21,2]", &[168, 56]),
                ("int8[1,4] = SVDF int8[1,10] int8#[8,10] int16#[8,4]", &[32, 16]),
            ],
        );
    }

    #[test]
    fn an_lstm_keeps_four_gates() {
        let time_major = [("float32", 1, 2, 15, 120), ("int8", 1, 3, 15, 90), ("int16", 2, 4, 14, 112)];
        for (dtype, slow, fast, cells, bytes) in time_major {
            let op = format!(
                "{dtype}[{slow},{fast},{cells}] = UNIDIRECTIONAL_SEQUENCE_LSTM {dtype}[{slow},{fast},6] time_major=true"
            );
            assert_scratch(Reference, &[(&op, &[bytes; 4])]);
        }
        // The MNIST example of the runtime's own repository.
        let mnist = "int8[1,28,20] = UNIDIRECTIONAL_SEQUENCE_LSTM int8[1,28,28]";
        assert_scratch(Reference, &[(mnist, &[40; 4])]);
    }

    #[test]
    fn pointers_strides_and_padded_signals() {
        assert_scratch(
            Reference,
            &[
                ("float32[1,6] = ADD_N float32[1,6] float32[1,6] float32[1,6]", &[24]),
                ("float32[1,6] = ADD_N float32[1,6] float32[1,6] float32#[1,6]", &[24]),
                ("int8[8,4,7,2,5] = MIRROR_PAD int8[7,3,5,2,4] int32#[5,2]", &[20, 20]),
                ("float32[3,130] = CUSTOM:SignalRfft float32[3,125]", &[512]),
                ("int16[3,18] = CUSTOM:SignalRfft int16[3,13]", &[32]),
                ("int32[3,514] = CUSTOM:SignalRfft int32[3,512]", &[2048]),
                ("int16[3,18] = CUSTOM:SignalRfft int16[3,13] fft_length=16", &[32]),
            ],
        );
    }

    #[test]
    fn detection_keeps_boxes_scores_and_lists() {
        let op = "float32[1,19,4] = CUSTOM:TFLite_Detection_PostProcess float32[1,12,4] float32[1,12,2] float32#[12,4]";
        let bytes = [12, 192, 96, 48, 48, 912, 912, 48, 912, 912, 576];
        let limited = format!("{op} max_detections=19 num_classes=1");
        assert_scratch(Reference, &[(&limited, &bytes), (op, &[])]);
    }

    #[test]
    fn other_kinds_need_none() {
        for kind in ["BATCH_MATMUL", "SOFTMAX", "AVERAGE_POOL_2D", "L2_NORMALIZATION", "CUSTOM:SignalWindow"]
        {
            assert_scratch(Reference, &[(&format!("int8[1,4,4] = {kind} int8[1,4,4]"), &[])]);
        }
    }

    #[test]
    fn what_is_not_known_is_not_guessed() {
        let odd =
            r#"int8[1] = MEAN int8[1,4] constants={"1":{"shape":[-2]},"x":3,"99999999999999999999":null}"#;
        let huge = format!("int8[1] = CONV_2D int8[1,1,1,1] int4#[{},2,2,1]", u64::MAX);
        assert_scratch(
            Reference,
            &[
                ("int8[1] = MEAN int8[1,4] -", &[]),
                (odd, &[]),
                (r#"int8[1] = MEAN absent=[0,0,7,"x"]"#, &[]),
                (&huge, &[]),
            ],
        );
    }
}
