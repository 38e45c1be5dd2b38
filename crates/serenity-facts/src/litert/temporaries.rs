//! What kernels have in the arena while they run.
//!
//! Left out is what kernels with floating-point inputs and quantised weights need to quantise their inputs ([`are_unknown`]), and what depends on
//! the number of threads: one is assumed.

use super::{LitertPlace, LitertTemporary, Operands};
use crate::scratch::reference;
use serenity_ir::Operator::*;
use serenity_ir::{Call, Described, ElementType, counted_product};

/// `sizeof(int32_t)`, `sizeof(float)`.
const WORD: u64 = 4;

/// `sizeof(int64_t)`.
const LONG: u64 = 8;

/// The requests in order, without those for 0 bytes; none where the graph does not tell.
pub(super) fn of(call: &Call, operands: &Operands, place: LitertPlace) -> Vec<LitertTemporary> {
    let requests = match call.operator() {
        BATCH_MATMUL => transposed_factors(call, operands),
        // What depends on an unknown size may be nothing.
        _ if call.op.inputs.iter().any(|&t| operands.has_unknown_size(t)) => None,
        MEAN | SUM | REDUCE_PROD | REDUCE_MAX | REDUCE_MIN | REDUCE_ALL | REDUCE_ANY => {
            reduction(call, operands, place)
        }
        ADD_N => call.described_result(0).and_then(|sum| Some(vec![bytes(&sum)?])),
        SVDF => reference::svdf(call),
        RFFT2D if place == LitertPlace::Arena => transform(call, operands),
        TFLite_Detection_PostProcess => detections(call),
        LSTM => lstm(call, call.described(0).and_then(|input| input.shape.first().copied()), 0),
        UNIDIRECTIONAL_SEQUENCE_LSTM => lstm(call, sequence_batch(call), LSTM_PADDING),
        BIDIRECTIONAL_SEQUENCE_LSTM => both_directions(call),
        _ => None,
    };
    // A constant second factor is transposed once and kept.
    let is_kept = |position| call.operator() == BATCH_MATMUL && position == 1 && operands.is_constant(1);
    let requests = requests.unwrap_or_default().into_iter().enumerate().filter(|&(_, bytes)| bytes > 0);
    let temporary = |(position, bytes)| LitertTemporary {
        bytes,
        place: if is_kept(position) { LitertPlace::Persistent } else { LitertPlace::Arena },
    };
    requests.map(temporary).collect()
}

/// Does the kernel quantise floating-point inputs to fit its weights, in memory that is not counted here?
pub(super) fn are_unknown(call: &Call) -> bool {
    let may_be_hybrid = matches!(
        call.operator(),
        BATCH_MATMUL
            | BIDIRECTIONAL_SEQUENCE_LSTM
            | BIDIRECTIONAL_SEQUENCE_RNN
            | CONV_2D
            | DEPTHWISE_CONV_2D
            | FULLY_CONNECTED
            | LSTM
            | RNN
            | SVDF
            | TRANSPOSE_CONV
            | UNIDIRECTIONAL_SEQUENCE_LSTM
            | UNIDIRECTIONAL_SEQUENCE_RNN
    );
    let is_quantized = |operand: &Described| {
        [ElementType::Int8, ElementType::UInt8, ElementType::Int4].iter().any(|dtype| operand.is(dtype))
    };
    let operands = || (0..call.operand_count()).filter_map(|position| call.described(position));
    may_be_hybrid
        && operands().any(|operand| is_quantized(&operand))
        && call.described_result(0).is_some_and(|result| result.is(&ElementType::Float32))
}

/// An index with one place a dimension, the axes counted from the front, the sums in a wide type, and once more the dimensions if
/// what is reduced is a constant.
fn reduction(call: &Call, operands: &Operands, place: LitertPlace) -> Option<Vec<u64>> {
    let input = call.described(0)?;
    let index = counted_product(&[WORD, input.rank()])?;
    let mut requests = vec![index];
    if place == LitertPlace::Folded {
        return Some(requests);
    }
    if operands.is_known(1) {
        requests.push(counted_product(&[WORD, call.described(1)?.elements()?])?);
        if matches!(call.operator(), MEAN | SUM | REDUCE_PROD) {
            let width = match input.dtype? {
                ElementType::Int32 | ElementType::Int64 => LONG,
                _ => WORD,
            };
            requests.push(counted_product(&[width, call.described_result(0)?.elements()?])?);
        }
    }
    if operands.is_known(0) {
        requests.push(index);
    }
    Some(requests)
}

/// Both factors are transposed, wanted or not.
fn transposed_factors(call: &Call, operands: &Operands) -> Option<Vec<u64>> {
    let factor = |position: usize| {
        let is_open = call.op.operand(position).is_some_and(|t| operands.has_unknown_size(t));
        if is_open { Some(0) } else { bytes(&call.described(position)?) }
    };
    Some(vec![factor(0)?, factor(1)?])
}

