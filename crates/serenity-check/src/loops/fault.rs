//! Faults of a model in which windows run as loops.

use serenity_ir::OpId;
use std::fmt;

/// An op of one of the graphs, and the iteration of the innermost loop around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct At {
    /// The index of the graph.
    pub graph: usize,
    /// The op in that graph.
    pub op: OpId,
    /// The name of the op.
    pub label: String,
    /// The iteration, from 0; `None` outside of loops.
    pub iteration: Option<u64>,
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "op {} (`{}`)", self.op, self.label)?;
        if self.graph > 0 {
            write!(f, " of graph {}", self.graph)?;
        }
        self.iteration.map_or(Ok(()), |iteration| write!(f, " in iteration {iteration}"))
    }
}

/// A fault of a model in which windows run as loops, or of the plan of its arena.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each message names its fields")]
pub enum LoopFault {
    /// Graphs, orders, origins and offsets do not belong together.
    #[error("graphs and plan do not belong together: {0}")]
    Shape(String),
    /// An op is no copy of the op that it is said to stand for.
    #[error("{at} is no copy of op {origin} of the original: {reason}")]
    OtherOp { at: At, origin: OpId, reason: String },
    /// A row of an output has changed.
    #[error("row {row} of output `{output}` is wrong: {reader} {found}, where it should be {expected}")]
    Row { output: String, row: u64, reader: String, expected: String, found: String },
    /// An op writes over an operand before it has read all of it.
    #[error("{at} writes its output over its operand {operand}, {reason}")]
    Overwrites { at: At, operand: usize, reason: String },
    /// Two results of an op share bytes.
    #[error("{at} writes two of its outputs to the same bytes")]
    SharedOutputs { at: At },
    /// A loop copies a value to a place that overlaps the one it comes from.
    #[error("{at} copies its value {position} to bytes that overlap those it comes from")]
    OverlappingCopy { at: At, position: usize },
    /// The effect of an op is not known before the model runs, or not modelled.
    #[error("{at} cannot be followed: {reason}")]
    Unfollowed { at: At, reason: String },
    /// The model takes more steps than are followed.
    #[error("the model is too large to replay: it takes more than {most} steps")]
    TooLarge { most: u64 },
}

impl LoopFault {
    /// Does it say that nothing is known, rather than that something is wrong?
    pub fn is_undecided(&self) -> bool {
        matches!(self, Self::Unfollowed { .. } | Self::TooLarge { .. })
    }
}
