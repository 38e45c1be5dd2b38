//! What can go wrong.

use crate::app::Memory;
use serenity::ErrorKind;
use serenity::memories::two_memories::NoRoom;
use serenity_report::grouped;
use std::io;

/// Free bytes of a memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Free {
    /// The memory.
    pub memory: Memory,
    /// Bytes that nothing else takes.
    pub bytes: u64,
}

/// Where there is too little room, and how much too little.
fn lacking(bytes: u64, lack: Option<&NoRoom>, free: &[Free]) -> String {
    let all = free.iter().fold(0, |sum: u64, free| sum.saturating_add(free.bytes));
    let names: Vec<String> = (free.iter())
        .map(|Free { memory, bytes }| {
            format!("`{}` ({} of {} free)", memory.name, grouped((*bytes).into()), memory.typed)
        })
        .collect();
    let names = names.join(" and ");
    if let Some(NoRoom { missing, proved, .. }) = lack {
        let how = if *proved { "whatever lies where" } else { "for the best division found" };
        return format!("{} bytes more than {names} hold, {how}", grouped((*missing).into()));
    }
    match bytes.checked_sub(all).filter(|&missing| missing > 0) {
        Some(missing) => format!("{} more than fit {names}", grouped(missing.into())),
        // Between two memories, whole tensors are divided.
        None => format!("and no way was found to divide them between {names}"),
    }
}

fn remedy(largest: &[(String, u64)], free: &[Free], may_change: bool) -> String {
    if largest.is_empty() {
        return "make this memory larger, or name another one: `state`, `memories`".to_owned();
    }
    let largest: Vec<String> =
        largest.iter().map(|(name, bytes)| format!("`{name}` {}", grouped((*bytes).into()))).collect();
    let second = if free.len() == 1 { "give it a second memory" } else { "make a memory larger" };
    let remedy = match may_change {
        true => format!("allow `loops` or `int8_io`, {second}, or run fewer models together"),
        false => second.to_owned(),
    };
    format!("largest at its peak: {}; {remedy}", largest.join(", "))
}

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
    /// A model that cannot be read.
    #[error("model `{model}`: {source}")]
    Load { model: String, source: Box<serenity::Error> },
    /// One of the models.
    #[error(transparent)]
    Model(#[from] serenity::Error),
    /// Memories are too small.
    #[error("`{path}`: {what} {} bytes, {}", grouped((*bytes).into()), lacking(*bytes, lack.as_deref(), free))]
    NoRoom {
        path: String,
        what: String,
        bytes: u64,
        /// What two memories lack, if the model was divided between them.
        lack: Option<Box<NoRoom>>,
        /// What is free in each memory that may be used.
        free: Vec<Free>,
        /// The largest tensors of the model at its peak, and their bytes.
        largest: Vec<(String, u64)>,
        /// May the model be changed so that it needs less?
        may_change: bool,
    },
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
            Self::Load { source, .. } => source.kind(),
            Self::Model(error) => error.kind(),
            Self::NoRoom { .. } => ErrorKind::Room,
            Self::Feed { .. } | Self::Unknown { .. } => ErrorKind::Model,
            Self::CheckFailed { .. } => ErrorKind::Bug,
        }
    }

    /// The remedy.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Load { source, .. } if source.kind() == ErrorKind::Read => {
                Some("`file` names a .tflite or .onnx model; its path begins at the folder of the file that describes the device".to_owned())
            }
            Self::Load { source: error, .. } => error.help().map(std::borrow::Cow::into_owned),
            Self::Model(error) => error.help().map(std::borrow::Cow::into_owned),
            Self::NoRoom { largest, free, may_change, .. } => Some(remedy(largest, free, *may_change)),
            Self::Feed { .. } => Some(
                "an output feeds an input of the same type and size; `serenity inspect` shows those of a model"
                    .to_owned(),
            ),
            Self::App { .. } => Some("`serenity device --help` shows a whole file".to_owned()),
            _ => None,
        }
    }
}
