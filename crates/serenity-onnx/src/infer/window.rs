//! Operators that slide a window: convolutions and pools. The first two axes are batch and channels, the others space;
//! some operators of ONNX Runtime have the channels last.

use super::Call;
use super::call::one;
use crate::data_type::DataType;
use crate::fact::Fact;
use crate::proto::is_standard;
use serenity_ir::{Padding as Around, Window};

/// How the borders are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Padding {
    /// By the attribute `pads`.
    Explicit,
    /// As much as keeps the size (divided by the stride).
    Same,
    /// Not at all.
    Valid,
}

impl Padding {
    pub(crate) fn of(call: &Call<'_, '_>) -> Self {
        match call.text_attribute("auto_pad") {
            Some("SAME_UPPER" | "SAME_LOWER") => Self::Same,
            Some("VALID") => Self::Valid,
            _ => Self::Explicit,
        }
    }
}

/// The window along one axis of space.
struct Side {
    window: Window,
    /// From the first element it covers to the last.
    extent: i64,
    before: i64,
    after: i64,
}

/// The windows along all axes of space.
fn sides(call: &Call<'_, '_>, kernel: &[i64]) -> Option<Vec<Side>> {
    let axes = kernel.len();
    let list = |name: &str, count: usize, default: i64| match call.ints_attribute(name) {
        Some(values) => (values.len() == count).then(|| values.to_vec()),
        None => Some(vec![default; count]),
    };
    let (strides, dilations) = (list("strides", axes, 1)?, list("dilations", axes, 1)?);
    let pads = match Padding::of(call) {
        Padding::Explicit => list("pads", 2 * axes, 0)?,
        _ => vec![0; 2 * axes],
    };
    (0..axes)
        .map(|axis| {
            let window = Window { taps: kernel[axis], stride: strides[axis], dilation: dilations[axis] };
            let extent = window.extent().filter(|&extent| extent >= 0 && window.stride > 0)?;
            Some(Side { window, extent, before: pads[axis], after: pads[axis + axes] })
        })
        .collect()
}

impl Side {
    /// Positions along an axis of `size` elements.
    fn positions(&self, size: u64, padding: Padding, round_up: bool) -> Option<u64> {
        let (size, stride) = (i64::try_from(size).ok()?, self.window.stride);
        if padding == Padding::Same {
            return u64::try_from(self.window.results(size, Around::Same)?).ok();
        }
        let positions = |after| self.window.results(size, Around::Explicit { before: self.before, after });
        let mut count = positions(self.after).filter(|&count| count > 0)?;
        if round_up {
            count = positions(self.after.checked_add(stride - 1)?)?;
            // A window that would begin in the padding at the end does not count.
            count -= i64::from((count - 1).checked_mul(stride)? >= size.checked_add(self.before)?);
        }
        u64::try_from(count).ok()
    }
}

/// Where the channels stand in the shapes of an operator.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Channels {
    Second,
    Last,
}

impl Channels {
    pub(super) fn of(call: &Call<'_, '_>) -> Self {
        let is_last = call.is_set("channels_last") || call.node.op_type == "NhwcMaxPool";
        if is_last && !is_standard(call.node.domain) { Self::Last } else { Self::Second }
    }

    /// A shape of the operator with the channels behind the batch.
    pub(super) fn first(self, shape: &[u64]) -> Option<Vec<u64>> {
        let mut shape = shape.to_vec();
        if self == Self::Last {
            shape.get_mut(1..).filter(|others| !others.is_empty())?.rotate_right(1);
        }
        Some(shape)
    }

    /// The other way round.
    pub(super) fn as_given(self, mut shape: Vec<u64>) -> Option<Vec<u64>> {
        if self == Self::Last {
            shape.get_mut(1..).filter(|others| !others.is_empty())?.rotate_left(1);
        }
        Some(shape)
    }
}

/// The sides of the window: the attribute, or the shape of the weights.
fn kernel(call: &Call<'_, '_>, weights: Option<&[u64]>) -> Option<Vec<i64>> {
    match call.ints_attribute("kernel_shape") {
        Some(kernel) => Some(kernel.to_vec()),
        None => weights?.get(2..)?.iter().map(|&side| i64::try_from(side).ok()).collect(),
    }
}

/// What becomes of a shape, channels first.
fn slide(
    call: &Call<'_, '_>,
    input: &[u64],
    kernel: &[i64],
    channels: u64,
    round_up: bool,
) -> Option<Vec<u64>> {
    let space = input.get(2..)?;
    if space.len() != kernel.len() {
        return None;
    }
    let padding = Padding::of(call);
    let mut shape = vec![input[0], channels];
    for (side, &size) in sides(call, kernel)?.iter().zip(space) {
        shape.push(side.positions(size, padding, round_up)?);
    }
    Some(shape)
}

