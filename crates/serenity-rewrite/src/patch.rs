//! A change to a graph: proposed as data, applied in one place.

use serenity_ir::{Attributes, GraphError, OpId};

/// A change that keeps what a graph computes. It names ops of the graph in which it was found; what becomes of them is up to
/// [`apply`](crate::apply), which knows of all patches at once.
#[derive(Clone, Debug, PartialEq)]
pub struct Patch {
    /// The rule that proposes it.
    pub rule: &'static str,
    /// What to do.
    pub action: Action,
    /// The identity it rests on, in one sentence, for people.
    pub identity: String,
    /// Are the results the same bit for bit? Otherwise they are the same up to rounding.
    pub exact: bool,
    /// If they are: kernels with which they are not, because these compute parts of a tensor in another way than the whole.
    pub rounds_in: &'static [&'static str],
}

/// What a patch does to a graph.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// An op that reads a concatenation takes the pieces one by one. Nothing happens if its input is whole: another patch
    /// may have to split the op before it.
    Split {
        /// The op.
        op: OpId,
        /// If partial results are added up: the pieces in the order in which they are; as they come if this does not fit.
        order: Vec<usize>,
    },
    /// A sum of several terms adds them one by one.
    Accumulate {
        /// The op that writes the sum. The additions whose results only this sum reads are part of it.
        op: OpId,
        /// The terms in the order in which they are added; as they come if this does not fit.
        order: Vec<usize>,
    },
    /// An op goes, and its readers do its work.
    Bypass {
        /// The op: one that reads one tensor and writes one.
        op: OpId,
        /// How its readers change.
        changes: Vec<Change>,
    },
}

/// How one op changes.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The op.
    pub op: OpId,
    /// Attributes that it has now; the others stay.
    pub attributes: Attributes,
}

impl Patch {
    /// The op at which it happens.
    pub fn op(&self) -> OpId {
        match &self.action {
            Action::Split { op, .. } | Action::Accumulate { op, .. } | Action::Bypass { op, .. } => *op,
        }
    }

    /// The ops it names, in the file's order.
    pub fn ops(&self) -> Vec<OpId> {
        let mut ops = vec![self.op()];
        if let Action::Bypass { changes, .. } = &self.action {
            ops.extend(changes.iter().map(|change| change.op));
        }
        ops.sort_unstable();
        ops.dedup();
        ops
    }

    /// In which order it adds up, if it does.
    pub fn order(&self) -> &[usize] {
        match &self.action {
            Action::Split { order, .. } | Action::Accumulate { order, .. } => order,
            Action::Bypass { .. } => &[],
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
pub enum PatchError {
    /// An op that the graph does not have.
    #[error("a patch names op {op}, but there are {ops}; apply it to the graph in which it was found")]
    UnknownOp {
        /// The op.
        op: OpId,
        /// How many there are.
        ops: usize,
    },
    /// Two patches that want different things of one op.
    #[error("two patches change op {op} in different ways; apply one, and find again in the result")]
    Conflict {
        /// The op.
        op: OpId,
    },
    /// An op to which the patch cannot be done.
    #[error("a patch does not fit op {op}; apply it to the graph in which it was found")]
    Misfit {
        /// The op.
        op: OpId,
    },
    /// What comes out is no graph.
    #[error("the patched graph is not valid: {0}")]
    Graph(#[from] GraphError),
}
