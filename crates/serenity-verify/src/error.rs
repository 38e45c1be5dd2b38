//! Why two models could not be compared.

use super::Engine;
use serenity::ErrorKind;
use std::io;

/// Why two models could not be compared. [`help`](Self::help) names the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// A file cannot be read.
    #[error("cannot read `{path}`: {source}")]
    Read {
        /// The file.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// A file that no runtime runs.
    #[error("`{path}` cannot be run: it is neither a .tflite nor an .onnx model")]
    NotRunnable {
        /// The file.
        path: String,
    },
    /// One of each format.
    #[error("`{a}` and `{b}` are for different runtimes, which never agree to the last bit")]
    DifferentFormats {
        /// The first model.
        a: String,
        /// The second.
        b: String,
    },
    /// A runtime for another format.
    #[error("{} does not run `{path}`", engine.title())]
    WrongEngine {
        /// The runtime asked for.
        engine: Engine,
        /// The first model.
        path: String,
    },
    /// No runtime is installed, or none of those that are takes the first model.
    #[error("no runtime can run the models: {}", list(skipped))]
    NoEngine {
        /// Every runtime, and why not.
        skipped: Vec<(Engine, String)>,
        /// Every Python that was tried, and what it said.
        tried: Vec<String>,
    },
    /// No runtime takes the first model.
    #[error("no runtime can run the first model: {}", list(skipped))]
    Refused {
        /// Every runtime, and why not.
        skipped: Vec<(Engine, String)>,
    },
    /// A runtime takes the first model but not the second.
    #[error("{} runs `{a}`, but fails on `{b}`: {reason}", engine.title())]
    SecondFails {
        /// The runtime.
        engine: Engine,
        /// The first model.
        a: String,
        /// The second.
        b: String,
        /// Why.
        reason: String,
    },
    /// A folder without emitted C.
    #[error("`{path}` holds no C that `serenity emit` wrote")]
    NotEmitted {
        /// The folder.
        path: String,
    },
    /// Code that does not compile.
    #[error("`{command}` does not compile it: {reason}")]
    Compile {
        /// The compiler.
        command: String,
        /// What it said.
        reason: String,
    },
    /// Our own script answered something else than it should.
    #[error("cannot make sense of the answer from {}: {answer}", engine.title())]
    Unreadable {
        /// The runtime.
        engine: Engine,
        /// The answer.
        answer: String,
    },
}

fn list(skipped: &[(Engine, String)]) -> String {
    let one = |(engine, reason): &(Engine, String)| format!("{}: {reason}", engine.title());
    skipped.iter().map(one).collect::<Vec<_>>().join("; ")
}

impl VerifyError {
    /// What kind of thing went wrong, for programs.
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

    /// What the user can do about it, where that is not plain from the message.
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
                let (engine, _) = skipped.first()?;
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