pub(super) fn convolution(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let (weights, data_type) = match call.node.op_type {
        "QLinearConv" => (3, call.data_type(7)),
        "ConvInteger" => (1, Some(DataType::INT32)),
        _ => (1, call.data_type(0)),
    };
    let (order, weights) = (Channels::of(call), call.shape(weights)?);
    let input = order.first(call.shape(0)?)?;
    let shape = slide(call, &input, &kernel(call, Some(weights))?, *weights.first()?, false)?;
    one(data_type, order.as_given(shape)?)
}

pub(super) fn transposed_convolution(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let (input, weights) = (call.shape(0)?, call.shape(1)?);
    let kernel = kernel(call, Some(weights))?;
    let space = input.get(2..)?;
    if space.len() != kernel.len() {
        return None;
    }
    let groups = u64::try_from(call.int_or("group", 1)).ok()?;
    let mut shape = vec![input[0], weights.get(1)?.checked_mul(groups)?];
    if let Some(sizes) = call.ints_attribute("output_shape") {
        let sizes = &sizes[sizes.len().checked_sub(space.len())?..];
        for &size in sizes {
            shape.push(u64::try_from(size).ok()?);
        }
        return one(call.data_type(0), shape);
    }
    let extra = call.ints_attribute("output_padding");
    for (axis, (side, &size)) in sides(call, &kernel)?.iter().zip(space).enumerate() {
        let size = i64::try_from(size).ok()?;
        let extra = extra.map_or(Some(0), |e| e.get(axis).copied())?;
        let out = if Padding::of(call) == Padding::Same {
            size.checked_mul(side.window.stride)?
        } else {
            let spread = size.checked_sub(1)?.checked_mul(side.window.stride)?;
            let full = spread.checked_add(extra)?.checked_add(side.extent)?;
            full.checked_sub(side.before)?.checked_sub(side.after)?
        };
        shape.push(u64::try_from(out).ok()?);
    }
    one(call.data_type(0), shape)
}

/// The second output of a maximum pool says where each maximum was.
pub(super) fn pool(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let order = Channels::of(call);
    let input = order.first(call.shape(0)?)?;
    let shape = slide(call, &input, &kernel(call, None)?, *input.get(1)?, call.is_set("ceil_mode"))?;
    let shape = order.as_given(shape)?;
    let pooled = Fact::of(call.data_type(0), Some(shape.clone()));
    Some(vec![pooled, Fact::of(Some(DataType::INT64), Some(shape))])
}

pub(super) fn global_pool(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let order = Channels::of(call);
    let mut shape = order.first(call.shape(0)?)?;
    shape.get_mut(2..)?.fill(1);
    one(call.data_type(0), order.as_given(shape)?)
}

pub(super) fn region_pool(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let sides = match call.ints_attribute("pooled_shape") {
        Some(sides) => sides.to_vec(),
        None => vec![call.int_or("output_height", 1), call.int_or("output_width", 1)],
    };
    let mut shape = vec![*call.shape(1)?.first()?, *call.shape(0)?.get(1)?];
    for side in sides {
        shape.push(u64::try_from(side).ok()?);
    }
    one(call.data_type(0), shape)
}

pub(super) fn unpool(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    if call.has_input(2) {
        let shape: Option<Vec<u64>> = call.ints(2)?.iter().map(|&d| u64::try_from(d).ok()).collect();
        return one(call.data_type(0), shape?);
    }
    let input = call.shape(0)?;
    let mut shape = input.get(..2)?.to_vec();
    for (side, &size) in sides(call, &kernel(call, None)?)?.iter().zip(&input[2..]) {
        let spread = i64::try_from(size).ok()?.checked_sub(1)?.checked_mul(side.window.stride)?;
        let full = spread.checked_add(side.extent)?;
        shape.push(u64::try_from(full.checked_sub(side.before)?.checked_sub(side.after)?).ok()?);
    }
    one(call.data_type(0), shape)
}

pub(super) fn columns_to_image(call: &Call<'_, '_>) -> Option<Vec<Fact>> {
    let (&[batch, rows, _], image, block) = (call.shape(0)?, call.ints(1)?, call.ints(2)?) else {
        return None;
    };
    let block = u64::try_from(block.iter().try_fold(1, |n: i64, &side| n.checked_mul(side))?).ok()?;
    let mut shape = vec![batch, rows.checked_div(block)?];
    for &side in image {
        shape.push(u64::try_from(side).ok()?);
    }
    one(call.data_type(0), shape)
}
