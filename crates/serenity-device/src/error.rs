//! What can go wrong.

use serenity::ErrorKind;
use std::io;

/// Why there is no plan for a device.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each message names its fields")]
pub enum DeviceError {
    /// The file cannot be read.
    #[error("cannot read `{path}`: {source}")]
    Read { path: String, source: io::Error },
    /// The file is no description of a device.
    #[error("`{path}`: {reason}")]
    App { path: String, reason: String },
    /// One of the models.
    #[error(transparent)]
    Model(#[from] serenity::Error),
    /// A memory is too small.
    #[error("`{path}`: {what} {needs}: {bytes} bytes, and {free} of the {size} bytes of `{memory}` are free")]
    NoRoom { path: String, what: String, needs: String, bytes: u64, memory: String, free: u64, size: u64 },
    /// A model of which not enough is known.
    #[error("`{path}`: what TFLM keeps for it is not known, so no places can be told")]
    Unknown { path: String },
    /// An output cannot become an input.
    #[error("`{path}`: {reason}")]
    Feed { path: String, reason: String },
    /// A bug of ours.
    #[error("`{path}`: the plan failed its own check: {reason}")]
    CheckFailed { path: String, reason: String },
}

impl DeviceError {
    /// What kind of thing went wrong, for programs.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Read { .. } => ErrorKind::Read,
            Self::App { .. } => ErrorKind::Format,
            Self::Model(error) => error.kind(),
            Self::NoRoom { .. } => ErrorKind::Room,
            Self::Feed { .. } | Self::Unknown { .. } => ErrorKind::Model,
            Self::CheckFailed { .. } => ErrorKind::Bug,
        }
    }

    /// The remedy.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Model(error) => error.help().map(std::borrow::Cow::into_owned),
            Self::NoRoom { .. } => Some(
                "allow `loops` or `int8_io` for this model, give it a second memory, or run fewer models together"
                    .to_owned(),
            ),
            Self::App { .. } => Some("`serenity device --help` shows a whole file".to_owned()),
            _ => None,
        }
    }
}
