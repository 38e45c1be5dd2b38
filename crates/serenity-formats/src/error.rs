//! What can be wrong with a file.

use std::error::Error;

/// Why a file cannot be read, or cannot be written as asked. Its message goes on after the name of the file.
#[derive(Debug, thiserror::Error)]
#[error("{verdict}: {source}")]
pub struct FileError {
    /// What kind of problem it is.
    pub problem: Problem,
    /// Where in the file, if that is known.
    pub place: Option<String>,
    /// What the user can do about it, where that is not plain from the message.
    pub help: Option<String>,
    /// What it is not: 'is not a graph'.
    pub(crate) verdict: &'static str,
    pub(crate) source: Box<dyn Error + Send + Sync>,
}

/// A kind of problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    /// It is not what its name says, or damaged.
    Damaged,
    /// It leaves a size open.
    OpenSize,
    /// What the reader was told about it does not fit it.
    Request,
    /// It holds what cannot be kept through a change.
    CannotKeep,
    /// What was written is not what was meant: a fault of ours.
    Unfaithful,
}

impl FileError {
    /// What was asked for is not possible with this format.
    pub(crate) fn of_request(verdict: &'static str, source: &'static str) -> Self {
        Self { problem: Problem::Request, place: None, help: None, verdict, source: source.into() }
    }
}
