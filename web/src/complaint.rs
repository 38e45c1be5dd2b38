//! Why something cannot be done, and what helps.

use serde::Serialize;

/// An error as the page shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Complaint {
    /// What is wrong, and where.
    pub message: String,
    /// What the user can do about it.
    pub help: Option<String>,
}

impl Complaint {
    /// A complaint with its remedy.
    pub(crate) fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { message: message.into(), help: Some(help.into()) }
    }
}

impl From<serenity::Error> for Complaint {
    fn from(error: serenity::Error) -> Self {
        Self { message: error.to_string(), help: error.help().map(Into::into) }
    }
}

impl From<serenity::pipeline::Error> for Complaint {
    fn from(error: serenity::pipeline::Error) -> Self {
        serenity::Error::from(error).into()
    }
}
