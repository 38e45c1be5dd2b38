//! What can go wrong.

use crate::two_memories::NoRoom;
use serenity_pipeline::ErrorKind;

/// Why traffic cannot be counted, or tensors cannot be divided between memories.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each message names its fields")]
pub enum Error {
    /// No order was found to start from, or the plan is not one of the model.
    #[error(transparent)]
    Pipeline(#[from] serenity_pipeline::Error),
    /// A model whose tensors cannot be placed at all.
    #[error(
        "`{graph}` has no arena: its sub-graphs run each other without end, or its sizes are beyond 2^60 bytes"
    )]
    NoArena { graph: String },
    /// Two memories that are too small for a model.
    #[error(transparent)]
    NoRoom(#[from] NoRoom),
    /// Traffic that cannot be counted.
    #[error("the off-chip traffic of `{graph}` cannot be counted: {source}")]
    Traffic { graph: String, source: serenity_traffic::TrafficError },
}

impl Error {
    /// What kind of thing went wrong, for programs.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Pipeline(error) => error.kind(),
            Self::NoArena { .. } | Self::Traffic { .. } => ErrorKind::Model,
            Self::NoRoom(_) => ErrorKind::Room,
        }
    }
}
