//! Signal processing.

use super::Call;
use super::call::{axis_index, one};
use crate::data_type::DataType;
use crate::fact::Fact;

/// A window function of a given length.
pub(super) fn window(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let data_type = call.type_attribute("output_datatype").or(Some(DataType::FLOAT));
    one(data_type, vec![u64::try_from(call.single_int(0)?).ok()?])
}

/// The last axis holds real and imaginary parts.
pub(super) fn fourier(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let mut shape = call.shape(0)?.to_vec();
    let signal_axes = shape.len().checked_sub(1)?;
    let axis = match (call.int_attribute("axis"), call.has_input(2)) {
        (Some(axis), _) => axis,
        (None, true) => call.single_int(2)?,
        (None, false) => 1,
    };
    let axis = axis_index(axis, signal_axes + 1).filter(|&axis| axis < signal_axes)?;
    let (one_sided, inverse) = (call.is_set("onesided"), call.is_set("inverse"));
    if call.has_input(1) {
        shape[axis] = u64::try_from(call.single_int(1)?).ok()?;
    } else if one_sided && inverse {
        shape[axis] = shape[axis].checked_sub(1)?.checked_mul(2)?;
    }
    if one_sided && !inverse {
        shape[axis] = shape[axis] / 2 + 1;
    }
    shape[signal_axes] = if one_sided && inverse { 1 } else { 2 };
    one(call.data_type(0), shape)
}

pub(super) fn short_time_fourier(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let &[batch, length, ..] = call.shape(0)? else { return None };
    let step = u64::try_from(call.single_int(1)?).ok().filter(|&step| step > 0)?;
    let frame = match (call.has_input(3), call.has_input(2)) {
        (true, _) => u64::try_from(call.single_int(3)?).ok()?,
        (false, true) => *call.shape(2)?.first()?,
        (false, false) => return None,
    };
    let frames = length.checked_sub(frame)? / step + 1;
    let bins = if call.int_or("onesided", 1) != 0 { frame / 2 + 1 } else { frame };
    one(call.data_type(0), vec![batch, frames, bins, 2])
}

pub(super) fn mel_weights(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let data_type = call.type_attribute("output_datatype").or(Some(DataType::FLOAT));
    let bins = u64::try_from(call.single_int(0)?).ok()?;
    let spectrum = u64::try_from(call.single_int(1)?).ok()? / 2 + 1;
    one(data_type, vec![spectrum, bins])
}
