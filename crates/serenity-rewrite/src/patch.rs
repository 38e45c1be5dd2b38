//! A change to a graph: a rule proposes it as data, and `apply` makes it.

use crate::Relayout;
use serenity_ir::{Attributes, GraphError, OpId};

/// A change that keeps what a graph computes. It names ops of the graph in which it was found; what becomes of them is up to
/// [`apply`](crate::apply), which knows of all patches at once.
#[derive(Clone, Debug, PartialEq)]
pub struct Patch {
    /// The name of the rule that proposes it.
    pub rule: &'static str,
    /// The change.
    pub action: Action,
    /// The identity that it rests on, in one sentence, for people.
    pub identity: String,
    /// Are the results the same bit for bit? Otherwise they are the same up to rounding.
    pub exact: bool,
    /// If exact: kernels with which results are not the same bit for bit, because they compute parts of a tensor in
    /// another way than the whole.
    pub rounds_in: &'static [&'static str],
}

/// What a patch does to a graph.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// An op that reads a concatenation takes the pieces one by one. Nothing happens if its input is not in pieces:
    /// another patch may have to split the op before it.
    Split {
        /// The op that takes the pieces.
        op: OpId,
        /// If partial results are summed: the order of the pieces; their own order if this does not fit.
        order: Vec<usize>,
    },
    /// A sum of several terms adds them one by one.
    Accumulate {
        /// The op that writes the sum. The additions whose results only this sum reads are part of it.
        op: OpId,
        /// The order in which the terms are added; their own order if this does not fit.
        order: Vec<usize>,
    },
    /// Removes an op, whose readers take over its work.
    Bypass {
        /// The op to remove, which reads one tensor and writes one.
        op: OpId,
        /// The changes to its readers.
        changes: Vec<Change>,
    },
    /// Removes transpositions around a region, which is computed in another layout. All patches of a set must be of
    /// this kind, or none.
    Relayout(Relayout),
}

/// A change to one op.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The op to change.
    pub op: OpId,
    /// Its new attributes; the others stay.
    pub attributes: Attributes,
}

impl Patch {
    /// The op that the patch is about.
    pub fn op(&self) -> OpId {
        match &self.action {
            Action::Split { op, .. } | Action::Accumulate { op, .. } | Action::Bypass { op, .. } => *op,
            Action::Relayout(region) => region.transposes[0],
        }
    }

    /// All ops that the patch names, in the order of the file.
    pub fn ops(&self) -> Vec<OpId> {
        let mut ops = vec![self.op()];
        match &self.action {
            Action::Bypass { changes, .. } => ops.extend(changes.iter().map(|change| change.op)),
            Action::Relayout(region) => ops.extend(region.transposes.iter().chain(&region.ops)),
            Action::Split { .. } | Action::Accumulate { .. } => {}
        }
        ops.sort_unstable();
        ops.dedup();
        ops
    }

    /// The order in which partial results are summed, if there are any.
    pub fn order(&self) -> &[usize] {
        match &self.action {
            Action::Split { order, .. } | Action::Accumulate { order, .. } => order,
            Action::Bypass { .. } | Action::Relayout(_) => &[],
        }
    }

    /// This patch, summing partial results in another order.
    #[must_use]
    pub fn with_order(mut self, new: Vec<usize>) -> Self {
        if let Action::Split { order, .. } | Action::Accumulate { order, .. } = &mut self.action {
            *order = new;
        }
        self
    }
}

/// Why patches cannot be applied to a graph.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each message names its fields")]
pub enum PatchError {
    /// The graph has no such op.
    #[error("a patch names op {op}, but there are {ops}; apply it to the graph in which it was found")]
    UnknownOp { op: OpId, ops: usize },
    /// Two patches change the same op in different ways.
    #[error("two patches change op {op} in different ways; apply one, and find again in the result")]
    Conflict { op: OpId },
    /// The patch does not fit the op that it names.
    #[error("a patch does not fit op {op}; apply it to the graph in which it was found")]
    Misfit { op: OpId },
    /// The patched graph is not valid.
    #[error("the patched graph is not valid: {0}")]
    Graph(#[from] GraphError),
}
