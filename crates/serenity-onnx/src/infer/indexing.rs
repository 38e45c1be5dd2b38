//! Operators that pick elements by number, and those that make tensors out of nothing.

use super::Call;
use super::call::one;
use crate::data_type::DataType;
use crate::fact::{Fact, Values};
use crate::proto::{AttributeValue, MOST_VALUES};

pub(super) fn gather(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let (data, indices) = (call.shape(0)?, call.shape(1)?);
    let axis = call.axis(0, data.len())?;
    one(call.data_type(0), [&data[..axis], indices, &data[axis + 1..]].concat())
}

pub(super) fn gather_elements(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    one(call.data_type(0), call.shape(1)?.to_vec())
}

pub(super) fn gather_nd(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let (data, indices) = (call.shape(0)?, call.shape(1)?);
    let (&depth, places) = indices.split_last()?;
    let batch = usize::try_from(call.int_or("batch_dims", 0)).ok()?;
    let rest = data.get(batch.checked_add(usize::try_from(depth).ok()?)?..)?;
    one(call.data_type(0), [places, rest].concat())
}

pub(super) fn one_hot(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let mut shape = call.shape(0)?.to_vec();
    let axis = call.axis(-1, shape.len() + 1)?;
    shape.insert(axis, whole(call.input(1)?.reals()?.first()?.trunc())?);
    one(call.data_type(2), shape)
}

pub(super) fn constant(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let whole = |data_type, shape, values| Fact::of(Some(data_type), Some(shape)).with_values(Some(values));
    let attribute = call.node.attributes.iter().find(|a| a.name.starts_with("value"))?;
    Some(vec![match &attribute.value {
        AttributeValue::Tensor(tensor) => tensor.fact(),
        AttributeValue::Int(value) => whole(DataType::INT64, Vec::new(), Values::Ints(vec![*value])),
        AttributeValue::Float(value) => {
            whole(DataType::FLOAT, Vec::new(), Values::Floats(vec![f64::from(*value)]))
        }
        AttributeValue::Ints(values) => {
            let small = (values.len() as u64 <= MOST_VALUES).then(|| Values::Ints(values.clone()));
            Fact::of(Some(DataType::INT64), Some(vec![values.len() as u64])).with_values(small)
        }
        AttributeValue::Floats(values) => Fact::of(Some(DataType::FLOAT), Some(vec![values.len() as u64])),
        _ => return None,
    }])
}

/// The type and the value are those of the attribute, or floating zeros.
pub(super) fn constant_of_shape(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let fill = match call.node.attribute("value") {
        Some(AttributeValue::Tensor(tensor)) => tensor.fact(),
        _ => Fact::of(Some(DataType::FLOAT), Some(Vec::new())).with_values(Some(Values::Floats(vec![0.0]))),
    };
    let shape = sizes(call.ints(0)?)?;
    let count = crate::fact::element_count(&shape).filter(|&count| count <= MOST_VALUES);
    let values = count.and_then(|count| fill.values.as_ref()?.pick((0..count).map(|_| 0)));
    Some(vec![Fact::of(fill.data_type, Some(shape)).with_values(values)])
}

pub(super) fn random(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let data_type = call.type_attribute("dtype").or(Some(DataType::FLOAT));
    one(data_type, sizes(call.ints_attribute("shape")?)?)
}

pub(super) fn multinomial(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let count = u64::try_from(call.int_or("sample_size", 1)).ok()?;
    one(call.type_attribute("dtype").or(Some(DataType::INT32)), vec![*call.shape(0)?.first()?, count])
}

pub(super) fn range(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let real = |position| call.input(position)?.reals()?.first().copied();
    let (start, limit, step): (f64, f64, f64) = (real(0)?, real(1)?, real(2)?);
    let count = ((limit - start) / step).ceil().max(0.0);
    let count = whole(count)?;
    let values = match (call.single_int(0), call.single_int(2)) {
        (Some(start), Some(step)) if count <= MOST_VALUES => {
            let nth = |n: u64| start.wrapping_add(step.wrapping_mul(n as i64));
            Some(Values::Ints((0..count).map(nth).collect()))
        }
        _ => None,
    };
    Some(vec![Fact::of(call.data_type(0), Some(vec![count])).with_values(values)])
}

pub(super) fn shape(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let shape = call.shape(0)?;
    let rank = shape.len() as i64;
    let clamp = |axis: i64| (if axis < 0 { axis.saturating_add(rank) } else { axis }).clamp(0, rank) as usize;
    let (start, end) = (clamp(call.int_or("start", 0)), clamp(call.int_or("end", rank)));
    let part = shape.get(start..end).unwrap_or_default();
    let values = Values::Ints(part.iter().map(|&size| size as i64).collect());
    Some(vec![Fact::of(Some(DataType::INT64), Some(vec![part.len() as u64])).with_values(Some(values))])
}

pub(super) fn size(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let values = Values::Ints(vec![i64::try_from(call.elements(0)?).ok()?]);
    Some(vec![Fact::of(Some(DataType::INT64), Some(Vec::new())).with_values(Some(values))])
}

/// A size that came as a real number; beyond 2^53 they are not exact.
pub(super) fn whole(size: f64) -> Option<u64> {
    (0.0..2_f64.powi(53)).contains(&size).then_some(size as u64)
}

/// Sizes that came as signed numbers.
pub(super) fn sizes(values: &[i64]) -> Option<Vec<u64>> {
    values.iter().map(|&size| u64::try_from(size).ok()).collect()
}
