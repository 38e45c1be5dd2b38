//! Why a file is not a model, or cannot be changed as asked.

use crate::flat::Fault;
use serenity_ir::{GraphError, OrderError};

/// What is wrong, where, and the remedy where there is one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Too short, or another kind of file.
    #[error("not a TensorFlow Lite model: bytes 4 to 7 are not `TFL3`")]
    Identifier,
    /// A schema that we do not know.
    #[error(
        "schema version {found} is not supported, only version 3; convert the model with a newer converter"
    )]
    Version {
        /// The version the file gives.
        found: u32,
    },
    /// Bytes that are not what the format asks for.
    #[error("{place}: {fault}; the file is damaged or cut short")]
    Damaged {
        /// Where, in the terms of the model.
        place: String,
        /// Where and what, in bytes.
        fault: Fault,
    },
    /// A number that names nothing.
    #[error("{place}: {what} {index} of {count}")]
    Reference {
        /// Who names it.
        place: String,
        /// A tensor, a buffer, …
        what: &'static str,
        /// The number.
        index: i64,
        /// How many there are.
        count: usize,
    },
    /// Something that makes no sense in a model.
    #[error("{place}: {problem}")]
    Invalid {
        /// Where.
        place: String,
        /// What, and the remedy where there is one.
        problem: String,
    },
    /// Parts that are used again and again, so that the model is far larger than its file.
    #[error("{place}: the file repeats its parts until they exceed {limit} bytes; no real model does")]
    Repetitive {
        /// Where the limit was met.
        place: String,
        /// The limit, which grows with the file.
        limit: u64,
    },
    /// A sub-graph that is not a graph.
    #[error("sub-graph {sub_graph}: {source}")]
    Graph {
        /// Which.
        sub_graph: usize,
        /// Why.
        source: GraphError,
    },
    /// An order in which a sub-graph cannot run.
    #[error("sub-graph {sub_graph}: {source}")]
    Order {
        /// Which.
        sub_graph: usize,
        /// Why.
        source: OrderError,
    },
    /// A change that cannot be made.
    #[error("the model cannot be rewritten: {0}")]
    Edit(String),
    /// A change that did more, or less, than was asked for: a mistake of ours, caught before the file is given away.
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
