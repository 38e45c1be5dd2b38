//! Folds zeros around the input of a convolution into its padding `same`.
//!
//! A convolution adds up products of weights and elements. Padding `same` leaves out the products whose element lies
//! outside the input; an explicit `PAD` puts a zero there, so the product is zero and changes no sum. Both are the
//! same, bit for bit, where the windows begin at the same places: [`same_results`]. For numbers stored as integers,
//! zero is the zero point.

use crate::same_padding::same_results;
use crate::{Action, Change, Patch, Rule, Settings, short_name};
use serde_json::{Value, json};
use serenity_ir::{Attributes, ElementType, Graph, Op, OpId, Operator, Stored, Tensor, TensorId, Window};

/// Replaces `PAD` or `PADV2` with zeros, followed by one or several `CONV_2D` or `DEPTHWISE_CONV_2D` with padding
/// `valid`, by the convolutions alone, with padding `same`.
#[derive(Clone, Copy, Debug, Default)]
pub struct PadFolding;

impl Rule for PadFolding {
    fn name(&self) -> &'static str {
        "pad-folding"
    }

    fn find(&self, graph: &Graph, _: &Settings) -> Vec<Patch> {
        graph.op_ids().filter_map(|pad| fold(graph, pad, self.name())).collect()
    }
}

/// The patch that removes `pad`, if it is one that can go: every op that reads the padded tensor must be able to pad by itself.
fn fold(graph: &Graph, pad: OpId, rule: &'static str) -> Option<Patch> {
    let zeros = Zeros::of(graph, pad)?;
    let readers = graph.consumers(zeros.padded);
    let all_fold =
        !readers.is_empty() && readers.iter().all(|&reader| is_folding_reader(graph, reader, &zeros));
    if graph.is_output(zeros.padded) || !all_fold {
        return None;
    }
    let change = |&reader: &OpId| Change {
        op: reader,
        attributes: Attributes::from_iter([("padding".to_owned(), json!("same"))]),
    };
    let [[top, bottom], [left, right]] = zeros.amounts;
    let names: Vec<String> =
        readers.iter().map(|&reader| format!("`{}`", short_name(graph, reader))).collect();
    Some(Patch {
        rule,
        action: Action::Bypass { op: pad, changes: readers.iter().map(change).collect() },
        identity: format!(
            "the zeros that `{}` adds ({top} above, {bottom} below, {left} left, {right} right) are what padding `same` stands for in {}",
            short_name(graph, pad),
            names.join(", "),
        ),
        exact: true,
        rounds_in: &[],
    })
}

/// What an op does that puts zeros around images, and nothing else.
struct Zeros {
    given: TensorId,
    padded: TensorId,
    /// Before and after, along height and along width.
    amounts: [[u64; 2]; 2],
}

impl Zeros {
    fn of(graph: &Graph, id: OpId) -> Option<Self> {
        let op = graph.op(id);
        // Anything else among the operands is computed during the run, or keeps the op in its place.
        let (&[given], &[padded]) = (op.inputs.as_slice(), op.outputs.as_slice()) else { return None };
        if op.operand(0) != Some(given) {
            return None;
        }
        let (from, to) = (graph.tensor(given), graph.tensor(padded));
        let zero = stored_zero(from)?;
        if [from, to].into_iter().any(has_open_size) {
            return None;
        }
        if from.dtype != to.dtype || from.quantization != to.quantization || !pads_with(op, zero) {
            return None;
        }
        let paddings = op.paddings()?;
        let &[[0, 0], height, width, [0, 0]] = paddings.as_slice() else { return None };
        let amounts = [height, width];
        let &[batch, rows, columns, channels] = from.shape.as_deref()? else { return None };
        let wider = |size: u64, [before, after]: [u64; 2]| size.checked_add(before)?.checked_add(after);
        let expected = [batch, wider(rows, height)?, wider(columns, width)?, channels];
        (to.shape.as_deref() == Some(expected.as_slice())).then_some(Self { given, padded, amounts })
    }
}

