//! Operators as `TFLite` and the built-in networks spell them. Feature maps have their channels last.

use super::{Apart, Call, Slice, Sums, Treatment};
use serenity_ir::Operator::*;
use serenity_ir::from_front;

pub(super) fn treatment(call: &Call<'_>) -> Option<Treatment> {
    let is_channel = call.input.len() == 4 && call.axis == 3;
    match call.operator() {
        CONV_2D if is_channel => sums(call, 3),
        SEPARABLE_CONV_2D if is_channel && call.is_alone() && !call.op.has_constants() => {
            Some(Treatment::Sums(Sums { weights: None, bias: None }))
        }
        DEPTHWISE_CONV_2D if is_channel => depthwise(call),
        FULLY_CONNECTED if call.input.len() == 2 && call.axis == 1 && has_plain_weights(call) => {
            sums(call, 1)
        }
        ABS | CAST | CEIL | COS | DEQUANTIZE | ELU | EXP | FLOOR | GELU | HARD_SWISH | LEAKY_RELU | LOG
        | LOGICAL_NOT | LOGISTIC | NEG | QUANTIZE | RELU | RELU6 | RELU_0_TO_1 | RELU_N1_TO_1 | ROUND
        | RSQRT | SIGN | SIN | SQRT | SQUARE | TANH => call.elementwise(),
        PRELU if call.activation(0) != Some(call.tensor) => None,
        ADD | DIV | MAXIMUM | MINIMUM | MUL | POW | PRELU | SQUARED_DIFFERENCE | SUB => {
            call.elementwise_with_fixed()
        }
        AVERAGE_POOL_2D | MAX_POOL_2D | RESIZE_BILINEAR | RESIZE_NEAREST_NEIGHBOR
            if is_channel && call.is_alone() =>
        {
            call.apart(Vec::new())
        }
        PAD | PADV2 | MIRROR_PAD if call.is_alone() => {
            let is_padded = *call.op.paddings()?.get(call.axis)? != [0, 0];
            if is_padded { None } else { call.apart(Vec::new()) }
        }
        MEAN | REDUCE_MAX | REDUCE_MIN | REDUCE_PROD | SUM if call.is_alone() => reduction(call),
        _ => None,
    }
}

fn has_plain_weights(call: &Call<'_>) -> bool {
    !call.op.has("weights_format") || call.op.word("weights_format") == Some("default")
}

/// A convolution or a dense layer whose weights have their inputs along `axis`.
fn sums(call: &Call<'_>, axis: usize) -> Option<Treatment> {
    let has_groups =
        ["group", "groups"].iter().any(|name| call.op.has(name) && call.op.number(name) != Some(1));
    if has_groups
        || !call.is_alone()
        || call.activation(0) != Some(call.tensor)
        || !call.has_weights_of_its_kind(1)
    {
        return None;
    }
    let weights = match call.fixed(1) {
        Some(shape) if shape.get(axis) == Some(&call.positions()) => {
            Some(Slice { position: 1, axis, multiplier: 1 })
        }
        None if call.is_absent(1) && !call.op.has_constants() => None,
        _ => return None,
    };
    let bias = call.bias();
    let is_fixed = bias.is_none_or(|bias| call.fixed(bias).is_some());
    is_fixed.then_some(Treatment::Sums(Sums { weights, bias }))
}

fn depthwise(call: &Call<'_>) -> Option<Treatment> {
    if !call.is_alone() || call.activation(0) != Some(call.tensor) || !call.has_weights_of_its_kind(1) {
        return None;
    }
    let multiplier = call.output.get(3)?.checked_div(call.positions())?;
    let filters = multiplier.checked_mul(call.positions())?;
    if call.output[3] != filters || multiplier == 0 {
        return None;
    }
    let mut slices = Vec::new();
    for (position, axis) in [(1, 3), (2, 0)] {
        match call.fixed(position) {
            Some(shape) if shape.get(axis) == Some(&filters) => {
                slices.push(Slice { position, axis, multiplier });
            }
            // A graph without a file says nothing of its weights, and a bias may be left out.
            None if call.is_absent(position) && (position == 2 || !call.op.has_constants()) => {}
            _ => return None,
        }
    }
    Some(Treatment::Apart(Apart { axis: 3, multiplier, slices, is_grouped: false }))
}

/// A summary over other axes.
fn reduction(call: &Call<'_>) -> Option<Treatment> {
    let op = call.op;
    let listed = |name| op.numbers(name).or_else(|| Some(vec![op.number(name)?]));
    call.reduced(&listed("axes").or_else(|| listed("axis"))?, op.flag("keep_dims").unwrap_or(false))
}

impl Call<'_> {
    /// A summary over `axes`, which stay as axes of one position if it `keeps` them.
    pub(super) fn reduced(&self, axes: &[i64], keeps: bool) -> Option<Treatment> {
        let rank = self.input.len();
        let axes: Option<Vec<usize>> = axes.iter().map(|&axis| from_front(axis, rank)).collect();
        let axes = axes.filter(|axes| !axes.is_empty() && !axes.contains(&self.axis))?;
        let gone = (0..self.axis).filter(|axis| axes.contains(axis)).count();
        self.apart_along(if keeps { self.axis } else { self.axis - gone }, Vec::new())
    }
}
