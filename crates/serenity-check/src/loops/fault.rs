//! What can be wrong with a model in which windows run as loops.

use serenity_ir::OpId;
use std::fmt;

/// An op of one of the graphs, and in which iteration of the innermost loop around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct At {
    /// Which graph.
    pub graph: usize,
    /// Which of its ops.
    pub op: OpId,
    /// Its name.
    pub label: String,
    /// Which iteration, the first being 0; `None` outside of loops.
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

/// Something wrong with a model in which windows run as loops, or with the plan of its arena.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoopFault {
    /// Graphs, orders, origins and offsets do not belong together.
    #[error("graphs and plan do not belong together: {0}")]
    Shape(String),
    /// An op that is not the one it is said to be a copy of.
    #[error("{at} is no copy of op {origin} of the original: {reason}")]
    OtherOp {
        /// Which.
        at: At,
        /// What it should be.
        origin: OpId,
        /// Why it is not.
        reason: String,
    },
    /// A row of an output is not what it was.
    #[error("row {row} of output `{output}` is wrong: {reader} {found}, where it should be {expected}")]
    Row {
        /// Which output.
        output: String,
        /// Which of its rows.
        row: u64,
        /// Who made what is wrong, and from what: an op that `reads`, or the output itself, which `holds`.
        reader: String,
        /// What should be there.
        expected: String,
        /// What is there.
        found: String,
    },
    /// An op writes over what it has not read to the end.
    #[error("{at} writes its output over its operand {operand}, {reason}")]
    Overwrites {
        /// Which op.
        at: At,
        /// Which of its operands, by position.
        operand: usize,
        /// Why that is not safe.
        reason: String,
    },
    /// Two results of an op share bytes.
    #[error("{at} writes two of its outputs to the same bytes")]
    SharedOutputs {
        /// Which op.
        at: At,
    },
    /// A loop copies a value to a place that overlaps the one it comes from.
    #[error("{at} copies its value {position} to bytes that overlap those it comes from")]
    OverlappingCopy {
        /// The `WHILE`.
        at: At,
        /// Which of its values.
        position: usize,
    },
    /// What an op does cannot be told before the model runs, or is not known here.
    #[error("{at} cannot be followed: {reason}")]
    Unfollowed {
        /// Which op.
        at: At,
        /// Why not.
        reason: String,
    },
    /// The model takes more steps than are followed.
    #[error("the model is too large to replay: it takes more than {most} steps")]
    TooLarge {
        /// How many are.
        most: u64,
    },
}

impl LoopFault {
    /// Does it say that nothing is known, rather than that something is wrong?
    pub fn is_undecided(&self) -> bool {
        matches!(self, Self::Unfollowed { .. } | Self::TooLarge { .. })
    }
}
