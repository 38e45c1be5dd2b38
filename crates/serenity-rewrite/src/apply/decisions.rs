//! What patches mean for every op and every tensor, before anything is written.

use crate::sum::Sum;
use crate::treatment::{Treatment, concat_axis, treatment};
use crate::{Action, Change, Patch, PatchError};
use serenity_ir::{Graph, OpId, Role, TensorId};
use std::collections::{BTreeMap, BTreeSet};

/// Ops that work on pieces, and pieces that concatenations take for their own, all together: a concatenation may join
/// another one with itself, and that again, so their number is not bounded by the size of the graph. What would go
/// beyond stays whole. The largest dense networks need a tenth.
const MOST_PIECES: usize = 1 << 14;

pub(super) struct Decisions<'a> {
    /// Ops that work on pieces: how, of which input, and in which order they add up.
    treatments: BTreeMap<OpId, (Treatment, TensorId, &'a [usize])>,
    sums: BTreeMap<OpId, (Sum, &'a [usize])>,
    changes: BTreeMap<OpId, &'a Change>,
    gone: BTreeSet<OpId>,
    /// What stands for a tensor whose op is gone.
    instead: BTreeMap<TensorId, TensorId>,
    /// By tensor: the axis along which it exists in pieces, if it does.
    in_pieces: Vec<Option<usize>>,
    is_whole: Vec<bool>,
    /// Were there too many pieces, so that some ops with a patch work on the whole?
    pub(super) is_cut_short: bool,
}

impl<'a> Decisions<'a> {
    pub(super) fn new(graph: &Graph, patches: &'a [Patch]) -> Result<Self, PatchError> {
        let tensors = graph.tensors().len();
        let mut decisions = Self {
            treatments: BTreeMap::new(),
            sums: BTreeMap::new(),
            changes: BTreeMap::new(),
            gone: BTreeSet::new(),
            instead: BTreeMap::new(),
            in_pieces: vec![None; tensors],
            is_whole: vec![false; tensors],
            is_cut_short: false,
        };
        let mut splits: BTreeMap<OpId, &'a [usize]> = BTreeMap::new();
        for patch in patches {
            let known = |op: &OpId| op.index() < graph.ops().len();
            if let Some(&op) = patch.ops().iter().find(|op| !known(op)) {
                return Err(PatchError::UnknownOp { op, ops: graph.ops().len() });
            }
            let op = patch.op();
            let is_taken =
                splits.contains_key(&op) || decisions.sums.contains_key(&op) || decisions.is_gone(op);
            if is_taken {
                return Err(PatchError::Conflict { op });
            }
            match &patch.action {
                Action::Split { op, order } => drop(splits.insert(*op, order)),
                Action::Accumulate { op, order } => decisions.accumulate(graph, *op, order)?,
                Action::Bypass { op, changes } => decisions.bypass(graph, *op, changes)?,
                Action::Relayout(_) => return Err(PatchError::Conflict { op }),
            }
        }
        decisions.go_forwards(graph, &splits);
        decisions.go_backwards(graph);
        Ok(decisions)
    }

    fn accumulate(&mut self, graph: &Graph, op: OpId, order: &'a [usize]) -> Result<(), PatchError> {
        let sum = Sum::of(graph, op).ok_or(PatchError::Misfit { op })?;
        for &inner in &sum.inner {
            if !self.gone.insert(inner) || self.sums.contains_key(&inner) {
                return Err(PatchError::Conflict { op: inner });
            }
        }
        self.sums.insert(op, (sum, order));
        Ok(())
    }

    fn bypass(&mut self, graph: &Graph, op: OpId, changes: &'a [Change]) -> Result<(), PatchError> {
        let (&[input], &[output]) = (graph.op(op).inputs.as_slice(), graph.op(op).outputs.as_slice()) else {
            return Err(PatchError::Misfit { op });
        };
        self.gone.insert(op);
        self.instead.insert(output, input);
        for change in changes {
            if self.changes.insert(change.op, change).is_some() {
                return Err(PatchError::Conflict { op: change.op });
            }
        }
        Ok(())
    }

    /// Which tensors come in pieces, and who works on these.
    fn go_forwards(&mut self, graph: &Graph, splits: &BTreeMap<OpId, &'a [usize]>) {
        let mut counts = vec![1; graph.tensors().len()];
        let mut left = MOST_PIECES;
        for id in graph.file_order() {
            let op = graph.op(id);
            if self.is_gone(id) {
                if let (&[input], &[output]) = (op.inputs.as_slice(), op.outputs.as_slice()) {
                    let input = self.resolve(input);
                    self.in_pieces[output.index()] = self.in_pieces[input.index()];
                    counts[output.index()] = counts[input.index()];
                }
                continue;
            }
            let found = splits.get(&id).and_then(|&order| {
                let (treatment, input) = treatment(graph, id, |input| self.in_pieces[input.index()])?;
                Some((treatment, self.resolve(input), order))
            });
            let count = match &found {
                Some((Treatment::Joins, joined, _)) => {
                    let axis = self.in_pieces[joined.index()];
                    let of_input = |&input: &TensorId| {
                        if self.in_pieces[input.index()] == axis { counts[input.index()] } else { 1 }
                    };
                    op.inputs.iter().map(of_input).sum()
                }
                Some((_, input, _)) => counts[input.index()],
                None => 0,
            };
            self.is_cut_short |= count > left;
            let found = found.filter(|_| count <= left);
            let axis = match (&found, op.kind.role()) {
                (_, Role::Concat) => concat_axis(graph, id),
                (Some((Treatment::Apart(apart), ..)), _) => Some(apart.axis),
                _ => None,
            };
            if let &[output] = op.outputs.as_slice() {
                self.in_pieces[output.index()] = axis;
                counts[output.index()] = if found.is_some() { count } else { op.inputs.len() };
            }
            if let Some(found) = found {
                left -= count;
                self.treatments.insert(id, found);
            }
        }
    }

    /// Which tensors somebody must have whole.
    fn go_backwards(&mut self, graph: &Graph) {
        for id in graph.file_order().into_iter().rev() {
            for &output in &graph.op(id).outputs {
                let reads_whole = |&reader: &OpId| match graph.op(reader).outputs.as_slice() {
                    [passed_on] if self.instead.contains_key(passed_on) => self.is_whole[passed_on.index()],
                    _ => !self.takes_pieces(reader, output),
                };
                let readers = graph.consumers(output);
                self.is_whole[output.index()] =
                    graph.is_output(output) || readers.is_empty() || readers.iter().any(reads_whole);
            }
        }
    }

    /// Is it enough for `reader` that `tensor` exists in pieces?
    fn takes_pieces(&self, reader: OpId, tensor: TensorId) -> bool {
        match self.treatments.get(&reader) {
            Some((Treatment::Joins, ..)) => self.is_joined(reader, self.resolve(tensor)),
            Some((_, input, _)) => *input == self.resolve(tensor),
            None => false,
        }
    }

    /// Does the concatenation `reader` take the pieces of `tensor` for its own?
    pub(super) fn is_joined(&self, reader: OpId, tensor: TensorId) -> bool {
        let axis = self.treatments.get(&reader).and_then(|(_, input, _)| self.in_pieces[input.index()]);
        axis.is_some() && self.in_pieces[tensor.index()] == axis
    }

    pub(super) fn is_gone(&self, op: OpId) -> bool {
        self.gone.contains(&op)
    }

    pub(super) fn is_whole(&self, tensor: TensorId) -> bool {
        self.is_whole[tensor.index()]
    }

    pub(super) fn in_pieces(&self, tensor: TensorId) -> Option<usize> {
        self.in_pieces[tensor.index()]
    }

    pub(super) fn treatment(&self, op: OpId) -> Option<(&Treatment, TensorId, &'a [usize])> {
        self.treatments.get(&op).map(|(treatment, input, order)| (treatment, *input, *order))
    }

    pub(super) fn sum(&self, op: OpId) -> Option<(&Sum, &'a [usize])> {
        self.sums.get(&op).map(|(sum, order)| (sum, *order))
    }

    pub(super) fn change(&self, op: OpId) -> Option<&'a Change> {
        self.changes.get(&op).copied()
    }

    /// The tensor, or what stands for it.
    pub(super) fn resolve(&self, tensor: TensorId) -> TensorId {
        let mut tensor = tensor;
        while let Some(&other) = self.instead.get(&tensor) {
            tensor = other;
        }
        tensor
    }
}
