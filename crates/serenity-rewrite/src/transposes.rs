//! Removes transpositions that undo each other.
//!
//! Models exported from frameworks with channels first wrap each convolution in two `TRANSPOSE`. Between the second of
//! one and the first of the next lie ops that compute the same in any layout: functions of elements, sums and products,
//! concatenations and pads. If all ways into such a *region* and out of it are transpositions by one permutation and its
//! inverse, the region can be computed in the other layout without any of them.

use crate::pad_folding::has_open_size;
use crate::{Action, Patch};
use serenity_ir::Operator::*;
use serenity_ir::{Graph, Op, OpId, Stored, TensorId, from_front};
use std::collections::{BTreeMap, BTreeSet};

/// The name of the rule.
pub const CANCELLED_TRANSPOSES: &str = "cancelled-transposes";

/// A region in the layout in which its neighbours have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relayout {
    /// The transpositions that go, in the order of the file.
    pub transposes: Vec<OpId>,
    /// The ops between them, in the order of the file.
    pub ops: Vec<OpId>,
    /// The tensors that these read and write.
    pub tensors: BTreeSet<TensorId>,
    /// Dimension `i` of a tensor in the new layout is dimension `permutation[i]` in the old one.
    pub permutation: Vec<usize>,
}

impl Relayout {
    /// The axis in the new layout of an axis in the old one.
    pub(crate) fn axis(&self, old: usize) -> Option<usize> {
        self.permutation.iter().position(|&axis| axis == old)
    }
}

/// The regions that can be computed without the transpositions around them. No op is in two of them, so all can be
/// changed together. Removing them may leave further ones.
pub fn cancelled_transposes(graph: &Graph) -> Vec<Patch> {
    let mut regions: Vec<Relayout> =
        regions(graph).into_values().filter_map(|tensors| relayout(graph, tensors)).collect();
    // Two regions may want to be rid of the same transposition; the one that gains most goes first.
    regions.sort_by_key(|region| (usize::MAX - region.transposes.len(), region.transposes[0]));
    let mut taken: BTreeSet<OpId> = BTreeSet::new();
    regions.retain(|region| {
        let is_free = region.transposes.iter().all(|op| !taken.contains(op));
        if is_free {
            taken.extend(&region.transposes);
        }
        is_free
    });
    regions.into_iter().map(patch).collect()
}

fn patch(region: Relayout) -> Patch {
    let [transposes, ops] = [region.transposes.len(), region.ops.len()];
    Patch {
        rule: CANCELLED_TRANSPOSES,
        identity: format!(
            "{transposes} transpositions around {ops} ops undo each other, and these compute the same in the other layout"
        ),
        action: Action::Relayout(region),
        exact: true,
        rounds_in: &[],
    }
}

/// Sets of tensors that must have the same layout, because an op that can work in any layout reads or writes them
/// together; by the first of them.
fn regions(graph: &Graph) -> BTreeMap<usize, BTreeSet<TensorId>> {
    let mut leader: Vec<usize> = (0..graph.tensors().len()).collect();
    for op in graph.op_ids().filter(|&op| works_in_any_layout(graph, op)) {
        let op = graph.op(op);
        let mut touched = op.inputs.iter().chain(&op.outputs);
        let Some(first) = touched.next() else { continue };
        for other in touched {
            let (one, other) = (root(&mut leader, first.index()), root(&mut leader, other.index()));
            leader[one.max(other)] = one.min(other);
        }
    }
    let mut regions: BTreeMap<usize, BTreeSet<TensorId>> = BTreeMap::new();
    for tensor in graph.tensor_ids() {
        regions.entry(root(&mut leader, tensor.index())).or_default().insert(tensor);
    }
    regions
}

fn root(leader: &mut [usize], mut at: usize) -> usize {
    while leader[at] != at {
        leader[at] = leader[leader[at]];
        at = leader[at];
    }
    at
}

