//! Operators as ONNX spells them. Feature maps have their channels behind the batch.

use super::{Apart, Call, Given, Slice, Sums, Treatment};

/// Element by element, whatever the element's place.
pub(super) const UNARY: [&str; 28] = [
    "Abs",
    "Cast",
    "Ceil",
    "Celu",
    "Cos",
    "Elu",
    "Erf",
    "Exp",
    "Floor",
    "Gelu",
    "HardSigmoid",
    "HardSwish",
    "Identity",
    "LeakyRelu",
    "Log",
    "Mish",
    "Neg",
    "Reciprocal",
    "Relu",
    "Round",
    "Selu",
    "Sigmoid",
    "Sign",
    "Sin",
    "Softplus",
    "Softsign",
    "Sqrt",
    "Tanh",
];

const BINARY: [&str; 6] = ["Add", "Div", "Mul", "PRelu", "Pow", "Sub"];

/// Other operators that are rewritten, or written anew.
const OTHERS: [&str; 17] = [
    "AveragePool",
    "BatchNormalization",
    "Clip",
    "Concat",
    "Conv",
    "Gemm",
    "GlobalAveragePool",
    "GlobalMaxPool",
    "LpPool",
    "MatMul",
    "MaxPool",
    "Pad",
    "ReduceMax",
    "ReduceMean",
    "ReduceMin",
    "ReduceSum",
    "Sum",
];

pub(super) fn is_known(kind: &str) -> bool {
    UNARY.contains(&kind) || BINARY.contains(&kind) || OTHERS.contains(&kind)
}

pub(super) fn treatment(call: &Call<'_>) -> Option<Treatment> {
    let is_channel = call.axis == 1 && call.input.len() > 2;
    match call.op.kind.as_str() {
        "Conv" if is_channel && call.is_first_of_fixed() => convolution(call),
        "MatMul" if call.axis + 1 == call.input.len() && call.input.len() > 1 => matrix(call, 0),
        "Gemm" if call.axis == 1 && call.input.len() == 2 => dense(call),
        "BatchNormalization" if is_channel && call.is_first_of_fixed() => batch_normalisation(call),
        kind if UNARY.contains(&kind) && call.is_alone() && call.output == call.input => {
            call.apart(Vec::new())
        }
        "Clip" if call.is_alone() => call.apart(Vec::new()),
        "PRelu" if call.op.operand(0) != Some(call.tensor) => None,
        kind if BINARY.contains(&kind) => call.elementwise_with_fixed(),
        "AveragePool" | "GlobalAveragePool" | "GlobalMaxPool" | "LpPool" | "MaxPool" if is_channel => {
            call.apart(Vec::new())
        }
        "Pad" if call.is_alone() => pad(call),
        "ReduceMax" | "ReduceMean" | "ReduceMin" | "ReduceSum" if call.is_alone() => {
            let axes = call.op.numbers("axes").or_else(|| call.op.constant(1)?.values())?;
            call.reduced(&axes, call.op.number("keepdims") != Some(0))
        }
        _ => None,
    }
}

/// Over all channels at once, or each by itself.
fn convolution(call: &Call<'_>) -> Option<Treatment> {
    let group = if call.op.has("group") { call.op.size("group")? } else { 1 };
    let Given::Fixed(weights) = call.given(1) else { return None };
    let bias = match call.given(2) {
        Given::Fixed(_) => Some(2),
        Given::Absent => None,
        Given::Other => return None,
    };
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
    let Given::Fixed(weights) = call.given(1) else { return None };
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
    let bias = match call.given(2) {
        Given::Fixed(_) if call.op.constant(2).is_some() => Some(2),
        Given::Absent => None,
        // Where it cannot be left out, zeros take its place, and a constant is needed to make them of.
        Given::Fixed(_) | Given::Other => return None,
    };
    Some(Treatment::Sums(Sums { bias, ..sums }))
}

fn batch_normalisation(call: &Call<'_>) -> Option<Treatment> {
    let is_training = call.op.number("training_mode").unwrap_or(0) != 0;
    let slice = |position| match call.given(position) {
        Given::Fixed(shape) if shape == [call.positions()] => {
            Some(Slice { position, axis: 0, multiplier: 1 })
        }
        _ => None,
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