/// Does the model leave open how large its images are? Amounts that match one size may not match another.
pub(crate) fn has_open_size(tensor: &Tensor) -> bool {
    let signature = tensor.extra.get("shape_signature").and_then(Value::as_array);
    signature.is_some_and(|dims| dims.iter().skip(1).any(|dim| dim.as_i64().is_none_or(|dim| dim < 0)))
}

/// What is stored for zero in a tensor that convolutions read; `None` if that is not one number.
fn stored_zero(tensor: &Tensor) -> Option<i64> {
    let zero_points = tensor.quantization.as_ref().map_or([].as_slice(), |q| &q.zero_points);
    match (tensor.dtype.as_ref()?, zero_points) {
        (ElementType::Float32, _) | (ElementType::Int8 | ElementType::UInt8 | ElementType::Int16, []) => {
            Some(0)
        }
        (ElementType::Int8 | ElementType::UInt8, &[zero]) => Some(zero),
        // Padded with a stored 0, whatever the zero point is.
        (ElementType::Int16, &[0]) => Some(0),
        _ => None,
    }
}

/// Is this what the op writes around its input? `PAD` always writes zero, `PADV2` what it is given.
fn pads_with(op: &Op, zero: i64) -> bool {
    match op.kind.operator() {
        Operator::PAD => true,
        Operator::PADV2 => op
            .attributes
            .get("pad_value")
            .is_some_and(|value| value.as_i64() == Some(zero) || (zero == 0 && value.as_f64() == Some(0.0))),
        _ => false,
    }
}

/// Does the op slide a window over the padded tensor just as it would over the other one with padding `same`?
fn is_folding_reader(graph: &Graph, id: OpId, zeros: &Zeros) -> bool {
    let op = graph.op(id);
    let reads = op.inputs.iter().filter(|&&input| input == zeros.padded).count();
    matches!(op.kind.operator(), Operator::CONV_2D | Operator::DEPTHWISE_CONV_2D)
        && op.operand(0) == Some(zeros.padded)
        && reads == 1
        && op.word("padding") == Some("valid")
        && has_fixed_filter(graph, op, graph.tensor(zeros.given))
        && gives_same_results(graph, op, zeros) == Some(true)
}

/// Weights that are known before the run can be told to be finite: infinity times zero is no zero. Weights of another
/// kind than the elements make a runtime turn the elements into that kind first, by rules of its own.
fn has_fixed_filter(graph: &Graph, op: &Op, elements: &Tensor) -> bool {
    let computed = op.operand(1);
    let is_fixed =
        computed.and_then(|filter| graph.producer(filter)).map(|writer| graph.op(writer).inputs.is_empty());
    let dtype = match computed {
        Some(filter) => graph.tensor(filter).dtype.clone(),
        None => op.constant(1).and_then(Stored::dtype),
    };
    let is_float = |dtype: &ElementType| *dtype == ElementType::Float32;
    // A graph without a file says nothing of its weights.
    (computed.is_none() || is_fixed == Some(true))
        && dtype.is_none_or(|dtype| is_float(&dtype) == elements.dtype.as_ref().is_some_and(is_float))
}

fn gives_same_results(graph: &Graph, op: &Op, zeros: &Zeros) -> Option<bool> {
    let &[output] = op.outputs.as_slice() else { return None };
    let pair = |name: &str| op.pair(name).filter(|pair| !pair.contains(&0));
    let (kernel, stride) = (pair("kernel")?, pair("stride")?);
    let dilation = if op.has("dilation") { pair("dilation")? } else { [1, 1] };
    let (given, written) = (graph.tensor(zeros.given), graph.tensor(output));
    let (&[batch, rows, columns, _], &[batches, height, width, _]) =
        (given.shape.as_deref()?, written.shape.as_deref()?)
    else {
        return None;
    };
    let results = |at: usize, size: u64| {
        same_results(Window::new(kernel[at], stride[at], dilation[at])?, size, zeros.amounts[at])
    };
    Some([batches, height, width] == [batch, results(0, rows)?, results(1, columns)?])
}

#[cfg(test)]
mod tests;