/// Elements a row that the sequence kernel adds, for the sake of aligned reading.
const LSTM_PADDING: u64 = 16;

fn sequence_batch(call: &Call) -> Option<u64> {
    let [slow, fast, _] = call.described(0)?.dims()?;
    Some(if call.op.flag("time_major").unwrap_or(false) { fast } else { slow })
}

/// Floating point: one buffer. Integers: a buffer a gate, one for the result before it is projected, and one for wide sums.
fn lstm(call: &Call, batch: Option<u64>, padding: u64) -> Option<Vec<u64>> {
    let (input, weights, batch) = (call.described(0)?, call.described(2)?, batch?);
    let [cells, _] = weights.dims()?;
    if input.dtype != weights.dtype {
        return None;
    }
    match input.dtype? {
        ElementType::Float32 => Some(vec![gates(call, batch, 1, padding)?]),
        ElementType::Int8 => {
            let gate = counted_product(&[2, batch, cells])?;
            Some(vec![
                gate,
                gate,
                gate,
                gate,
                counted_product(&[batch, cells])?,
                counted_product(&[WORD, batch, cells])?,
            ])
        }
        _ => None,
    }
}

/// All gates (the first of them may be left out) and a sum. The weights of the input begin at the operand `weights`.
fn gates(call: &Call, batch: u64, weights: usize, padding: u64) -> Option<u64> {
    let [cells, _] = call.described(weights + 1)?.dims()?;
    let buffers = if call.described(weights).is_some() { 5 } else { 4 };
    counted_product(&[WORD, batch, counted_product(&[cells, buffers])? + padding])
}

/// Only the first direction is padded.
fn both_directions(call: &Call) -> Option<Vec<u64>> {
    let (input, weights, batch) = (call.described(0)?, call.described(2)?, sequence_batch(call)?);
    if !input.is(&ElementType::Float32) || input.dtype != weights.dtype {
        return None;
    }
    Some(vec![gates(call, batch, 1, LSTM_PADDING)?, gates(call, batch, 18, 0)?])
}

/// Tables of the transform, a column, and all rows as pairs of numbers.
fn transform(call: &Call, operands: &Operands) -> Option<Vec<u64>> {
    let [height, width] = operands.numbers(1).or_else(|| {
        let shape = call.described_result(0)?.shape;
        let [.., height, frequencies] = shape[..] else { return None };
        Some([height, frequencies.checked_sub(1)?.checked_mul(2)?])
    })?;
    let integers = 2 + height.max(width / 2).isqrt();
    let sines = (height / 2).max(width / 4) + width / 4;
    Some(vec![
        counted_product(&[WORD, integers])?,
        counted_product(&[LONG, sines])?,
        counted_product(&[LONG, height])?,
        counted_product(&[LONG, height, width.checked_add(2)?])?,
    ])
}

/// Decoded boxes and their scores.
fn detections(call: &Call) -> Option<Vec<u64>> {
    let ([_, boxes, _], [_, rows, classes]) = (call.described(0)?.dims()?, call.described(1)?.dims()?);
    Some(vec![counted_product(&[WORD, boxes, 4])?, counted_product(&[WORD, rows, classes])?])
}

fn bytes(tensor: &Described) -> Option<u64> {
    // Kernels count elements in `int`.
    tensor.elements()?;
    tensor.dtype.as_ref()?.bytes_of(&tensor.shape)
}

/// Every figure was read off the runtime itself.
#[cfg(test)]
mod tests {
    use crate::testing::OneOp;
    use serde_json::json;
    use serenity_ir::ElementType::{Bool, Float32, Int8, Int16, Int32, Int64, UInt8};

    #[test]
    fn reductions_keep_an_index_the_axes_and_wide_sums() {
        let reduce = |kind, dtype: serenity_ir::ElementType| {
            let op = OneOp::new(kind).reads(&[2, 3, 4, 5], dtype.clone()).constant(&[2], &Int32);
            op.gives(&[2, 5], dtype).litert()
        };
        for kind in ["MEAN", "SUM", "REDUCE_PROD"] {
            assert_eq!(reduce(kind, Float32), [16, 8, 40]);
            assert_eq!(reduce(kind, Int8), [16, 8, 40]);
            assert_eq!(reduce(kind, Int16), [16, 8, 40]);
            assert_eq!(reduce(kind, Int32), [16, 8, 80]);
            assert_eq!(reduce(kind, Int64), [16, 8, 80]);
        }
        assert_eq!(reduce("SUM", UInt8), [16, 8, 40]);
        assert_eq!(reduce("REDUCE_MAX", Float32), [16, 8]);
        assert_eq!(reduce("REDUCE_ANY", Bool), [16, 8]);
        let of_a_constant = OneOp::new("MEAN").constant(&[2, 3, 4, 5], &Float32).constant(&[2], &Int32);
        assert_eq!(of_a_constant.gives(&[2, 5], Float32).litert(), [16, 8, 40, 16]);
        let unknown_axes = OneOp::new("MEAN").reads(&[2, 3, 4, 5], Float32).reads(&[2], Int32);
        assert_eq!(unknown_axes.gives(&[2, 5], Float32).litert(), [16]);
        let folded = OneOp::new("REDUCE_PROD").constant(&[3, 8], &Int32).constant(&[1], &Int32);
        assert_eq!(folded.gives(&[8], Int32).litert(), [8]);
    }

