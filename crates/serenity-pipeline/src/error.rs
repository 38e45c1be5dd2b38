//! Errors of the pipeline, from a loaded model to its plan.

use crate::ErrorKind;
use serenity_check::Fault;
use serenity_formats::{FileError, Problem};
use serenity_rewrite::PatchError;
use std::borrow::Cow;

/// An error of the pipeline. The message names the file and the place in it; [`help`](Self::help) names the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file is not of the format that its name says, leaves a size open, or holds something that cannot be kept.
    #[error("`{path}` {source}")]
    File {
        /// The path of the file.
        path: String,
        /// The fault in the file.
        source: FileError,
    },
    /// An option does not fit the model or its runtime.
    #[error("{reason}")]
    Unfit {
        /// The option, and why it does not fit.
        reason: String,
        /// What to say instead.
        remedy: String,
    },
    /// A rewrite does not fit the graph that it was found in: a bug of ours.
    #[error("`{name}` cannot be rewritten: {source}")]
    Rewrite {
        /// The name of the model.
        name: String,
        /// The reason why the rewrite does not fit.
        source: PatchError,
    },
    /// A plan does not belong to the model that it is applied to.
    #[error("the plan does not belong to this model: {reason}")]
    WrongPlan {
        /// How the plan and the model differ.
        reason: String,
    },
    /// The memory model cannot count the memory of this graph.
    #[error(
        "`{graph}`: its concatenations hold each other, and too many ops read them, to count them as views"
    )]
    Views {
        /// The name of the graph.
        graph: String,
    },
    /// ONNX Runtime was to optimise the model, and could not.
    #[error("`{path}` cannot be made for a fast session: {source}")]
    NoFast {
        /// The path of the file.
        path: String,
        /// The reason why ONNX Runtime could not be used.
        source: crate::NoFast,
    },
    /// A plan that we made did not pass our own checker: a bug of ours.
    #[error(
        "the plan for `{graph}` failed its check, so nothing was written: {}",
        faults.iter().map(Fault::to_string).collect::<Vec<_>>().join("; ")
    )]
    CheckFailed {
        /// The name of the graph.
        graph: String,
        /// The faults that the checker found.
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
            Self::Unfit { .. } => ErrorKind::Request,
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
            Self::Unfit { remedy, .. } => return Some(Cow::Owned(remedy.clone())),
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
