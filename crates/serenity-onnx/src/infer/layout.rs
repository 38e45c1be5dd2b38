//! Operators that move elements without computing with them.

use super::Call;
use super::call::{axis_index, one};
use super::elementwise::axis_set;
use super::indexing::sizes;
use crate::fact::{Fact, element_count};

/// 0 copies a size, -1 takes what is left.
pub(super) fn reshape(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let target = call.ints_from("shape", 1).ok()??;
    let copy_zeros = !call.is_set("allowzero");
    let mut shape = Vec::with_capacity(target.len());
    let mut open = None;
    for (axis, &size) in target.iter().enumerate() {
        shape.push(match size {
            -1 if open.is_some() => return None,
            -1 => {
                open = Some(axis);
                1
            }
            0 if copy_zeros => *call.shape(0)?.get(axis)?,
            size => u64::try_from(size).ok()?,
        });
    }
    if let Some(axis) = open {
        let others = element_count(&shape)?;
        let elements = call.elements(0)?;
        shape[axis] = match (elements, others) {
            (_, 0) => return None,
            (elements, others) if elements % others == 0 => elements / others,
            _ => return None,
        };
    }
    one(call.data_type(0), shape)
}

pub(super) fn flatten(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let shape = call.shape(0)?;
    // The axis may also stand behind the last one.
    let axis = call.int_or("axis", 1);
    let axis = if axis < 0 { axis_index(axis, shape.len())? } else { usize::try_from(axis).ok()? };
    let (rows, columns) = shape.split_at_checked(axis)?;
    one(call.data_type(0), vec![element_count(rows)?, element_count(columns)?])
}

pub(super) fn squeeze(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let shape = call.shape(0)?;
    let gone = match call.ints_from("axes", 1).ok()? {
        Some(axes) => axis_set(axes, shape.len())?,
        None => shape.iter().map(|&size| size == 1).collect(),
    };
    let kept = shape.iter().zip(gone).filter(|&(_, gone)| !gone).map(|(&size, _)| size);
    one(call.data_type(0), kept.collect())
}

pub(super) fn unsqueeze(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let axes = call.ints_from("axes", 1).ok()??;
    let mut sizes = call.shape(0)?.iter().copied();
    let added = axis_set(axes, sizes.len() + axes.len())?;
    let shape: Option<Vec<u64>> =
        added.iter().map(|&added| if added { Some(1) } else { sizes.next() }).collect();
    one(call.data_type(0), shape?)
}

pub(super) fn transpose(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let shape = call.shape(0)?;
    let turned = match call.ints_attribute("perm") {
        Some(axes) if axes.len() == shape.len() => {
            axes.iter().map(|&axis| Some(shape[axis_index(axis, shape.len())?])).collect::<Option<_>>()?
        }
        Some(_) => return None,
        None => shape.iter().rev().copied().collect(),
    };
    one(call.data_type(0), turned)
}

pub(super) fn concat(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let mut shape = call.shape(0)?.to_vec();
    let axis = call.axis(1, shape.len())?;
    for position in 1..call.input_count() {
        let piece = call.shape(position)?;
        if piece.len() != shape.len() {
            return None;
        }
        shape[axis] = shape[axis].checked_add(piece[axis])?;
    }
    one(call.data_type(0), shape)
}

/// Pieces of given sizes, or as equal as can be.
pub(super) fn split(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let shape = call.shape(0)?;
    let axis = call.axis(0, shape.len())?;
    let count = call.output_count();
    let pieces = if let Some(pieces) = call.ints_from("split", 1).ok()? {
        sizes(pieces)?
    } else {
        let most = shape[axis].div_ceil(u64::try_from(count).ok().filter(|&n| n > 0)?);
        (0..count as u64).map(|n| most.min(shape[axis].saturating_sub(most.saturating_mul(n)))).collect()
    };
    let piece = |size| {
        let mut shape = shape.to_vec();
        shape[axis] = size;
        Fact::of(call.data_type(0), Some(shape))
    };
    // As many facts as outputs, however many sizes the file lists.
    Some(pieces.into_iter().take(count).map(piece).collect())
}

pub(super) fn slice(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let mut shape = call.shape(0)?.to_vec();
    for (axis, cut) in cuts(call, &shape)? {
        shape[axis] = cut.count;
    }
    one(call.data_type(0), shape)
}

/// What a slice keeps of one axis.
pub(super) struct Cut {
    pub(super) start: i64,
    pub(super) step: i64,
    pub(super) count: u64,
}

