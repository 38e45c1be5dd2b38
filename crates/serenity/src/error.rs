//! Errors between a model and its plan.

use crate::ErrorKind;
use serenity_formats::FileError;
use serenity_zoo::ZooError;
use std::borrow::Cow;
use std::io;

/// An error between a model and its plan. The message names the file and the place in it; [`help`](Self::help) names
/// the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each message names its fields")]
pub enum Error {
    /// An error of the pipeline, after the model was read.
    #[error(transparent)]
    Pipeline(#[from] serenity_pipeline::Error),
    /// A file cannot be read.
    #[error("cannot read `{path}`: {source}")]
    Read { path: String, source: io::Error },
    /// A model would not find its constants in the folder that it is written to.
    #[error(
        "`{path}` would not find its constants: the model keeps them in `{file}` beside it, and there is none in that folder"
    )]
    SideFile { path: String, file: String },
    /// Bytes that are not text.
    #[error("`{path}` is not a JSON graph: it is not UTF-8 text (byte {position})")]
    NotText { path: String, position: usize },
    /// A file of an unknown format.
    #[error("`{path}`: cannot tell the format from the name")]
    UnknownFormat { path: String },
    /// An unknown built-in network, or one without these options.
    #[error("`zoo:{spec}`: {source}")]
    Zoo { spec: String, source: ZooError },
    /// A built-in network that cannot be written in this format.
    #[error("`zoo:{spec}` cannot be written as a model: {source}")]
    Export { spec: String, source: Box<dyn std::error::Error + Send + Sync> },
    /// A plan that cannot be read.
    #[error("`{path}` is not a plan: {reason}")]
    PlanFile { path: String, reason: String },
    /// Traffic that cannot be counted, or tensors that cannot be divided between two memories.
    #[error(transparent)]
    Memories(#[from] serenity_memories::Error),
    /// A model that C is not written from.
    #[error("`{path}`: {source}")]
    Emit { path: String, source: serenity_emit::Refused },
    /// A stream that the independent checker refuses.
    #[error("`{path}`: the stream failed its own check: {source}")]
    Stream { path: String, source: serenity_check::StreamFault },
    /// A model that takes new rows only and computes something else, as the independent checker finds.
    #[error("`{path}`: the model for new rows failed its own check: {source}")]
    Hops { path: String, source: Box<serenity_check::loops::LoopFault> },
    /// A file cannot be written.
    #[error("cannot write `{path}`: {source}")]
    Write { path: String, source: io::Error },
}

impl Error {
    /// The error for a file that is not of the format that its name says, leaves a size open, or holds something that
    /// cannot be kept.
    pub(crate) fn file(path: &str, source: FileError) -> Self {
        serenity_pipeline::Error::File { path: path.to_owned(), source }.into()
    }

    /// The error for a plan that does not belong to the model it is applied to.
    pub(crate) fn wrong_plan(reason: String) -> Self {
        serenity_pipeline::Error::WrongPlan { reason }.into()
    }

    /// The kind of error, for programs.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Pipeline(error) => error.kind(),
            Self::Read { .. } => ErrorKind::Read,
            Self::UnknownFormat { .. } => ErrorKind::Request,
            Self::NotText { .. } => ErrorKind::Format,
            Self::Zoo { .. } => ErrorKind::Network,
            Self::PlanFile { .. } => ErrorKind::Plan,
            Self::Export { .. } | Self::Emit { .. } => ErrorKind::Model,
            Self::Stream { .. } | Self::Hops { .. } => ErrorKind::Bug,
            Self::Memories(error) => error.kind(),
            Self::SideFile { .. } | Self::Write { .. } => ErrorKind::Write,
        }
    }

    /// The place in the file, if known: a path into a JSON document, a line, a byte, or a place in the terms of the
    /// model.
    pub fn place(&self) -> Option<String> {
        match self {
            Self::Pipeline(error) | Self::Memories(serenity_memories::Error::Pipeline(error)) => {
                error.place()
            }
            Self::NotText { position, .. } => Some(format!("byte {position}")),
            _ => None,
        }
    }

    /// What the user can do about it, unless the message makes that plain.
    pub fn help(&self) -> Option<Cow<'static, str>> {
        match self {
            Self::Pipeline(error) | Self::Memories(serenity_memories::Error::Pipeline(error)) => error.help(),
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
            Self::PlanFile { .. } => Some(
                "give a file written by `serenity optimize --plan`, or the output of `serenity schedule --json`",
            ),
            Self::SideFile { .. } => Some(
                "write the model into the folder it came from, or copy the file beside the new model first",
            ),
            Self::Stream { .. } | Self::Hops { .. } => {
                Some("this is a bug in Serenity; please report it with the model")
            }
            Self::Emit { .. } => Some(
                "if TensorFlow Lite for Microcontrollers or LiteRT runs the model, `serenity optimize` makes it need less there",
            ),
            Self::Memories(serenity_memories::Error::NoRoom(_)) => {
                Some("give a larger memory; the last one may be as large as you like")
            }
            _ => None,
        }
    }
}
