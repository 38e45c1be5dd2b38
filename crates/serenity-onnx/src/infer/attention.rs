//! Attention as ONNX Runtime fuses it.

use super::Call;
use crate::data_type::DataType;
use crate::fact::Fact;

/// Queries, keys and values are made of the first input by one matrix; `past` is the operand with the keys and values
/// of earlier runs.
pub(super) fn packed(call: &Call<'_, '_>, past: usize, data_type: Option<DataType>) -> Option<Vec<Fact>> {
    let &[batch, length, _] = call.shape(0)? else { return None };
    let widths = call.shape(1)?.last().copied()?;
    let value_width = match call.ints_attribute("qkv_hidden_sizes") {
        Some(widths) => u64::try_from(*widths.get(2)?).ok()?,
        None => widths / 3,
    };
    let result = Fact::of(data_type, Some(vec![batch, length, value_width]));
    let heads = u64::try_from(call.int_attribute("num_heads")?).ok()?;
    let mut present = vec![2, batch, heads, length, (widths / 3).checked_div(heads)?];
    if call.has_input(past) {
        let earlier = *call.shape(past)?.get(3)?;
        present[3] =
            if call.is_set("past_present_share_buffer") { earlier } else { earlier.checked_add(length)? };
    }
    Some(vec![result, Fact::of(data_type, Some(present))])
}

/// Queries, keys and values come one by one, each with its heads side by side.
pub(super) fn separate(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let (&[batch, length, width], &[_, keys, key_width]) = (call.shape(0)?, call.shape(1)?) else {
        return None;
    };
    let &[_, _, value_width] = call.shape(2)? else { return None };
    let heads = u64::try_from(call.int_attribute("num_heads")?).ok()?;
    let earlier = if call.has_input(6) { *call.shape(6)?.get(2)? } else { 0 };
    let keys = keys.checked_add(earlier)?;
    let fact = |shape: Vec<u64>| Fact::of(call.data_type(0), Some(shape));
    if width != key_width {
        return Some(vec![fact(vec![batch, length, value_width])]);
    }
    Some(vec![
        fact(vec![batch, length, value_width]),
        fact(vec![batch, heads, keys, key_width.checked_div(heads)?]),
        fact(vec![batch, heads, keys, value_width.checked_div(heads)?]),
    ])
}

/// Words, places and kinds become vectors, added up and normalised; then how many words there are, and the sum.
pub(super) fn embedding(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let &[batch, length] = call.shape(0)? else { return None };
    let width = *call.shape(2)?.last()?;
    let vectors = Fact::of(call.data_type(2), Some(vec![batch, length, width]));
    Some(vec![vectors.clone(), Fact::of(Some(DataType::INT32), Some(vec![batch])), vectors])
}