/// What a slice keeps, axis by axis.
pub(super) fn cuts(call: &Call<'_, '_>, shape: &[u64]) -> Option<Vec<(usize, Cut)>> {
    let starts = call.ints_from("starts", 1).ok()??;
    let ends = call.ints_from("ends", 2).ok()??;
    let axes = call.ints_from("axes", 3).ok()?;
    let steps = call.ints_from("steps", 4).ok()?;
    let mut cuts = Vec::with_capacity(starts.len().min(shape.len()));
    for (position, (&start, &end)) in starts.iter().zip(ends).enumerate() {
        let axis = axes.map_or(Some(position as i64), |a| a.get(position).copied())?;
        let axis = axis_index(axis, shape.len())?;
        let step = steps.map_or(Some(1), |s| s.get(position).copied())?;
        cuts.push((axis, Cut::new(start, end, step, i64::try_from(shape[axis]).ok()?)?));
    }
    Some(cuts)
}

impl Cut {
    /// Ends out of range stop at the border.
    fn new(start: i64, end: i64, step: i64, size: i64) -> Option<Self> {
        let from_end = |place: i64| if place < 0 { place.saturating_add(size) } else { place };
        let (low, high) = if step < 0 { (-1, size - 1) } else { (0, size) };
        let (start, end) = (from_end(start).clamp(low.max(0), high.max(0)), from_end(end).clamp(low, high));
        let (distance, stride) =
            if step < 0 { (start - end, step.checked_neg()?) } else { (end - start, step) };
        if stride == 0 {
            return None;
        }
        let count = if size == 0 || distance <= 0 { 0 } else { (distance - 1) / stride + 1 };
        Some(Self { start, step, count: count as u64 })
    }
}

pub(super) fn pad(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let mut shape = call.shape(0)?.to_vec();
    let pads = match call.ints_attribute("paddings") {
        Some(pads) => pads,
        None => call.ints_from("pads", 1).ok()??,
    };
    let axes: Vec<usize> = if call.has_input(3) {
        call.ints(3)?.iter().map(|&axis| axis_index(axis, shape.len())).collect::<Option<_>>()?
    } else {
        (0..shape.len()).collect()
    };
    if pads.len() != 2 * axes.len() {
        return None;
    }
    let (before, after) = pads.split_at(axes.len());
    for (axis, (&before, &after)) in axes.into_iter().zip(before.iter().zip(after)) {
        shape[axis] = shape[axis].checked_add_signed(before)?.checked_add_signed(after)?;
    }
    one(call.data_type(0), shape)
}

pub(super) fn tile(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let shape = call.shape(0)?;
    let repeats = sizes(call.ints(1)?)?;
    if repeats.len() != shape.len() {
        return None;
    }
    let tiled: Option<Vec<u64>> = shape.iter().zip(repeats).map(|(&size, n)| size.checked_mul(n)).collect();
    one(call.data_type(0), tiled?)
}

fn block_size(call: &Call<'_, '_>) -> Option<u64> {
    u64::try_from(call.int_attribute("blocksize")?).ok().filter(|&size| size > 0)
}

pub(super) fn depth_to_space(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let (&[batch, channels, height, width], block) = (call.shape(0)?, block_size(call)?) else { return None };
    let shape = vec![
        batch,
        channels / block.checked_mul(block)?,
        height.checked_mul(block)?,
        width.checked_mul(block)?,
    ];
    one(call.data_type(0), shape)
}

pub(super) fn space_to_depth(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let (&[batch, channels, height, width], block) = (call.shape(0)?, block_size(call)?) else { return None };
    let shape = vec![batch, channels.checked_mul(block.checked_mul(block)?)?, height / block, width / block];
    one(call.data_type(0), shape)
}

pub(super) fn center_crop_pad(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let mut shape = call.shape(0)?.to_vec();
    let wanted = sizes(call.ints(1)?)?;
    let axes: Vec<usize> = match call.ints_attribute("axes") {
        Some(axes) => axes.iter().map(|&axis| axis_index(axis, shape.len())).collect::<Option<_>>()?,
        None => (0..shape.len()).collect(),
    };
    for (axis, size) in axes.into_iter().zip(wanted) {
        shape[axis] = size;
    }
    one(call.data_type(0), shape)
}

/// `Crop` of the first versions, never standardised but still run: a border of left, top, right and bottom pixels goes;
/// with a `scale`, what is left is that high and that wide, from the top left corner.
pub(super) fn crop(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let &[batch, channels, height, width] = call.shape(0)? else { return None };
    let border: Vec<u64> =
        call.ints_attribute("border")?.iter().map(|&side| u64::try_from(side).ok()).collect::<Option<_>>()?;
    let &[left, top, right, bottom] = border.as_slice() else { return None };
    let (height, width) = match call.ints_attribute("scale") {
        Some(&[rows, columns]) => (u64::try_from(rows).ok()?, u64::try_from(columns).ok()?),
        Some(_) => return None,
        None => (height.checked_sub(top.checked_add(bottom)?)?, width.checked_sub(left.checked_add(right)?)?),
    };
    one(call.data_type(0), vec![batch, channels, height, width])
}
