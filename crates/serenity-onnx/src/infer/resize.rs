//! Operators that sample an image anew.

use super::Call;
use super::call::{axis_index, one};
use super::indexing::{sizes, whole};
use crate::fact::Fact;
use crate::proto::AttributeValue;

pub(super) fn resize(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let mut shape = call.shape(0)?.to_vec();
    if call.opset < 11 {
        return one(call.data_type(0), scaled(&shape, &call.input(1)?.reals()?)?);
    }
    let axes: Vec<usize> = match call.ints_attribute("axes") {
        Some(axes) => axes.iter().map(|&a| axis_index(a, shape.len())).collect::<Option<_>>()?,
        None => (0..shape.len()).collect(),
    };
    let old: Vec<u64> = axes.iter().map(|&axis| shape[axis]).collect();
    // An empty list of scales stands for "see the sizes".
    let has_sizes = call.has_input(3) && call.elements(3) != Some(0);
    let new = if has_sizes {
        fitted(&old, sizes(call.ints(3)?)?, call.text_attribute("keep_aspect_ratio_policy"))?
    } else {
        scaled(&old, &call.input(2)?.reals()?)?
    };
    if new.len() != axes.len() {
        return None;
    }
    for (axis, size) in axes.into_iter().zip(new) {
        shape[axis] = size;
    }
    one(call.data_type(0), shape)
}

pub(super) fn upsample(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let scales = match call.node.attribute("scales") {
        Some(AttributeValue::Floats(scales)) => scales.iter().map(|&s| f64::from(s)).collect(),
        _ => call.input(1)?.reals()?,
    };
    one(call.data_type(0), scaled(call.shape(0)?, &scales)?)
}

fn scaled(shape: &[u64], scales: &[f64]) -> Option<Vec<u64>> {
    if shape.len() != scales.len() {
        return None;
    }
    shape.iter().zip(scales).map(|(&size, &scale)| whole((size as f64 * scale).floor())).collect()
}

/// Sizes that keep the image's proportions, if they are to be kept.
fn fitted(old: &[u64], wanted: Vec<u64>, policy: Option<&str>) -> Option<Vec<u64>> {
    let ratios = old.iter().zip(&wanted).map(|(&old, &wanted)| wanted as f64 / old as f64);
    let scale = match policy {
        Some("not_larger") => ratios.fold(f64::INFINITY, f64::min),
        Some("not_smaller") => ratios.fold(0.0, f64::max),
        _ => return Some(wanted),
    };
    old.iter().map(|&size| whole((size as f64 * scale).round())).collect()
}

/// One sample for every point of the grid, whose last axis holds coordinates.
pub(super) fn grid_sample(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let (image, grid) = (call.shape(0)?, call.shape(1)?);
    let points = grid.get(1..grid.len().checked_sub(1)?)?;
    one(call.data_type(0), [image.get(..2)?, points].concat())
}

pub(super) fn affine_grid(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let size = sizes(call.ints(1)?)?;
    let space = size.get(2..)?;
    one(call.data_type(0), [&size[..1], space, &[space.len() as u64]].concat())
}
