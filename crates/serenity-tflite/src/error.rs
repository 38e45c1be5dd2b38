//! Why a file is not a model, or cannot be changed as asked.

use crate::flat::Fault;
use serenity_ir::{GraphError, OrderError};

/// What is wrong, where, and the remedy where there is one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each message names its fields")]
pub enum Error {
    /// The file is too short, or of another kind.
    #[error("not a TensorFlow Lite model: bytes 4 to 7 are not `TFL3`")]
    Identifier,
    /// The version of the schema is not supported.
    #[error(
        "schema version {found} is not supported, only version 3; convert the model with a newer converter"
    )]
    Version { found: u32 },
    /// The bytes do not follow the format.
    #[error("{place}: {fault}; the file is damaged or cut short")]
    Damaged { place: String, fault: Fault },
    /// An index is out of range.
    #[error("{place}: {what} {index} of {count}")]
    Reference { place: String, what: &'static str, index: i64, count: usize },
    /// Something that makes no sense in a model.
    #[error("{place}: {problem}")]
    Invalid { place: String, problem: String },
    /// The file refers to its parts so often that the model is far larger than the file.
    #[error("{place}: the file repeats its parts until they exceed {limit} bytes; no real model does")]
    Repetitive { place: String, limit: u64 },
    /// A sub-graph is not a valid graph.
    #[error("sub-graph {sub_graph}: {source}")]
    Graph { sub_graph: usize, source: GraphError },
    /// An order in which a sub-graph cannot run.
    #[error("sub-graph {sub_graph}: {source}")]
    Order { sub_graph: usize, source: OrderError },
    /// A change that cannot be made.
    #[error("the model cannot be rewritten: {0}")]
    Edit(String),
    /// A change did more, or less, than was asked for: a bug of ours, caught before the file is returned.
    #[error("the rewritten model differs from the original in {0}; please report this")]
    Unfaithful(String),
}

impl Error {
    /// Where in the model, if that is known.
    pub fn place(&self) -> Option<String> {
        match self {
            Self::Damaged { place, .. }
            | Self::Reference { place, .. }
            | Self::Invalid { place, .. }
            | Self::Repetitive { place, .. } => Some(place.clone()),
            Self::Graph { sub_graph, .. } | Self::Order { sub_graph, .. } => {
                Some(format!("sub-graph {sub_graph}"))
            }
            Self::Identifier => Some("byte 4".to_owned()),
            Self::Version { .. } | Self::Edit(_) | Self::Unfaithful(_) => None,
        }
    }
}

/// Says where a fault was met.
pub(crate) trait At<T> {
    fn at(self, place: impl FnOnce() -> String) -> Result<T, Error>;
}

impl<T> At<T> for Result<T, Fault> {
    fn at(self, place: impl FnOnce() -> String) -> Result<T, Error> {
        self.map_err(|fault| Error::Damaged { place: place(), fault })
    }
}

/// For faults in a file that was read before: they cannot happen, so there is no place to name.
impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        Self::Damaged { place: "the model".to_owned(), fault }
    }
}
