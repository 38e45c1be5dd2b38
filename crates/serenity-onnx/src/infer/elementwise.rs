//! Operators whose output has the shape of an input, or the shape that several inputs broadcast to.

use super::Call;
use super::call::{axis_index, one};
use super::loading::{FIRST_OPEN, NOTHING};
use crate::data_type::DataType;
use crate::fact::Fact;

/// The first output is shaped like the first input, and of its type unless another is given.
pub(super) fn like_first(call: &Call<'_, '_>, data_type: Option<DataType>) -> Option<Vec<Fact>> {
    let input = call.input(0)?;
    Some(vec![Fact::of(data_type.or(input.data_type), input.shape.clone())])
}

/// What the inputs from `first` on broadcast to.
pub(super) fn broadcast(call: &Call<'_, '_>, data_type: Option<DataType>, first: usize) -> Option<Vec<Fact>> {
    if call.opset < 7 {
        // Before version 7 only the second input could be stretched.
        return like_first(call, data_type);
    }
    let mut shape = Vec::new();
    for position in first..call.input_count() {
        shape = broadcast_shapes(&shape, call.shape(position)?)?;
    }
    one(data_type, shape)
}

/// The shape that two shapes broadcast to.
pub(super) fn broadcast_shapes(a: &[u64], b: &[u64]) -> Option<Vec<u64>> {
    let (long, short) = if a.len() < b.len() { (b, a) } else { (a, b) };
    let mut shape = long.to_vec();
    for (size, &other) in shape.iter_mut().rev().zip(short.iter().rev()) {
        *size = match (*size, other) {
            (x, y) if x == y => x,
            (1, y) => y,
            (x, 1) => x,
            // Of two sizes that differ in that one is not known, that is what the other is.
            (x, y) if x < FIRST_OPEN && y >= FIRST_OPEN => x,
            (x, y) if x >= FIRST_OPEN && y < FIRST_OPEN => y,
            (x, y) if x >= FIRST_OPEN && y >= FIRST_OPEN => NOTHING,
            _ => return None,
        };
    }
    Some(shape)
}

pub(super) fn expand(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let target: Option<Vec<u64>> = call.ints(1)?.iter().map(|&d| u64::try_from(d).ok()).collect();
    one(call.data_type(0), broadcast_shapes(call.shape(0)?, &target?)?)
}

/// The second output says what was kept.
pub(super) fn dropout(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let input = call.input(0)?;
    let mask_type = if call.opset < 10 { input.data_type } else { Some(DataType::BOOL) };
    let shape = || input.shape.clone();
    Some(vec![Fact::of(input.data_type, shape()), Fact::of(mask_type, shape())])
}

/// In training there are statistics beside the result, each one number per channel.
pub(super) fn batch_normalization(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let mut facts = like_first(call, None)?;
    let statistics = Fact::of(call.data_type(3), call.shape(3).map(<[u64]>::to_vec));
    facts.resize(call.output_count().clamp(1, 5), statistics);
    Some(facts)
}

/// Mean and inverse deviation keep the axes before `axis`.
pub(super) fn layer_normalization(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let mut facts = like_first(call, None)?;
    let mut shape = call.shape(0)?.to_vec();
    let axis = call.axis(-1, shape.len())?;
    shape[axis..].fill(1);
    let data_type = DataType::from_number(call.int_or("stash_type", 1));
    facts.resize(3, Fact::of(data_type, Some(shape)));
    Some(facts)
}

/// After the result, statistics of the last axis for training, and at last what was normalised: the sum of inputs and bias.
pub(super) fn skip_normalization(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let mut shape = call.shape(0)?.to_vec();
    *shape.last_mut()? = 1;
    let statistics = Fact::of(Some(DataType::FLOAT), Some(shape));
    let like_input = like_first(call, None)?.pop()?;
    Some(vec![like_input.clone(), statistics.clone(), statistics, like_input])
}

/// The type is that of the zero point, or the attribute's, or unsigned bytes.
pub(super) fn quantize(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let data_type = if call.has_input(2) {
        call.data_type(2)
    } else {
        call.type_attribute("output_dtype").or(Some(DataType::UINT8))
    };
    Some(vec![Fact::of(data_type, call.input(0)?.shape.clone())])
}

pub(super) fn dynamic_quantize(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let scalar = |data_type| Fact::of(Some(data_type), Some(Vec::new()));
    let quantized = Fact::of(Some(DataType::UINT8), call.input(0)?.shape.clone());
    Some(vec![quantized, scalar(DataType::FLOAT), scalar(DataType::UINT8)])
}

/// Distinct axes as positions.
pub(super) fn axis_set(axes: &[i64], rank: usize) -> Option<Vec<bool>> {
    let mut set = vec![false; rank];
    for &axis in axes {
        set[axis_index(axis, rank)?] = true;
    }
    Some(set)
}
