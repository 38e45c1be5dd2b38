//! Errors of the comparison of two models.

use super::{Engine, Skipped};
use serenity::ErrorKind;
use std::io;

/// Why two models could not be compared. [`help`](Self::help) names the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each message names its fields")]
pub enum VerifyError {
    /// A file cannot be read.
    #[error("cannot read `{path}`: {source}")]
    Read { path: String, source: io::Error },
    /// A file that no runtime runs.
    #[error("`{path}` cannot be run: it is neither a .tflite nor an .onnx model")]
    NotRunnable { path: String },
    /// The two models have different formats.
    #[error("`{a}` and `{b}` are for different runtimes, which never agree to the last bit")]
    DifferentFormats { a: String, b: String },
    /// The runtime does not run models of this format.
    #[error("{} does not run `{path}`", engine.title())]
    WrongEngine { engine: Engine, path: String },
    /// No runtime is installed, or no installed one takes the first model.
    #[error("no runtime can run the models: {}", list(skipped))]
    NoEngine { skipped: Vec<Skipped>, tried: Vec<String> },
    /// No runtime takes the first model.
    #[error("no runtime can run the first model: {}", list(skipped))]
    Refused { skipped: Vec<Skipped> },
    /// A runtime takes the first model but not the second.
    #[error("{} runs `{a}`, but fails on `{b}`: {reason}", engine.title())]
    SecondFails { engine: Engine, a: String, b: String, reason: String },
    /// A folder has no emitted C.
    #[error("`{path}` holds no C that `serenity emit` wrote")]
    NotEmitted { path: String },
    /// The code does not compile.
    #[error("`{command}` does not compile it: {reason}")]
    Compile { command: String, reason: String },
    /// Our own script gave an answer that we cannot read.
    #[error("cannot make sense of the answer from {}: {answer}", engine.title())]
    Unreadable { engine: Engine, answer: String },
}

fn list(skipped: &[Skipped]) -> String {
    let one = |Skipped { engine, reason }: &Skipped| format!("{}: {reason}", engine.title());
    skipped.iter().map(one).collect::<Vec<_>>().join("; ")
}

impl VerifyError {
    /// The kind of error, for programs.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Read { .. } => ErrorKind::Read,
            Self::NotRunnable { .. }
            | Self::DifferentFormats { .. }
            | Self::WrongEngine { .. }
            | Self::NotEmitted { .. } => ErrorKind::Request,
            Self::NoEngine { .. }
            | Self::Refused { .. }
            | Self::SecondFails { .. }
            | Self::Compile { .. } => ErrorKind::Runtime,
            Self::Unreadable { .. } => ErrorKind::Bug,
        }
    }

    /// What the user can do about it, unless the message makes that plain.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::NotRunnable { .. } => Some("give two .tflite or two .onnx models".to_owned()),
            Self::DifferentFormats { .. } => Some("compare two .tflite or two .onnx models".to_owned()),
            Self::WrongEngine { .. } => {
                Some("litert, litert-builtin, litert-xnnpack and tflm run .tflite models, onnxruntime runs .onnx models".to_owned())
            }
            Self::NotEmitted { .. } => Some("write it with `serenity emit c MODEL -o DIR`".to_owned()),
            Self::Compile { .. } => {
                Some("CC names the compiler, CFLAGS what it is told; a C11 compiler takes the code".to_owned())
            }
            Self::NoEngine { skipped, tried } => {
                let Skipped { engine, .. } = skipped.first()?;
                Some(format!(
                    "install one with `pip install {}`, or name a Python that has it by --python or SERENITY_PYTHON (tried: {})",
                    engine.to_install(),
                    tried.join("; ")
                ))
            }
            _ => None,
        }
    }
}