/// The change to a region that rids it of all transpositions around it, if they undo each other and nothing else leads
/// in or out.
fn relayout(graph: &Graph, tensors: BTreeSet<TensorId>) -> Option<Relayout> {
    let (mut entering, mut leaving, mut ops) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for &tensor in &tensors {
        let readers = graph.consumers(tensor);
        if graph.is_output(tensor) || readers.is_empty() || !has_a_plain_layout(graph, tensor) {
            return None;
        }
        let writer = graph.producer(tensor)?;
        let side = |op: OpId, at_border: &mut BTreeSet<OpId>, ops: &mut BTreeSet<OpId>| {
            if works_in_any_layout(graph, op) {
                ops.insert(op);
            } else if graph.op(op).kind.operator() == TRANSPOSE {
                at_border.insert(op);
            } else {
                return None;
            }
            Some(())
        };
        side(writer, &mut entering, &mut ops)?;
        readers.iter().try_for_each(|&reader| side(reader, &mut leaving, &mut ops))?;
    }
    let mut wanted: Option<Vec<usize>> = None;
    for (&op, is_leaving) in entering.iter().map(|op| (op, false)).chain(leaving.iter().map(|op| (op, true)))
    {
        let permutation = permutation(graph, op)?;
        let permutation = if is_leaving { permutation } else { inverse(&permutation) };
        if wanted.get_or_insert_with(|| permutation.clone()) != &permutation {
            return None;
        }
    }
    let permutation = wanted?;
    let is_output = |op: &OpId| graph.is_output(graph.op(*op).outputs[0]);
    // The batch may be left open, so it must stay in front.
    if !entering.is_disjoint(&leaving) || leaving.iter().any(is_output) || permutation.first() != Some(&0) {
        return None;
    }
    let has_its_rank = |&tensor: &TensorId| {
        graph.tensor(tensor).shape.as_ref().is_some_and(|shape| shape.len() == permutation.len())
    };
    let transposes = entering.union(&leaving).copied().collect();
    tensors.iter().all(has_its_rank).then(|| Relayout {
        transposes,
        ops: ops.into_iter().collect(),
        tensors,
        permutation,
    })
}

/// The permutation of a `TRANSPOSE` that does nothing else.
fn permutation(graph: &Graph, id: OpId) -> Option<Vec<usize>> {
    let op = graph.op(id);
    let (&[from], &[to]) = (op.inputs.as_slice(), op.outputs.as_slice()) else { return None };
    let permutation: Option<Vec<usize>> =
        op.numbers("permutation")?.into_iter().map(|axis| usize::try_from(axis).ok()).collect();
    let permutation = permutation?;
    let (from, to) = (graph.tensor(from), graph.tensor(to));
    let (old, new) = (from.shape.as_ref()?, to.shape.as_ref()?);
    let mut sorted = permutation.clone();
    sorted.sort_unstable();
    let is_one = sorted.iter().copied().eq(0..old.len()) && op.operand(0) == Some(op.inputs[0]);
    let moved = is_one.then(|| permutation.iter().map(|&axis| old[axis]).collect::<Vec<u64>>())?;
    let is_alike = from.dtype == to.dtype && from.quantization == to.quantization && from.bytes == to.bytes;
    (is_alike && !has_open_size(from) && !has_open_size(to) && moved == *new).then_some(permutation)
}

fn inverse(permutation: &[usize]) -> Vec<usize> {
    let mut inverse = vec![0; permutation.len()];
    for (to, &from) in permutation.iter().enumerate() {
        inverse[from] = to;
    }
    inverse
}

/// Is the tensor as large as its shape says, with one scale for all of it?
fn has_a_plain_layout(graph: &Graph, tensor: TensorId) -> bool {
    let tensor = graph.tensor(tensor);
    let is_whole = tensor.dtype.as_ref().is_some_and(|dtype| dtype.bits().is_some_and(|bits| bits % 8 == 0));
    is_whole
        && tensor.quantization.as_ref().is_none_or(|scales| !scales.is_per_axis())
        && !has_open_size(tensor)
}

