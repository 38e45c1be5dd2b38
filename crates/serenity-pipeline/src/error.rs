//! What can go wrong between a model that was read and a plan.

use crate::ErrorKind;
use serenity_check::Fault;
use serenity_formats::{FileError, Problem};
use serenity_rewrite::PatchError;
use std::borrow::Cow;

/// What can go wrong between a model that was read and a plan. The message names the file and the place; [`help`](Self::help) the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file is not what its name says, leaves a size open, or holds what cannot be kept.
    #[error("`{path}` {source}")]
    File {
        /// The file.
        path: String,
        /// What is wrong with it.
        source: FileError,
    },
    /// A rewrite of ours that does not fit the graph it was found in.
    #[error("`{name}` cannot be rewritten: {source}")]
    Rewrite {
        /// The model.
        name: String,
        /// Why.
        source: PatchError,
    },
    /// A plan that does not belong to the model it is applied to.
    #[error("the plan does not belong to this model: {reason}")]
    WrongPlan {
        /// Why.
        reason: String,
    },
    /// A graph of which a memory model cannot tell what it needs.
    #[error(
        "`{graph}`: its concatenations hold each other, and too many ops read them, to count them as views"
    )]
    Views {
        /// The graph.
        graph: String,
    },
    /// A model that ONNX Runtime was to optimise, and could not.
    #[error("`{path}` cannot be made for a fast session: {source}")]
    NoFast {
        /// The file.
        path: String,
        /// Why not.
        source: crate::NoFast,
    },
    /// Our own plan did not pass our own checker.
    #[error(
        "the plan for `{graph}` failed its check, so nothing was written: {}",
        faults.iter().map(Fault::to_string).collect::<Vec<_>>().join("; ")
    )]
    CheckFailed {
        /// The graph.
        graph: String,
        /// What the checker found.
        faults: Vec<Fault>,
    },
}

impl Error {
    /// What kind of thing went wrong, for programs.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::File { source, .. } => match source.problem {
                Problem::Damaged | Problem::CannotKeep => ErrorKind::Format,
                Problem::OpenSize => ErrorKind::Size,
                Problem::Request => ErrorKind::Request,
                Problem::Unfaithful => ErrorKind::Bug,
            },
            Self::Rewrite { .. } | Self::CheckFailed { .. } => ErrorKind::Bug,
            Self::WrongPlan { .. } => ErrorKind::Plan,
            Self::Views { .. } => ErrorKind::Model,
            Self::NoFast { .. } => ErrorKind::Runtime,
        }
    }

    /// Where in the file, if that is known: a path into a JSON document, a line, a byte, or a place in the terms of the model.
    pub fn place(&self) -> Option<String> {
        match self {
            Self::File { source, .. } => source.place.clone(),
            _ => None,
        }
    }

    /// What the user can do about it, where that is not plain from the message.
    pub fn help(&self) -> Option<Cow<'static, str>> {
        let fixed = match self {
            Self::File { source, .. } => return source.help.clone().map(Cow::Owned),
            Self::Views { .. } => {
                "say --runtime plain, tflm or litert: there a concatenation is a copy of its own"
            }
            Self::NoFast { source: crate::NoFast::Missing { .. }, .. } => {
                "install it (pip install onnxruntime), or name a Python that has it in SERENITY_PYTHON; --ort-session plain asks for none"
            }
            Self::NoFast { .. } => "--ort-session plain orders the file as it is, without asking",
            Self::CheckFailed { .. } | Self::Rewrite { .. } => {
                "this is a bug in Serenity; please report it with the model"
            }
            Self::WrongPlan { .. } => return None,
        };
        Some(Cow::Borrowed(fixed))
    }
}
