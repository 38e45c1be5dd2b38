//! A change to a graph: proposed as data, applied in one place.

use serenity_ir::{Attributes, Graph, GraphBuilder, GraphError, Op, OpId, Tensor, TensorId};
use std::collections::BTreeMap;

/// A change that keeps what a graph computes.
#[derive(Clone, Debug, PartialEq)]
pub struct Patch {
    /// The rule that proposes it.
    pub rule: &'static str,
    /// Ops that go. Nothing else reads what they write.
    pub removes: Vec<OpId>,
    /// Ops that stay and do it another way.
    pub changes: Vec<Change>,
    /// The identity it rests on, in one sentence, for people.
    pub identity: String,
    /// Are the results the same bit for bit? Otherwise they are the same up to rounding.
    pub exact: bool,
    /// Multiplications that the new graph does beyond those of the old one.
    pub extra_macs: u64,
}

/// How one op changes.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The op.
    pub op: OpId,
    /// The activations that it reads now, in argument order.
    pub inputs: Vec<TensorId>,
    /// Attributes that it has now; the others stay.
    pub attributes: Attributes,
}

impl Patch {
    /// The ops it touches, in the file's order.
    pub fn ops(&self) -> Vec<OpId> {
        let mut ops = self.removes.clone();
        ops.extend(self.changes.iter().map(|change| change.op));
        ops.sort_unstable();
        ops.dedup();
        ops
    }

    /// The tensors that nothing writes any more.
    pub fn retires(&self, graph: &Graph) -> Vec<TensorId> {
        self.removes.iter().flat_map(|&op| graph.op(op).outputs.iter().copied()).collect()
    }

    /// The bytes of these tensors: how much less there is to place, not how much less an arena needs.
    pub fn frees(&self, graph: &Graph) -> u64 {
        self.retires(graph).into_iter().map(|tensor| graph.tensor(tensor).bytes).sum()
    }
}

/// Why patches cannot be applied to a graph.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatchError {
    /// An op that the graph does not have.
    #[error("a patch names op {op}, but there are {ops}; apply it to the graph in which it was found")]
    UnknownOp {
        /// The op.
        op: OpId,
        /// How many there are.
        ops: usize,
    },
    /// Two patches that touch one op.
    #[error("two patches touch op {op}; apply one, and find again in the result")]
    Conflict {
        /// The op.
        op: OpId,
    },
    /// What comes out is no graph.
    #[error("the patched graph is not valid: {0}")]
    Graph(#[from] GraphError),
}

/// The graph with all patches applied. Tensors keep their ids; those that nothing writes any more have no bytes, as in a rewritten file.
///
/// # Errors
/// If the patches do not belong to this graph, or not together.
pub fn apply(graph: &Graph, patches: &[Patch]) -> Result<Graph, PatchError> {
    let fates = fates(graph, patches)?;
    let mut is_retired = vec![false; graph.tensors().len()];
    for tensor in patches.iter().flat_map(|patch| patch.retires(graph)) {
        is_retired[tensor.index()] = true;
    }
    let mut builder = GraphBuilder::new(graph.name());
    for (tensor, &is_retired) in graph.tensors().iter().zip(&is_retired) {
        builder.tensor(if is_retired { retired(tensor) } else { tensor.clone() });
    }
    for id in graph.op_ids() {
        let op = graph.op(id);
        match fates.get(&id) {
            None => builder.push_op(op.clone()),
            Some(Fate::Changed(change)) => builder.push_op(changed(op, change)),
            Some(Fate::Removed) => continue,
        };
    }
    graph.inputs().iter().for_each(|&id| builder.mark_input(id));
    graph.outputs().iter().for_each(|&id| builder.output(id));
    builder.extra(graph.extra().clone());
    Ok(builder.build_body()?)
}

/// What becomes of an op.
enum Fate<'a> {
    Removed,
    Changed(&'a Change),
}

fn fates<'a>(graph: &Graph, patches: &'a [Patch]) -> Result<BTreeMap<OpId, Fate<'a>>, PatchError> {
    let mut fates = BTreeMap::new();
    for patch in patches {
        let removed = patch.removes.iter().map(|&op| (op, Fate::Removed));
        let changed = patch.changes.iter().map(|change| (change.op, Fate::Changed(change)));
        for (op, fate) in removed.chain(changed) {
            if op.index() >= graph.ops().len() {
                return Err(PatchError::UnknownOp { op, ops: graph.ops().len() });
            }
            if fates.insert(op, fate).is_some() {
                return Err(PatchError::Conflict { op });
            }
        }
    }
    Ok(fates)
}

fn changed(op: &Op, change: &Change) -> Op {
    let mut op = op.clone();
    op.inputs.clone_from(&change.inputs);
    op.attributes.extend(change.attributes.clone());
    op
}

/// What is left of a tensor that nothing touches: its name and type. A writer of files does the same, since ids must stay.
fn retired(tensor: &Tensor) -> Tensor {
    Tensor {
        shape: tensor.shape.as_ref().map(|_| vec![0]),
        dtype: tensor.dtype.clone(),
        ..Tensor::sized(tensor.name.clone(), 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// x -> a -> y -> b -> z
    fn chain() -> Graph {
        let mut builder = GraphBuilder::new("chain");
        let x = builder.input(Tensor::sized("x", 4));
        let y = builder.op("a", "RELU", &[x], Tensor::sized("y", 8));
        let z = builder.op("b", "RELU", &[y], Tensor::sized("z", 2));
        builder.output(z);
        builder.build().unwrap()
    }

    fn without_a() -> Patch {
        let change = Change { op: OpId(1), inputs: vec![TensorId(0)], attributes: Attributes::new() };
        Patch {
            rule: "test",
            removes: vec![OpId(0)],
            changes: vec![change],
            identity: String::new(),
            exact: true,
            extra_macs: 0,
        }
    }

    #[test]
    fn what_is_removed_leaves_a_name() {
        let (graph, patch) = (chain(), without_a());
        assert_eq!((patch.ops(), patch.frees(&graph)), (vec![OpId(0), OpId(1)], 8));
        let new = apply(&graph, &[patch]).unwrap();
        assert_eq!((new.ops().len(), new.op_label(OpId(0))), (1, "b".to_owned()));
        assert_eq!(new.op(OpId(0)).inputs, [TensorId(0)]);
        assert_eq!(new.tensors().iter().map(|t| t.bytes).collect::<Vec<_>>(), [4, 0, 2]);
        assert_eq!(new.tensor_label(TensorId(1)), "y");
        assert_eq!((new.inputs(), new.outputs()), (graph.inputs(), graph.outputs()));
    }

    #[test]
    fn patches_that_do_not_fit_are_refused() {
        let graph = chain();
        let twice = apply(&graph, &[without_a(), without_a()]);
        assert_eq!(twice, Err(PatchError::Conflict { op: OpId(0) }));
        let unknown = Patch { changes: vec![], removes: vec![OpId(2)], ..without_a() };
        assert_eq!(apply(&graph, &[unknown]), Err(PatchError::UnknownOp { op: OpId(2), ops: 2 }));
        let still_read = Patch { changes: vec![], ..without_a() };
        assert!(matches!(apply(&graph, &[still_read]), Err(PatchError::Graph(_))));
    }
}