/// Does the op compute the same elements in any layout, if all that it reads and writes has that layout?
fn works_in_any_layout(graph: &Graph, id: OpId) -> bool {
    let op = graph.op(id);
    let &[output] = op.outputs.as_slice() else { return false };
    let Some(shape) = graph.tensor(output).shape.as_ref() else { return false };
    let has_shape = |&input: &TensorId| graph.tensor(input).shape.as_ref() == Some(shape);
    let is_alike = op.inputs.iter().all(has_shape);
    match op.kind.operator() {
        ABS | CEIL | COS | DEQUANTIZE | ELU | EXP | FLOOR | GELU | HARD_SWISH | LEAKY_RELU | LOG
        | LOGISTIC | NEG | QUANTIZE | RELU | RELU6 | RELU_0_TO_1 | RELU_N1_TO_1 | ROUND | RSQRT | SIGN
        | SIN | SQRT | SQUARE | TANH => is_alike && op.inputs.len() == 1 && !op.has_constants(),
        ADD | DIV | MAXIMUM | MINIMUM | MUL | SQUARED_DIFFERENCE | SUB => {
            op.inputs.iter().any(has_shape) && can_be_relaid(graph, op, shape)
        }
        PRELU => op.operand(0) == op.inputs.first().copied() && is_alike && can_be_relaid(graph, op, shape),
        CONCATENATION => {
            !op.has_constants() && op.number("axis").and_then(|axis| from_front(axis, shape.len())).is_some()
        }
        PAD => {
            let paddings = op.paddings().is_some_and(|paddings| paddings.len() == shape.len());
            let amounts = op.constant(1).and_then(Stored::shape);
            op.inputs.len() == 1
                && op.operand(0) == Some(op.inputs[0])
                && paddings
                && amounts == Some(vec![shape.len() as u64, 2])
        }
        _ => false,
    }
}

/// Two operands, element by element: a tensor as large as the result, and another one or a constant. An operand of one
/// position along an axis is read at all positions of the result, so tensors must have as many dimensions as the result;
/// a constant may have fewer, because it can be written with all of them.
fn can_be_relaid(graph: &Graph, op: &Op, shape: &[u64]) -> bool {
    let is_spread = |operand: &[u64]| {
        operand.iter().rev().zip(shape.iter().rev()).all(|(&size, &of)| size == of || size == 1)
    };
    match (op.inputs.as_slice(), the_constant(op)) {
        (&[one, other], None) => [one, other].iter().all(|&input| {
            graph
                .tensor(input)
                .shape
                .as_ref()
                .is_some_and(|operand| operand.len() == shape.len() && is_spread(operand))
        }),
        (&[_], Some((_, constant))) => {
            let is_whole =
                constant.dtype().is_some_and(|dtype| dtype.bits().is_some_and(|bits| bits % 8 == 0));
            constant.shape().is_some_and(|operand| {
                is_one_number(&operand, shape.len())
                    || (is_whole && operand.len() <= shape.len() && is_spread(&operand))
            })
        }
        _ => false,
    }
}

/// The constant among two operands, and its position.
fn the_constant(op: &Op) -> Option<(usize, Stored<'_>)> {
    (0..2).find_map(|position| Some((position, op.constant(position)?)))
}

/// A single number, of no more dimensions, is the same in any layout.
fn is_one_number(shape: &[u64], rank: usize) -> bool {
    shape.len() <= rank && shape.iter().all(|&size| size == 1)
}

/// The position of the constant that must be written in the new layout; `None` for ops without, and for single numbers.
pub(crate) fn relaid_constant(op: &Op, rank: usize) -> Option<usize> {
    match op.kind.operator() {
        ADD | DIV | MAXIMUM | MINIMUM | MUL | PRELU | SQUARED_DIFFERENCE | SUB => {
            let (position, constant) = the_constant(op)?;
            (!is_one_number(&constant.shape()?, rank)).then_some(position)
        }
        _ => None,
    }
}
