//! Errors as the user sees them.

use crate::printable::printable;
use std::borrow::Cow;
use std::io::{self, Write};

/// Why a command could not do its job.
pub(crate) enum Failure {
    /// The library says so.
    Library(serenity::Error),
    /// Standard output cannot be written.
    Output(io::Error),
    /// The request makes no sense; with a remedy.
    Request { message: String, help: Option<String> },
    /// Already reported, one by one.
    Reported,
}

impl Failure {
    pub(crate) fn request(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Request { message: message.into(), help: Some(help.into()) }
    }

    /// Writes `error: …` and, where there is a remedy, `help: …` to standard error.
    pub(crate) fn report(&self) {
        let (message, help) = match self {
            Self::Library(error) => (error.to_string(), error.help().map(Cow::into_owned)),
            Self::Output(error) => (format!("cannot write to standard output: {error}"), None),
            Self::Request { message, help } => (message.clone(), help.clone()),
            Self::Reported => return,
        };
        let message = printable(&message);
        let mut stderr = io::stderr().lock();
        // There is nobody left to tell if this fails.
        let _ = writeln!(stderr, "error: {message}");
        if let Some(help) = help {
            let _ = writeln!(stderr, "help: {}", printable(&help));
        }
    }
}

impl From<serenity::Error> for Failure {
    fn from(error: serenity::Error) -> Self {
        Self::Library(error)
    }
}

impl From<serenity::VerifyError> for Failure {
    fn from(error: serenity::VerifyError) -> Self {
        Self::Request { message: error.to_string(), help: error.help() }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}
