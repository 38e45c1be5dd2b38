//! The rule for sums of many terms: it proposes to add the terms one by one.
//!
//! Addition is associative and commutative up to rounding, so the terms of a sum may be added in any order, each as
//! soon as it exists, into one accumulator. A term that nobody else reads is gone once it is added; a sum that waits
//! for all its terms holds all of them.

use crate::{Action, Patch, Rule, Settings, short_name};
use serde_json::{Value, json};
use serenity_ir::Operator::{self, *};
use serenity_ir::{Graph, Op, OpId, TensorId};
use std::collections::{BTreeMap, BTreeSet};

/// Turns sums of three or more terms, and ops that begin with one, into an accumulation in the order in which the terms
/// are computed.
#[derive(Clone, Copy, Debug, Default)]
pub struct SumReassociation;

impl Rule for SumReassociation {
    fn name(&self) -> &'static str {
        "sum-reassociation"
    }

    fn find(&self, graph: &Graph, settings: &Settings) -> Vec<Patch> {
        let inner = dissolved(graph);
        let propose = |op| {
            let sum = Some(op).filter(|op| !inner.contains(op)).and_then(|op| Sum::of(graph, op))?;
            let least = if sum.feeds.is_some() { 2 } else { 3 };
            if sum.terms.len() < least || !settings.may_round(graph.tensor(sum.terms[0].tensor)) {
                return None;
            }
            Some(Patch {
                rule: self.name(),
                action: Action::Accumulate { op, order: Vec::new() },
                identity: format!(
                    "the {} terms of `{}` are added one by one, each when it is there",
                    sum.terms.len(),
                    short_name(graph, op)
                ),
                exact: false,
                rounds_in: &[],
            })
        };
        graph.op_ids().filter_map(propose).collect()
    }
}

/// One term of a sum, and its factor if there is one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Term {
    pub(crate) tensor: TensorId,
    pub(crate) factor: Option<Value>,
}

/// A sum, with the additions that only it reads dissolved.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sum {
    pub(crate) terms: Vec<Term>,
    /// The additions that are part of it, but for the last.
    pub(crate) inner: Vec<OpId>,
    /// If an op of another kind begins with the sum: that op.
    pub(crate) feeds: Option<OpId>,
}

impl Sum {
    /// The sum that ends in `id`.
    pub(crate) fn of(graph: &Graph, id: OpId) -> Option<Self> {
        let feeds = match sum_kind(graph, graph.op(id))? {
            Kind::Addition => None,
            Kind::Prelude => Some(id),
        };
        let mut sum = Self { terms: Vec::new(), inner: Vec::new(), feeds };
        // Depth first, so that the terms come in the order in which they are written; the stack is the one of a loop.
        let mut open = vec![(id, inner_additions(graph, id).into_iter().enumerate())];
        while let Some((parent, inputs)) = open.last_mut() {
            let Some((place, inner)) = inputs.next() else {
                open.pop();
                continue;
            };
            let parent = graph.op(*parent);
            match inner {
                Some(addition) => {
                    sum.inner.push(addition);
                    open.push((addition, inner_additions(graph, addition).into_iter().enumerate()));
                }
                None => sum.terms.push(Term { tensor: parent.inputs[place], factor: factor(parent, place) }),
            }
        }
        Some(sum)
    }
}

enum Kind {
    Addition,
    /// Another op that adds up its inputs first.
    Prelude,
}

fn kind(op: &Op) -> Option<Kind> {
    match op.kind.operator() {
        ADD | ADD_N | Add | Operator::Sum => Some(Kind::Addition),
        SEPARABLE_CONV_2D if op.has("input_weights") => Some(Kind::Prelude),
        _ => None,
    }
}

/// How the op adds up tensors, if it does, and if they are all alike.
fn sum_kind(graph: &Graph, op: &Op) -> Option<Kind> {
    kind(op).filter(|kind| match kind {
        Kind::Addition => is_plain(graph, op),
        Kind::Prelude => has_like_terms(graph, op),
    })
}

/// Nothing is spread, nothing is constant.
fn is_plain(graph: &Graph, op: &Op) -> bool {
    let &[output] = op.outputs.as_slice() else { return false };
    has_like_terms(graph, op) && graph.tensor(output).shape == graph.tensor(op.inputs[0]).shape
}

fn has_like_terms(graph: &Graph, op: &Op) -> bool {
    let Some((&first, others)) = op.inputs.split_first() else { return false };
    let first = graph.tensor(first);
    let is_like = |&other: &TensorId| {
        let other = graph.tensor(other);
        (&other.shape, &other.dtype) == (&first.shape, &first.dtype)
    };
    let has_factors = op.attributes.get("input_weights").and_then(Value::as_array);
    !others.is_empty()
        && op.outputs.len() == 1
        && first.shape.is_some()
        && others.iter().all(is_like)
        && has_factors.is_none_or(|factors| factors.len() == op.inputs.len())
        && !op.has_constants()
}

/// Of each of its inputs: the addition that writes it, if this op alone reads it, once and as it is. All at once,
/// because a sum may have thousands of terms.
fn inner_additions(graph: &Graph, reader: OpId) -> Vec<Option<OpId>> {
    let op = graph.op(reader);
    let mut reads: BTreeMap<TensorId, usize> = BTreeMap::new();
    for &input in &op.inputs {
        *reads.entry(input).or_default() += 1;
    }
    let inner_addition = |(place, &tensor): (usize, &TensorId)| {
        let is_private =
            graph.consumers(tensor) == [reader] && reads[&tensor] == 1 && !graph.is_output(tensor);
        let producer = graph.producer(tensor).filter(|_| is_private && is_one(factor(op, place).as_ref()))?;
        let addition = graph.op(producer);
        let is_addition = matches!(sum_kind(graph, addition), Some(Kind::Addition));
        (is_addition && !addition.has_activation()).then_some(producer)
    };
    op.inputs.iter().enumerate().map(inner_addition).collect()
}

/// The additions that another sum, their one reader, dissolves.
fn dissolved(graph: &Graph) -> BTreeSet<OpId> {
    let sums = graph.op_ids().filter(|&op| sum_kind(graph, graph.op(op)).is_some());
    sums.flat_map(|sum| inner_additions(graph, sum)).flatten().collect()
}

fn factor(op: &Op, place: usize) -> Option<Value> {
    op.attributes.get("input_weights")?.get(place).cloned()
}

fn is_one(factor: Option<&Value>) -> bool {
    factor.is_none_or(|factor| *factor == json!(1.0))
}
