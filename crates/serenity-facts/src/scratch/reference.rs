//! What the portable kernels ask for.
//!
//! The list of kinds is complete for the release that the figures in the tests come from: no other kernel of that build asks for
//! scratch. Not counted: the buffers into which a build with compression unpacks compressed constants, since only the model's metadata
//! tells which those are. `BATCH_MATMUL` keeps its transposed operands for ever, which is not scratch.

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
    use crate::testing::OneOp;
    use serde_json::json;
    use serenity_ir::ElementType::{self, Bool, Float32, Int4, Int8, Int16, Int32, Int64, UInt8};

    #[test]
    fn filters_of_4_bits_are_unpacked() {
        let conv = |filter| {
            let op = OneOp::new("CONV_2D").reads(&[1, 12, 9, 3], Int8).constant(&[14, 3, 3, 3], &filter);
            op.constant(&[14], &Int32).gives(&[1, 12, 9, 14], Int8).reference()
        };
        assert_eq!(conv(Int4), [378]);
        assert_eq!(conv(Int8), [0; 0]);
        let depthwise =
            OneOp::new("DEPTHWISE_CONV_2D").reads(&[2, 10, 11, 5], Int8).constant(&[1, 4, 4, 10], &Int4);
        assert_eq!(depthwise.gives(&[2, 5, 6, 10], Int8).reference(), [160]);
        let dense = OneOp::new("FULLY_CONNECTED").reads(&[3, 10], Int8).constant(&[17, 10], &Int4);
        assert_eq!(dense.gives(&[3, 17], Int8).reference(), [170]);
    }

    #[test]
    fn transposed_convolutions_add_up_in_wide_sums() {
        let op = |dtype: ElementType, shape: [u64; 4], filter: [u64; 4], output: [u64; 4]| {
            let op = OneOp::new("TRANSPOSE_CONV").constant(&[4], &Int32).constant(&filter, &Int8);
            op.reads(&shape, dtype.clone()).gives(&output, dtype)
        };
        let bytes = op(Int8, [1, 6, 5, 2], [3, 1, 2, 2], [1, 6, 5, 3]);
        assert_eq!(bytes.reference(), [360]);
        let words = op(Int16, [1, 6, 4, 8], [9, 4, 1, 8], [1, 12, 8, 9]).constant(&[9], &Int64);
        assert_eq!(words.reference(), [6912]);
        let narrow_bias = op(Int16, [1, 2, 7, 8], [5, 3, 2, 8], [1, 6, 21, 5]).constant(&[5], &Int16);
        assert_eq!(narrow_bias.reference(), [5040, 40]);
        let float = op(Float32, [1, 6, 2, 4], [9, 2, 1, 4], [1, 18, 6, 9]);
        assert_eq!(float.reference(), [0; 0]);
    }

    fn reduction(
        kind: &'static str,
        dtype: ElementType,
        shape: &[u64],
        axes: &[u64],
        output: &[u64],
    ) -> Vec<u64> {
        let op = OneOp::new(kind).reads(shape, dtype.clone()).constant(axes, &Int32);
        op.gives(output, dtype).reference()
    }

    #[test]
    fn means_and_sums_of_integers_add_up_in_wide_sums() {
        assert_eq!(reduction("MEAN", Float32, &[3, 8, 7, 9], &[1], &[1, 8, 7, 9]), [16, 4]);
        assert_eq!(reduction("MEAN", UInt8, &[1, 6, 9, 7], &[2], &[9, 7]), [16, 8]);
        assert_eq!(reduction("MEAN", Int8, &[1, 5, 4, 9], &[2], &[1, 5]), [20, 16, 8]);
        assert_eq!(reduction("MEAN", Int16, &[3, 6, 8, 1], &[3], &[1, 6, 1, 1]), [24, 16, 12]);
        assert_eq!(reduction("SUM", Int8, &[9, 7, 6, 1], &[1], &[1, 7, 6, 1]), [168, 16, 4]);
        assert_eq!(reduction("SUM", Int16, &[2, 5, 8, 3], &[1], &[2, 5, 8, 1]), [320, 16, 4]);
        assert_eq!(reduction("SUM", Int32, &[1, 7, 4, 6], &[3], &[7]), [16, 12]);
    }

    #[test]
    fn reductions_keep_an_index_and_their_axes() {
        assert_eq!(reduction("REDUCE_MAX", Int8, &[4, 8, 2, 9], &[], &[4, 2, 9]), [16, 4]);
        assert_eq!(reduction("REDUCE_MAX", Float32, &[1, 5, 3, 7], &[2], &[1, 5]), [16, 8]);
        assert_eq!(reduction("REDUCE_MIN", Int16, &[2, 8, 6, 7], &[3], &[1, 1, 1, 7]), [16, 12]);
        assert_eq!(reduction("REDUCE_ALL", Bool, &[6, 5, 7, 1], &[2], &[6, 1]), [16, 8]);
    }

    #[test]
    fn svdf_keeps_features_and_quantised_also_outputs() {
        let float = OneOp::new("SVDF").reads(&[1, 2], Float32).constant(&[5, 2], &Float32);
        assert_eq!(float.constant(&[5, 1], &Float32).gives(&[1, 5], Float32).reference(), [20]);
        let bytes = OneOp::new("SVDF").reads(&[2, 6], Int8).constant(&[21, 6], &Int8);
        assert_eq!(bytes.constant(&[21, 2], &Int8).gives(&[2, 7], Int8).reference(), [168, 56]);
        let wide_state = OneOp::new("SVDF").reads(&[1, 10], Int8).constant(&[8, 10], &Int8);
        assert_eq!(wide_state.constant(&[8, 4], &Int16).gives(&[1, 4], Int8).reference(), [32, 16]);
    }

    #[test]
    fn an_lstm_keeps_four_gates() {
        let op = |dtype: ElementType, shape: [u64; 3], output: [u64; 3]| {
            OneOp::new("UNIDIRECTIONAL_SEQUENCE_LSTM").reads(&shape, dtype.clone()).gives(&output, dtype)
        };
        let time_major = |op: OneOp| op.with("time_major", json!(true)).reference();
        assert_eq!(time_major(op(Float32, [1, 2, 8], [1, 2, 15])), [120; 4]);
        assert_eq!(time_major(op(Int8, [1, 3, 6], [1, 3, 15])), [90; 4]);
        assert_eq!(time_major(op(Int16, [2, 4, 1], [2, 4, 14])), [112; 4]);
        // The MNIST example of the runtime's own repository.
        assert_eq!(op(Int8, [1, 28, 28], [1, 28, 20]).reference(), [40; 4]);
    }

    #[test]
    fn add_n_keeps_a_pointer_to_each_operand() {
        let pieces = |count| (0..count).fold(OneOp::new("ADD_N"), |op, _| op.reads(&[1, 6], Float32));
        assert_eq!(pieces(3).gives(&[1, 6], Float32).reference(), [24]);
        assert_eq!(pieces(2).constant(&[1, 6], &Float32).gives(&[1, 6], Float32).reference(), [24]);
    }

    #[test]
    fn mirror_padding_keeps_strides_of_both_sides() {
        let op = OneOp::new("MIRROR_PAD").reads(&[7, 3, 5, 2, 4], Int8).constant(&[5, 2], &Int32);
        assert_eq!(op.gives(&[8, 4, 7, 2, 5], Int8).reference(), [20, 20]);
    }

    #[test]
    fn a_fourier_transform_pads_its_input() {
        let op = |dtype: ElementType, length, output| {
            OneOp::new("CUSTOM:SignalRfft").reads(&[3, length], dtype.clone()).gives(&[3, output], dtype)
        };
        assert_eq!(op(Float32, 125, 130).reference(), [512]);
        assert_eq!(op(Int16, 13, 18).reference(), [32]);
        assert_eq!(op(Int32, 512, 514).reference(), [2048]);
        assert_eq!(op(Int16, 13, 18).with("fft_length", json!(16)).reference(), [32]);
    }

    #[test]
    fn detection_keeps_boxes_scores_and_lists() {
        let op = || {
            let op = OneOp::new("CUSTOM:TFLite_Detection_PostProcess").reads(&[1, 12, 4], Float32);
            op.reads(&[1, 12, 2], Float32).constant(&[12, 4], &Float32).gives(&[1, 19, 4], Float32)
        };
        assert_eq!(
            op().with("max_detections", json!(19)).with("num_classes", json!(1)).reference(),
            [12, 192, 96, 48, 48, 912, 912, 48, 912, 912, 576]
        );
        assert_eq!(op().reference(), [0; 0]);
    }

    #[test]
    fn other_kinds_need_none() {
        for kind in ["BATCH_MATMUL", "SOFTMAX", "AVERAGE_POOL_2D", "L2_NORMALIZATION", "CUSTOM:SignalWindow"]
        {
            assert_eq!(OneOp::new(kind).reads(&[1, 4, 4], Int8).gives(&[1, 4, 4], Int8).reference(), [0; 0]);
        }
    }

    #[test]
    fn what_is_not_known_is_not_guessed() {
        let absent_axes = OneOp::new("MEAN").reads(&[1, 4], Int8).absent().gives(&[1], Int8);
        assert_eq!(absent_axes.reference(), [0; 0]);
        let odd = json!({"1": {"shape": [-2]}, "x": 3, "99999999999999999999": null});
        let odd_constants = OneOp::new("MEAN").reads(&[1, 4], Int8).with("constants", odd);
        assert_eq!(odd_constants.gives(&[1], Int8).reference(), [0; 0]);
        assert_eq!(OneOp::new("MEAN").with("absent", json!([0, 0, 7, "x"])).reference(), [0; 0]);
        let huge = OneOp::new("CONV_2D").reads(&[1, 1, 1, 1], Int8).constant(&[u64::MAX, 2, 2, 1], &Int4);
        assert_eq!(huge.gives(&[1], Int8).reference(), [0; 0]);
    }
}
