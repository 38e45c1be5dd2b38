//! Operators that shrink axes to one number, or to the best few.

use super::Call;
use super::call::one;
use super::elementwise::axis_set;
use crate::data_type::DataType;
use crate::fact::Fact;

pub(super) fn reduce(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let input = call.shape(0)?;
    let axes = call.ints_from("axes", 1).ok()?.unwrap_or_default();
    let reduced = if axes.is_empty() {
        vec![!call.is_set("noop_with_empty_axes"); input.len()]
    } else {
        axis_set(axes, input.len())?
    };
    one(call.data_type(0), shrink(input, &reduced, call.int_or("keepdims", 1) != 0))
}

pub(super) fn arg_reduce(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let input = call.shape(0)?;
    let mut reduced = vec![false; input.len()];
    reduced[call.axis(0, input.len())?] = true;
    one(Some(DataType::INT64), shrink(input, &reduced, call.int_or("keepdims", 1) != 0))
}

fn shrink(shape: &[u64], reduced: &[bool], keep: bool) -> Vec<u64> {
    let axes = shape.iter().zip(reduced);
    axes.filter(|&(_, &reduced)| keep || !reduced)
        .map(|(&size, &reduced)| if reduced { 1 } else { size })
        .collect()
}

/// The best values and where they were.
pub(super) fn top_k(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let mut shape = call.shape(0)?.to_vec();
    let axis = call.axis(-1, shape.len())?;
    let count = call.int_attribute("k").or_else(|| call.single_int(1))?;
    shape[axis] = u64::try_from(count).ok()?;
    let values = Fact::of(call.data_type(0), Some(shape.clone()));
    Some(vec![values, Fact::of(Some(DataType::INT64), Some(shape))])
}
