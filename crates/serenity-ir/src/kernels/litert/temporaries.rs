//! What kernels have in the arena while they run.
//!
//! Left out is what kernels with floating-point inputs and quantised weights need to quantise their inputs, and what depends on the number of
//! threads: one is assumed.

use super::super::node::{Node, Operand, product};
use super::{LitertPlace, Operands};
use crate::ElementType;

/// `sizeof(int32_t)`, `sizeof(float)`.
const WORD: u64 = 4;

/// `sizeof(int64_t)`.
const LONG: u64 = 8;

/// The requests in order, without those for 0 bytes; none where the graph does not tell.
pub(super) fn of(node: &Node, operands: &Operands, place: LitertPlace) -> Vec<u64> {
    let requests = match node.kind() {
        "MEAN" | "SUM" | "REDUCE_PROD" | "REDUCE_MAX" | "REDUCE_MIN" | "REDUCE_ALL" | "REDUCE_ANY" => {
            reduction(node, operands, place)
        }
        "BATCH_MATMUL" => transposed_factors(node, operands),
        "ADD_N" => node.result(0).and_then(|sum| Some(vec![bytes(&sum)?])),
        "SVDF" => svdf(node),
        "LSTM" => lstm(node, node.operand(0).and_then(|input| input.shape.first().copied()), 0),
        "UNIDIRECTIONAL_SEQUENCE_LSTM" => lstm(node, sequence_batch(node), LSTM_PADDING),
        _ => None,
    };
    let mut requests = requests.unwrap_or_default();
    requests.retain(|&bytes| bytes > 0);
    requests
}

/// An index with one place a dimension, the axes counted from the front, the sums in a wide type, and once more the dimensions if
/// what is reduced is a constant.
fn reduction(node: &Node, operands: &Operands, place: LitertPlace) -> Option<Vec<u64>> {
    let input = node.operand(0)?;
    let index = product(&[WORD, input.rank()])?;
    let mut requests = vec![index];
    if place == LitertPlace::Folded {
        return Some(requests);
    }
    if operands.is_known(1) {
        requests.push(product(&[WORD, node.operand(1)?.elements()?])?);
        if matches!(node.kind(), "MEAN" | "SUM" | "REDUCE_PROD") {
            let width = match input.dtype? {
                ElementType::Int32 | ElementType::Int64 => LONG,
                _ => WORD,
            };
            requests.push(product(&[width, node.result(0)?.elements()?])?);
        }
    }
    if operands.is_known(0) {
        requests.push(index);
    }
    Some(requests)
}

/// Both factors are transposed, wanted or not. A constant one is transposed once and kept elsewhere.
fn transposed_factors(node: &Node, operands: &Operands) -> Option<Vec<u64>> {
    let (left, right) = (node.operand(0)?, node.operand(1)?);
    let mut requests = vec![bytes(&left)?];
    if !operands.is_constant(1) {
        requests.push(bytes(&right)?);
    }
    Some(requests)
}

/// The features of all filters; quantised, also the outputs before they are scaled.
fn svdf(node: &Node) -> Option<Vec<u64>> {
    let input = node.operand(0)?;
    let ([batch, _], [filters, _], [_, units]) =
        (input.dims()?, node.operand(1)?.dims()?, node.result(0)?.dims()?);
    let features = product(&[WORD, batch, filters])?;
    match input.dtype? {
        ElementType::Float32 => Some(vec![features]),
        ElementType::Int8 => Some(vec![features, product(&[WORD, batch, units])?]),
        _ => None,
    }
}

/// Elements a row that the sequence kernel adds, for the sake of aligned reading.
const LSTM_PADDING: u64 = 16;

fn sequence_batch(node: &Node) -> Option<u64> {
    let [slow, fast, _] = node.operand(0)?.dims()?;
    Some(if node.flag("time_major") { fast } else { slow })
}

/// Floating point: one buffer for all gates (there are three if the input gate is left out) and a sum. Integers: a buffer a gate, one for the
/// result before it is projected, and one for wide sums.
fn lstm(node: &Node, batch: Option<u64>, padding: u64) -> Option<Vec<u64>> {
    let (input, weights, batch) = (node.operand(0)?, node.operand(2)?, batch?);
    let [cells, _] = weights.dims()?;
    if input.dtype != weights.dtype {
        return None;
    }
    match input.dtype? {
        ElementType::Float32 => {
            let buffers = if node.operand(1).is_some() { 5 } else { 4 };
            let row = product(&[cells, buffers])? + padding;
            Some(vec![product(&[WORD, batch, row])?])
        }
        ElementType::Int8 => {
            let gate = product(&[2, batch, cells])?;
            Some(vec![gate, gate, gate, gate, product(&[batch, cells])?, product(&[WORD, batch, cells])?])
        }
        _ => None,
    }
}

fn bytes(tensor: &Operand) -> Option<u64> {
    // Kernels count elements in `int`.
    tensor.elements()?;
    tensor.dtype.as_ref()?.bytes_of(&tensor.shape)
}