    #[test]
    fn matrix_products_transpose_both_factors_but_a_constant_one_elsewhere() {
        let left = || OneOp::new("BATCH_MATMUL").reads(&[2, 5, 4], Int16);
        assert_eq!(left().reads(&[2, 4, 7], Int16).gives(&[2, 5, 7], Int16).litert(), [80, 112]);
        assert_eq!(left().constant(&[2, 4, 7], &Int16).gives(&[2, 5, 7], Int16).litert(), [80]);
    }

    #[test]
    fn recurrent_cells_keep_their_gates() {
        let lstm = |kind, input: &[u64], has_input_gate: bool| {
            let mut op = OneOp::new(kind).reads(input, Float32).with("time_major", json!(true));
            op = if has_input_gate { op.constant(&[4, 5], &Float32) } else { op.absent() };
            op.constant(&[4, 5], &Float32).gives(&[3, 2, 4], Float32).litert()
        };
        assert_eq!(lstm("UNIDIRECTIONAL_SEQUENCE_LSTM", &[3, 2, 5], true), [288]);
        assert_eq!(lstm("UNIDIRECTIONAL_SEQUENCE_LSTM", &[3, 2, 5], false), [256]);
        assert_eq!(lstm("LSTM", &[2, 5], true), [160]);
        let mut both = OneOp::new("BIDIRECTIONAL_SEQUENCE_LSTM").reads(&[2, 3, 5], Float32);
        for _ in 1..=34 {
            both = both.constant(&[4, 5], &Float32);
        }
        assert_eq!(both.gives(&[2, 3, 8], Float32).litert(), [288, 160]);
        let quantized = OneOp::new("UNIDIRECTIONAL_SEQUENCE_LSTM").reads(&[1, 28, 28], Int8);
        let quantized = quantized.constant(&[20, 28], &Int8).constant(&[20, 28], &Int8);
        assert_eq!(quantized.gives(&[1, 28, 20], Int8).litert(), [40, 40, 40, 40, 20, 80]);
        let svdf = |dtype: serenity_ir::ElementType| {
            let op = OneOp::new("SVDF").reads(&[2, 5], dtype.clone()).constant(&[4, 5], &dtype);
            op.gives(&[2, 4], dtype).litert()
        };
        assert_eq!((svdf(Float32), svdf(Int8)), (vec![32], vec![32, 32]));
    }

    #[test]
    fn transforms_detections_and_sums_of_many() {
        let transform = |height: u64, width: u64| {
            let op = OneOp::new("RFFT2D").reads(&[3, height, width], Float32).constant(&[2], &Int32);
            op.gives(&[3, height, width / 2 + 1], Float32).litert()
        };
        assert_eq!(transform(8, 8), [16, 48, 64, 640]);
        assert_eq!(transform(1, 512), [72, 2048, 8, 4112]);
        assert_eq!(transform(16, 4), [24, 72, 128, 768]);
        let detections = OneOp::new("CUSTOM:TFLite_Detection_PostProcess")
            .reads(&[1, 50, 4], Float32)
            .reads(&[1, 50, 8], Float32);
        assert_eq!(detections.gives(&[1, 10, 4], Float32).litert(), [800, 1600]);
        let sum = OneOp::new("ADD_N").reads(&[8], Float32).reads(&[8], Float32);
        assert_eq!(sum.gives(&[8], Float32).litert(), [32]);
    }

    #[test]
    fn nothing_is_guessed() {
        assert_eq!(OneOp::new("MEAN").gives(&[8], Float32).litert(), [0; 0]);
        assert_eq!(
            OneOp::new("TRANSPOSE_CONV").reads(&[1, 4, 4, 1], Int8).gives(&[1, 8, 8, 1], Int8).litert(),
            [0; 0]
        );
        let huge = OneOp::new("BATCH_MATMUL").reads(&[1 << 40, 1], Float32).reads(&[1, 1], Float32);
        assert_eq!(huge.gives(&[1, 1], Float32).litert(), [0; 0]);
    }
}
