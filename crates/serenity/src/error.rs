//! What can go wrong between a model and a plan.

use crate::ErrorKind;
use serenity_check::Fault;
use serenity_formats::{FileError, Problem};
use serenity_rewrite::PatchError;
use serenity_zoo::ZooError;
use std::borrow::Cow;
use std::io;

/// What can go wrong between a model and a plan. The message names the file and the place; [`help`](Self::help) the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file cannot be read.
    #[error("cannot read `{path}`: {source}")]
    Read {
        /// The file.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// A file is not what its name says, leaves a size open, or holds what cannot be kept.
    #[error("`{path}` {source}")]
    File {
        /// The file.
        path: String,
        /// What is wrong with it.
        source: FileError,
    },
    /// A model that would not find its constants in the folder it is written to.
    #[error(
        "`{path}` would not find its constants: the model keeps them in `{file}` beside it, and there is none in that folder"
    )]
    SideFile {
        /// Where the model would be written.
        path: String,
        /// The first file that is missing there.
        file: String,
    },
    /// Bytes that are not text.
    #[error("`{path}` is not a JSON graph: it is not UTF-8 text (byte {position})")]
    NotText {
        /// The file.
        path: String,
        /// The first byte that is not text.
        position: usize,
    },
    /// A file of a kind that cannot be read.
    #[error("`{path}`: cannot tell the format from the name")]
    UnknownFormat {
        /// The file.
        path: String,
    },
    /// A built-in network that does not exist, or not with these options.
    #[error("`zoo:{spec}`: {source}")]
    Zoo {
        /// What was asked for.
        spec: String,
        /// Why not.
        source: ZooError,
    },
    /// A built-in network that the format of a model file has no room for.
    #[error("`zoo:{spec}` cannot be written as a model: {source}")]
    Export {
        /// What was asked for.
        spec: String,
        /// Why not.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A rewrite of ours that does not fit the graph it was found in.
    #[error("`{name}` cannot be rewritten: {source}")]
    Rewrite {
        /// The model.
        name: String,
        /// Why.
        source: PatchError,
    },
    /// A plan that cannot be read.
    #[error("`{path}` is not a plan: {reason}")]
    PlanFile {
        /// The file.
        path: String,
        /// Why.
        reason: String,
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
    /// A model whose tensors cannot be placed at all.
    #[error(
        "`{graph}` has no arena: its sub-graphs run each other without end, or its sizes are beyond 2^60 bytes"
    )]
    NoArena {
        /// The model.
        graph: String,
    },
    /// Two memories that are too small for a model.
    #[error(transparent)]
    NoRoom(#[from] crate::two_memories::NoRoom),
    /// Traffic that cannot be counted.
    #[error("the off-chip traffic of `{graph}` cannot be counted: {source}")]
    Traffic {
        /// The model.
        graph: String,
        /// Why.
        source: serenity_traffic::TrafficError,
    },
    /// A model that ONNX Runtime was to optimise, and could not.
    #[error("`{path}` cannot be made for a fast session: {source}")]
    NoFast {
        /// The file.
        path: String,
        /// Why not.
        source: crate::NoFast,
    },
    /// A model that C is not written from.
    #[error("`{path}`: {source}")]
    Emit {
        /// The model.
        path: String,
        /// What is not covered.
        source: serenity_emit::Refused,
    },
    /// A file cannot be written.
    #[error("cannot write `{path}`: {source}")]
    Write {
        /// The file.
        path: String,
        /// Why.
        source: io::Error,
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
            Self::Read { .. } => ErrorKind::Read,
            Self::File { source, .. } => match source.problem {
                Problem::Damaged | Problem::CannotKeep => ErrorKind::Format,
                Problem::OpenSize => ErrorKind::Size,
                Problem::Request => ErrorKind::Request,
                Problem::Unfaithful => ErrorKind::Bug,
            },
            Self::UnknownFormat { .. } => ErrorKind::Request,
            Self::Rewrite { .. } | Self::CheckFailed { .. } => ErrorKind::Bug,
            Self::NotText { .. } => ErrorKind::Format,
            Self::Zoo { .. } => ErrorKind::Network,
            Self::PlanFile { .. } | Self::WrongPlan { .. } => ErrorKind::Plan,
            Self::Export { .. }
            | Self::Emit { .. }
            | Self::NoArena { .. }
            | Self::Views { .. }
            | Self::Traffic { .. } => ErrorKind::Model,
            Self::NoRoom(_) => ErrorKind::Room,
            Self::NoFast { .. } => ErrorKind::Runtime,
            Self::SideFile { .. } | Self::Write { .. } => ErrorKind::Write,
        }
    }

    /// Where in the file, if that is known: a path into a JSON document, a line, a byte, or a place in the terms of the model.
    pub fn place(&self) -> Option<String> {
        match self {
            Self::File { source, .. } => source.place.clone(),
            Self::NotText { position, .. } => Some(format!("byte {position}")),
            _ => None,
        }
    }

    /// What the user can do about it, where that is not plain from the message.
    pub fn help(&self) -> Option<Cow<'static, str>> {
        match self {
            Self::File { source, .. } => source.help.clone().map(Cow::Owned),
            _ => self.fixed_help().map(Cow::Borrowed),
        }
    }

    fn fixed_help(&self) -> Option<&'static str> {
        match self {
            Self::Read { source, .. } if source.kind() == io::ErrorKind::NotFound => Some(
                "give the path of a .tflite or .onnx model or of a .json graph, `-` for a graph on standard input, or `zoo:NAME` for a built-in network",
            ),
            Self::UnknownFormat { .. } => Some(
                "this version reads .tflite and .onnx models, .json graphs and built-in networks (`zoo:NAME`, see `serenity zoo list`)",
            ),
            Self::Views { .. } => {
                Some("say --runtime plain, tflm or litert: there a concatenation is a copy of its own")
            }
            Self::PlanFile { .. } => Some(
                "give a file written by `serenity optimize --plan`, or the output of `serenity schedule --json`",
            ),
            Self::SideFile { .. } => Some(
                "write the model into the folder it came from, or copy the file beside the new model first",
            ),
            Self::NoFast { source: crate::NoFast::Missing { .. }, .. } => Some(
                "install it (pip install onnxruntime), or name a Python that has it in SERENITY_PYTHON; --ort-session plain asks for none",
            ),
            Self::Emit { .. } => Some(
                "run the model with TensorFlow Lite for Microcontrollers: `serenity optimize` makes it need less there",
            ),
            Self::NoFast { .. } => Some("--ort-session plain orders the file as it is, without asking"),
            Self::NoRoom(_) => Some("give a larger memory; the last one may be as large as you like"),
            Self::CheckFailed { .. } | Self::Rewrite { .. } => {
                Some("this is a bug in Serenity; please report it with the model")
            }
            _ => None,
        }
    }
}
