//! What kernels have in the arena while they run.
//!
//! Left out is what kernels with floating-point inputs and quantised weights need to quantise their inputs
//! ([`are_unknown`]), and what depends on the number of threads: one is assumed.

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
    use crate::testing::assert_temporaries;

    #[test]
    fn reductions_keep_an_index_the_axes_and_wide_sums() {
        for (dtype, sums) in
            [("float32", 40), ("int8", 40), ("int16", 40), ("uint8", 40), ("int32", 80), ("int64", 80)]
        {
            for kind in ["MEAN", "SUM", "REDUCE_PROD"] {
                let op = format!("{dtype}[2,5] = {kind} {dtype}[2,3,4,5] int32#[2]");
                assert_temporaries(&[(&op, &[16, 8, sums])]);
            }
        }
        assert_temporaries(&[
            ("float32[2,5] = REDUCE_MAX float32[2,3,4,5] int32#[2]", &[16, 8]),
            ("bool[2,5] = REDUCE_ANY bool[2,3,4,5] int32#[2]", &[16, 8]),
            ("float32[2,5] = MEAN float32#[2,3,4,5] int32#[2]", &[16, 8, 40, 16]),
            ("float32[2,5] = MEAN float32[2,3,4,5] int32[2]", &[16]),
            ("int32[8] = REDUCE_PROD int32#[3,8] int32#[1]", &[8]),
        ]);
    }

    /// Matrix products transpose both factors, but a constant one elsewhere.
    #[test]
    fn products_transforms_detections_and_sums_of_many() {
        assert_temporaries(&[
            ("int16[2,5,7] = BATCH_MATMUL int16[2,5,4] int16[2,4,7]", &[80, 112]),
            ("int16[2,5,7] = BATCH_MATMUL int16[2,5,4] int16#[2,4,7]", &[80]),
            ("float32[3,8,5] = RFFT2D float32[3,8,8] int32#[2]", &[16, 48, 64, 640]),
            ("float32[3,1,257] = RFFT2D float32[3,1,512] int32#[2]", &[72, 2048, 8, 4112]),
            ("float32[3,16,3] = RFFT2D float32[3,16,4] int32#[2]", &[24, 72, 128, 768]),
            (
                "float32[1,10,4] = CUSTOM:TFLite_Detection_PostProcess float32[1,50,4] float32[1,50,8]",
                &[800, 1600],
            ),
            ("float32[8] = ADD_N float32[8] float32[8]", &[32]),
        ]);
    }

    #[test]
    fn recurrent_cells_keep_their_gates() {
        let lstm = |kind: &str, input: &str, input_gate: &str, bytes: u64| {
            let op =
                format!("float32[3,2,4] = {kind} float32{input} {input_gate} float32#[4,5] time_major=true");
            assert_temporaries(&[(&op, &[bytes])]);
        };
        lstm("UNIDIRECTIONAL_SEQUENCE_LSTM", "[3,2,5]", "float32#[4,5]", 288);
        lstm("UNIDIRECTIONAL_SEQUENCE_LSTM", "[3,2,5]", "-", 256);
        lstm("LSTM", "[2,5]", "float32#[4,5]", 160);
        let weights = "float32#[4,5] ".repeat(34);
        let both = format!("float32[2,3,8] = BIDIRECTIONAL_SEQUENCE_LSTM float32[2,3,5] {weights}");
        let quantized =
            "int8[1,28,20] = UNIDIRECTIONAL_SEQUENCE_LSTM int8[1,28,28] int8#[20,28] int8#[20,28]";
        assert_temporaries(&[
            (&both, &[288, 160]),
            (quantized, &[40, 40, 40, 40, 20, 80]),
            ("float32[2,4] = SVDF float32[2,5] float32#[4,5]", &[32]),
            ("int8[2,4] = SVDF int8[2,5] int8#[4,5]", &[32, 32]),
        ]);
    }

    #[test]
    fn nothing_is_guessed() {
        let huge = format!("float32[1,1] = BATCH_MATMUL float32[{},1] float32[1,1]", 1_u64 << 40);
        assert_temporaries(&[
            ("float32[8] = MEAN", &[]),
            ("int8[1,8,8,1] = TRANSPOSE_CONV int8[1,4,4,1]", &[]),
            (&huge, &[]),
        ]);
    }
}
