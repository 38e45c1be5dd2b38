//! Recurrent layers: all states over time, then the last state, and for an LSTM the last cell.

use super::Call;
use crate::fact::Fact;

pub(super) fn infer(call: &Call<'_, '_>, outputs: usize) -> Option<Vec<Fact>> {
    let &[first, second, _] = call.shape(0)? else { return None };
    let directions = if call.text_attribute("direction") == Some("bidirectional") { 2 } else { 1 };
    let hidden = match call.int_attribute("hidden_size") {
        Some(size) => u64::try_from(size).ok()?,
        None => *call.shape(2)?.last()?,
    };
    let (all, last) = if call.is_set("layout") {
        (vec![first, second, directions, hidden], vec![first, directions, hidden])
    } else {
        (vec![first, directions, second, hidden], vec![directions, second, hidden])
    };
    let mut facts = vec![Fact::of(call.data_type(0), Some(all))];
    facts.resize(outputs, Fact::of(call.data_type(0), Some(last)));
    Some(facts)
}
