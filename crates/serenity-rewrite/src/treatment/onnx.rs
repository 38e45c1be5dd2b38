//! Operators as ONNX spells them. Feature maps have their channels behind the batch.

use super::{Apart, Call, Slice, Sums, Treatment};
use serenity_ir::Operator::{self, *};

/// What is done with elements.
#[derive(PartialEq, Eq)]
enum Family {
    /// Something with each, whatever its place.
    Unary,
    /// Something with each and its partner.
    Binary,
    /// Something else, by operators that are rewritten, or written anew.
    Other,
}

fn family(operator: Operator) -> Option<Family> {
    match operator {
        Abs | Cast | Ceil | Celu | Cos | Elu | Erf | Exp | Floor | Gelu | HardSigmoid | HardSwish
        | Identity | LeakyRelu | Log | Mish | Neg | Reciprocal | Relu | Round | Selu | Sigmoid | Sign
        | Sin | Softplus | Softsign | Sqrt | Tanh => Some(Family::Unary),
        Add | Div | Mul | PRelu | Pow | Sub => Some(Family::Binary),
        AveragePool | BatchNormalization | Clip | Concat | Conv | Gemm | GlobalAveragePool
        | GlobalMaxPool | LpPool | MatMul | MaxPool | Pad | ReduceMax | ReduceMean | ReduceMin
        | ReduceSum | Sum => Some(Family::Other),
        _ => None,
    }
}

pub(super) fn is_known(operator: Operator) -> bool {
    family(operator).is_some()
}

pub(super) fn is_unary(operator: Operator) -> bool {
    family(operator) == Some(Family::Unary)
}

pub(super) fn treatment(call: &Call<'_>) -> Option<Treatment> {
    let is_channel = call.axis == 1 && call.input.len() > 2;
    match call.operator() {
        Conv if is_channel && call.is_first_of_fixed() => convolution(call),
        MatMul if call.axis + 1 == call.input.len() && call.input.len() > 1 => matrix(call, 0),
        Gemm if call.axis == 1 && call.input.len() == 2 => dense(call),
        BatchNormalization if is_channel && call.is_first_of_fixed() => batch_normalisation(call),
        Clip if call.is_alone() => call.apart(Vec::new()),
        PRelu if call.activation(0) != Some(call.tensor) => None,
        AveragePool | GlobalAveragePool | GlobalMaxPool | LpPool | MaxPool if is_channel => {
            call.apart(Vec::new())
        }
        Pad if call.is_alone() => pad(call),
        ReduceMax | ReduceMean | ReduceMin | ReduceSum if call.is_alone() => {
            let axes = call.op.numbers("axes").or_else(|| call.values(1))?;
            call.reduced(&axes, call.op.number("keepdims") != Some(0))
        }
        operator => match family(operator)? {
            Family::Unary => call.elementwise(),
            Family::Binary => call.elementwise_with_fixed(),
            Family::Other => None,
        },
    }
}

/// Over all channels at once, or each by itself.
fn convolution(call: &Call<'_>) -> Option<Treatment> {
    let group = if call.op.has("group") { call.op.size("group")? } else { 1 };
    let (weights, bias) = (call.fixed(1)?, call.bias());
    if bias.is_some_and(|bias| call.fixed(bias).is_none()) {
        return None;
    }
    let filters = *weights.first()?;
    if group == 1 && weights.get(1) == Some(&call.positions()) {
        let weights = Some(Slice { position: 1, axis: 1, multiplier: 1 });
        return Some(Treatment::Sums(Sums { weights, bias }));
    }
    let multiplier = filters.checked_div(call.positions())?;
    if group != call.positions() || weights.get(1) != Some(&1) || multiplier * group != filters {
        return None;
    }
    let slice = |position| Slice { position, axis: 0, multiplier };
    let slices = std::iter::once(1).chain(bias).map(slice).collect();
    Some(Treatment::Apart(Apart { axis: 1, multiplier, slices, is_grouped: true }))
}

/// Times a matrix, or a vector, that is the same for all rows.
fn matrix(call: &Call<'_>, axis: usize) -> Option<Treatment> {
    let weights = call.fixed(1)?;
    let is_fit = weights.len() <= 2 && weights.get(axis) == Some(&call.positions());
    (is_fit && call.is_first_of_fixed()).then_some(Treatment::Sums(Sums {
        weights: Some(Slice { position: 1, axis, multiplier: 1 }),
        bias: None,
    }))
}

fn dense(call: &Call<'_>) -> Option<Treatment> {
    let is_set = |name: &str| call.op.number(name).unwrap_or(0) != 0;
    if is_set("transA") {
        return None;
    }
    let Treatment::Sums(sums) = matrix(call, usize::from(is_set("transB")))? else { return None };
    let bias = call.bias();
    // Where it cannot be left out, zeros take its place, and a constant is needed to make them of.
    if bias.is_some_and(|bias| call.op.constant(bias).is_none() || call.fixed(bias).is_none()) {
        return None;
    }
    Some(Treatment::Sums(Sums { bias, ..sums }))
}

fn batch_normalisation(call: &Call<'_>) -> Option<Treatment> {
    let is_training = call.op.number("training_mode").unwrap_or(0) != 0;
    let slice = |position| {
        let is_for_channels = call.fixed(position)? == [call.positions()];
        is_for_channels.then_some(Slice { position, axis: 0, multiplier: 1 })
    };
    if is_training { None } else { call.apart((1..=4).map(slice).collect::<Option<_>>()?) }
}

/// All amounts before, then all after; they may be for some axes only, which then are listed.
fn pad(call: &Call<'_>) -> Option<Treatment> {
    let amounts = call.op.numbers("pads").or_else(|| call.op.constant(1)?.values())?;
    let rank = call.input.len();
    let has_axes = call.op.constant(3).is_some();
    let is_none = amounts.len() == 2 * rank && amounts[call.axis] == 0 && amounts[call.axis + rank] == 0;
    if is_none && !has_axes { call.apart(Vec::new()) } else { None }
}
