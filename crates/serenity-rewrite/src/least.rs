//! A graph that needs no more memory than the graph with any set of patches: a bound on the choice.
//!
//! Under the memory model `paper` more patches never need more. The proof is in this crate's `DESIGN.md`; here are its
//! conditions. Where one fails, nothing is claimed.

use crate::apply::{apply_cheaper, is_cut_short};
use crate::sum::Sum;
use crate::{Action, Patch, Rewriting, Settings, Sums};
use serenity_ir::{Graph, OpId, Role, Tensor, TensorId};
use std::collections::{BTreeMap, BTreeSet};

/// A graph that in its best order needs no more, under the memory model `paper`, than `graph` with any of the sets of
/// these patches in its best order.
#[derive(Clone, Debug)]
pub struct Least {
    /// The graph with all patches, some of them in a form that is cheaper than any op.
    pub graph: Graph,
    /// Per patch that sums, by its op: the ops that make the terms.
    pub terms: BTreeMap<OpId, Vec<OpId>>,
    /// The ops in the cheaper form. If there are none, the set of all patches is the best.
    pub open: BTreeSet<OpId>,
}

/// The graph that bounds the choice among `patches`; `None` if they do not fulfil the conditions of the proof. Only sets
/// with the patches of the ops `taken` are bounded: the graph has these as they would be applied.
pub fn least(graph: &Graph, patches: &[Patch], taken: &BTreeSet<OpId>) -> Option<Least> {
    let has_accumulators = graph.op_ids().any(|op| graph.op(op).kind.role() == Role::Accumulate);
    let removes_ops = patches.iter().any(|patch| matches!(patch.action, Action::Bypass { .. }));
    if has_accumulators || is_cut_short(graph, patches) || (removes_ops && !views_hold_their_pieces(graph)) {
        return None;
    }
    let mut open = BTreeSet::new();
    for patch in patches {
        match &patch.action {
            Action::Split { op, .. } if is_split_evenly(graph, *op) => {}
            Action::Bypass { op, .. } if writes_no_less(graph, *op) => {}
            Action::Accumulate { op, .. } => {
                let sum = Sum::of(graph, *op)?;
                if !holds_its_partial_sums(graph, *op, &sum) {
                    return None;
                }
                if !taken.contains(op) && !never_needs_more(graph, *op, &sum) {
                    open.insert(*op);
                }
            }
            Action::Split { .. } | Action::Bypass { .. } | Action::Relayout(_) => return None,
        }
    }
    let settings = Settings { sums: Sums::Accumulator, rounds_integers: true };
    let Rewriting { graph, terms, .. } = apply_cheaper(graph, patches, settings, &open).ok()?;
    Some(Least { graph, terms, open })
}

/// Do the parts of the op together read and write what the op does, and nothing else?
fn is_split_evenly(graph: &Graph, op: OpId) -> bool {
    let is_concat = graph.op(op).kind.role() == Role::Concat;
    let op = graph.op(op);
    is_concat || (op.inputs.len() == 1 && op.outputs.iter().all(|&output| is_dense(graph.tensor(output))))
}

/// Has it as many bytes as its elements, which are whole bytes? Then parts have together as many as the whole.
fn is_dense(tensor: &Tensor) -> bool {
    let (Some(dtype), Some(shape)) = (&tensor.dtype, &tensor.shape) else { return false };
    dtype.bits().is_some_and(|bits| bits % 8 == 0) && dtype.bytes_of(shape) == Some(tensor.bytes)
}

fn bytes(graph: &Graph, tensor: TensorId) -> u64 {
    graph.tensor(tensor).bytes
}

/// Has every concatenation at least as many bytes as what it joins?
fn views_hold_their_pieces(graph: &Graph) -> bool {
    graph.ops().iter().filter(|op| op.kind.role() == Role::Concat).all(|op| {
        let joined = op.inputs.iter().map(|&piece| bytes(graph, piece)).fold(0, u64::saturating_add);
        op.outputs.iter().all(|&view| joined <= bytes(graph, view))
    })
}

fn writes_no_less(graph: &Graph, op: OpId) -> bool {
    let op = graph.op(op);
    matches!((op.inputs.as_slice(), op.outputs.as_slice()),
        (&[read], &[written]) if bytes(graph, read) <= bytes(graph, written))
}

/// The tensor of which the accumulator of a sum is a copy.
fn model_of_accumulator(graph: &Graph, op: OpId, sum: &Sum) -> TensorId {
    if sum.feeds.is_some() { sum.terms[0].tensor } else { graph.op(op).outputs[0] }
}

/// Is no partial sum smaller than the accumulator that replaces it, nor the result of an op that begins with a sum?
fn holds_its_partial_sums(graph: &Graph, op: OpId, sum: &Sum) -> bool {
    let accumulator = bytes(graph, model_of_accumulator(graph, op, sum));
    let result = bytes(graph, graph.op(op).outputs[0]);
    let partial = |&inner: &OpId| bytes(graph, graph.op(inner).outputs[0]) >= accumulator;
    sum.inner.iter().all(partial) && (never_needs_more(graph, op, sum) || accumulator == result)
}

/// Does it never need more to add the terms one by one? An op that begins with a sum then holds the sum besides its
/// result, which must take the place of something that dies with the op.
fn never_needs_more(graph: &Graph, op: OpId, sum: &Sum) -> bool {
    let accumulator = bytes(graph, model_of_accumulator(graph, op, sum));
    let dies_here = |tensor: TensorId| {
        graph.consumers(tensor) == [op]
            && !graph.is_output(tensor)
            && bytes(graph, tensor) >= accumulator
            && is_dense(graph.tensor(tensor))
            && graph.producer(tensor).is_some_and(|writer| graph.op(writer).kind.role() == Role::Compute)
    };
    sum.feeds.is_none()
        || !sum.inner.is_empty()
        || (accumulator <= bytes(graph, graph.op(op).outputs[0])
            && sum.terms.iter().any(|term| dies_here(term.tensor)))
}
