//! Errors as the user sees them, and as programs do.

use crate::json;
use crate::printable::printable;
use crate::screen::layout::HANG;
use crate::screen::say;
use crate::screen::style::{BAD, TYPED, paint};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use serenity::ErrorKind;
use std::borrow::Cow;
use std::io;

/// Why a command could not do its job.
pub(crate) enum Failure {
    /// The library says so.
    Library(serenity::Error),
    /// Standard output cannot be written.
    Output(io::Error),
    /// Anything else; with a remedy.
    Other { kind: ErrorKind, message: String, help: Option<String> },
    /// Already reported, one by one.
    Reported,
}

/// Says that the request makes no sense.
pub(crate) fn refuse<T>(message: impl Into<String>, help: impl Into<String>) -> Result<T, Failure> {
    Err(Failure::request(message, help))
}

impl Failure {
    /// The request makes no sense.
    pub(crate) fn request(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::of(ErrorKind::Request, message, help)
    }

    pub(crate) fn of(kind: ErrorKind, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Other { kind, message: message.into(), help: Some(help.into()) }
    }

    /// Arguments that make no sense, in the words of whoever reads them: a sentence, then suggestions and the usage.
    pub(crate) fn arguments(error: &clap::Error) -> Self {
        let text = error.to_string();
        let text = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
        let (message, help) = text.split_once("\n\n").unwrap_or((text, ""));
        let help = Some(help.trim_start().to_owned()).filter(|help| !help.is_empty());
        Self::Other { kind: ErrorKind::Arguments, message: message.to_owned(), help }
    }

    fn kind(&self) -> Option<ErrorKind> {
        match self {
            Self::Library(error) => Some(error.kind()),
            Self::Output(_) => Some(ErrorKind::Write),
            Self::Other { kind, .. } => Some(*kind),
            Self::Reported => None,
        }
    }

    fn message(&self) -> String {
        match self {
            Self::Library(error) => error.to_string(),
            Self::Output(error) => format!("cannot write to standard output: {error}"),
            Self::Other { message, .. } => message.clone(),
            Self::Reported => String::new(),
        }
    }

    fn help(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Library(error) => error.help(),
            Self::Other { help, .. } => help.as_deref().map(Cow::Borrowed),
            Self::Output(_) | Self::Reported => None,
        }
    }

    /// Writes `error: …` and, where there is a remedy, `help: …` to standard error.
    pub(crate) fn report(&self) {
        if matches!(self, Self::Reported) {
            return;
        }
        let mut text = format!("{} {HANG}{}\n", paint(BAD, "error:"), printable(&self.message()));
        if let Some(help) = self.help() {
            // A remedy may have several lines, some of them to be copied.
            for (at, line) in help.lines().enumerate() {
                let label = if at == 0 { format!("{} {HANG}", paint(TYPED, "help:")) } else { String::new() };
                text += &label;
                text += &printable(line);
                text.push('\n');
            }
        }
        say(&text);
    }

    /// The failure as a JSON object; `None` if it was reported already.
    pub(crate) fn to_json(&self, input: Option<&str>) -> Option<Value> {
        let place = if let Self::Library(source) = self { source.place() } else { None };
        let (kind, message, help) = (self.kind()?, self.message(), self.help());
        let error = StatedError { kind, message, help, place };
        Some(json::object("error", input, StatedFailure { error }))
    }
}

/// What any command with --json prints instead of its result if it fails; the exit code is 2. `schedule` prints one for
/// each input that fails, and goes on.
#[derive(Serialize, JsonSchema)]
pub(crate) struct StatedFailure<'a> {
    /// What went wrong.
    error: StatedError<'a>,
}

/// An error of a command.
#[derive(Serialize, JsonSchema)]
struct StatedError<'a> {
    /// arguments: a command line that cannot be understood. request: options that contradict each other, or do not
    /// apply to this input. read: a file cannot be read. format: a file is damaged, or is not of the format that its
    /// name says. network: an unknown built-in network, or one without these options. size: the model leaves a size
    /// open. plan: a plan that cannot be read, or that belongs to another model. model: the model is not one for which
    /// this can be computed or made. room: a memory is too small. write: a file or standard output cannot be written.
    /// runtime: no runtime was found to run the model, or it refused the model. limit: a limit or Ctrl-C ended the run
    /// before there was any result. bug: a bug of ours; please report it.
    kind: ErrorKind,
    /// For people; its words may change.
    message: String,
    /// The remedy, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    help: Option<Cow<'a, str>>,
    /// The place in the file, where it is known: a path into a JSON document, a line, a byte, or a place in the terms
    /// of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    place: Option<String>,
}

impl From<serenity::Error> for Failure {
    fn from(error: serenity::Error) -> Self {
        Self::Library(error)
    }
}

impl From<serenity::pipeline::Error> for Failure {
    fn from(error: serenity::pipeline::Error) -> Self {
        Self::Library(error.into())
    }
}

impl From<serenity_verify::VerifyError> for Failure {
    fn from(error: serenity_verify::VerifyError) -> Self {
        Self::Other { kind: error.kind(), message: error.to_string(), help: error.help() }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}
