//! Is an op of the loops the op of the original that it is said to be?

use super::acts::Act;
use super::operands::Operand;
use super::program::Prepared;
use serenity_ir::{Graph, Op, OpId, Tensor, TensorId};

/// Which function of what it reads an op is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Identity {
    /// That of an op of the original.
    Old { graph: usize, op: OpId },
    /// One that the original has not.
    New { graph: usize, op: OpId },
}

/// An op of a graph, prepared.
#[derive(Clone, Copy)]
pub(super) struct Sample<'a> {
    pub(super) graph: &'a Graph,
    pub(super) op: &'a Op,
    pub(super) prepared: &'a Prepared,
}

/// What may differ between an op and its copy on stripes: padding shows in the rows that the op reads, the `size` of a
/// result in how many it makes, and `workspace` is memory, not meaning. Constants are compared one by one.
const FREE: &[&str] = &["padding", "size", "workspace", "constants"];

/// Why `copy` is not the same function of its rows as `original`.
pub(super) fn difference_by_rows(original: Sample, copy: Sample) -> Option<String> {
    let is_free = |name: &str| FREE.contains(&name);
    // What was taken into account in finding out which rows are read.
    let is_known = |position: usize| match &copy.prepared.act {
        Act::Rows(rows) => rows.iter().all(|operand| operand.position != position),
        _ => false,
    };
    difference(original, copy, is_free, is_known).or_else(|| {
        let is_alike = original.prepared.act.is_alike(&copy.prepared.act);
        (!is_alike).then(|| "its rows are not made in the same way".to_owned())
    })
}

/// Why `copy` is not the same function of its operands as `original`.
pub(super) fn difference_of_all(original: Sample, copy: Sample) -> Option<String> {
    let is_free = |name: &str| ["workspace", "constants"].contains(&name);
    difference(original, copy, is_free, |_| false).or_else(|| {
        let shapes = |sample: Sample| {
            let tensors = sample.op.inputs.iter().chain(&sample.op.outputs);
            let shape = |&t: &TensorId| (sample.graph.tensor(t).shape.clone(), sample.graph.tensor(t).bytes);
            tensors.map(shape).collect::<Vec<_>>()
        };
        (shapes(original) != shapes(copy)).then(|| "its tensors have other shapes".to_owned())
    })
}

fn difference(
    original: Sample,
    copy: Sample,
    is_free: impl Fn(&str) -> bool,
    is_known: impl Fn(usize) -> bool,
) -> Option<String> {
    if original.op.kind != copy.op.kind {
        return Some(format!("it is no `{}`", original.op.kind.as_str()));
    }
    let (ours, theirs) = (&copy.op.attributes, &original.op.attributes);
    let mut names = theirs.keys().chain(ours.keys()).filter(|name| !is_free(name));
    if let Some(name) = names.find(|&name| ours.get(name) != theirs.get(name)) {
        return Some(format!("it differs in `{name}`"));
    }
    let operands = |sample: Sample<'_>| sample.prepared.operands.len();
    if operands(original) != operands(copy) || original.op.outputs.len() != copy.op.outputs.len() {
        return Some("it has other operands or results".to_owned());
    }
    let pairs = original.prepared.operands.iter().zip(&copy.prepared.operands);
    for (position, (theirs, ours)) in pairs.enumerate() {
        let is_same = match (theirs, ours) {
            (Operand::Activation(a), Operand::Activation(b)) => {
                mean_the_same(original.graph.tensor(*a), copy.graph.tensor(*b))
            }
            (Operand::Constant(_), Operand::Constant(own)) => !own.is_own || is_known(position),
            (Operand::Other, Operand::Other) => true,
            _ => false,
        };
        if !is_same {
            return Some(format!("operand {position} is another one, or of another type"));
        }
    }
    let results = original.op.outputs.iter().zip(&copy.op.outputs);
    let is_other =
        |(a, b): &(&TensorId, &TensorId)| !mean_the_same(original.graph.tensor(**a), copy.graph.tensor(**b));
    results.into_iter().any(|pair| is_other(&pair)).then(|| "its result is of another type".to_owned())
}

/// Do equal bytes of both stand for equal numbers?
fn mean_the_same(a: &Tensor, b: &Tensor) -> bool {
    a.dtype == b.dtype && a.quantization == b.quantization
}

/// Does it matter at all? What is only moved is the same whoever moves it.
pub(super) fn is_only_moved(act: &Act) -> bool {
    matches!(act, Act::Move(_))
}
