//! Errors of the library as exceptions of Python: which class each becomes is decided in `serenity/_errors.py`.

use pyo3::prelude::*;
use serenity::sample::NoOrders;
use serenity::{Error, ErrorKind};
use serenity_verify::VerifyError;

/// What went wrong, in the terms of the command.
pub(crate) struct Failure {
    kind: ErrorKind,
    message: String,
    help: Option<String>,
    place: Option<String>,
    /// The file and the number that the system has for it, if the system said no.
    system: Option<(String, i32)>,
}

impl Failure {
    /// What was asked for makes no sense.
    pub(crate) fn request(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            kind: ErrorKind::Request,
            message: message.into(),
            help: Some(help.into()),
            place: None,
            system: None,
        }
    }

    /// A fault of ours.
    pub(crate) fn bug(message: impl Into<String>) -> Self {
        let help = "this is a bug in Serenity; please report it with the model";
        Self { kind: ErrorKind::Bug, ..Self::request(message, help) }
    }

    /// The exception itself, not yet raised.
    pub(crate) fn into_exception(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        let make = py.import("serenity._errors")?.getattr("make")?;
        make.call1((self.kind.name(), self.message, self.help, self.place, self.system))
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        Python::attach(|py| match failure.into_exception(py) {
            Ok(exception) => PyErr::from_value(exception),
            Err(error) => error,
        })
    }
}

impl From<serenity::pipeline::Error> for Failure {
    fn from(error: serenity::pipeline::Error) -> Self {
        Error::from(error).into()
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let system = match &error {
            Error::Read { path, source } | Error::Write { path, source } => {
                Some((path.clone(), source.raw_os_error().unwrap_or(0)))
            }
            _ => None,
        };
        Self {
            kind: error.kind(),
            message: error.to_string(),
            help: error.help().map(Into::into),
            place: error.place(),
            system,
        }
    }
}

impl From<NoOrders> for Failure {
    fn from(error: NoOrders) -> Self {
        let help = match error {
            NoOrders::NoneDrawn(_) => "give more time",
            NoOrders::NotCounted(_) => {
                "leave out exact to draw random orders, or raise memory_limit or time_limit"
            }
        };
        Self { kind: error.kind(), ..Self::request(error.to_string(), help) }
    }
}

impl From<VerifyError> for Failure {
    fn from(error: VerifyError) -> Self {
        let system = match &error {
            VerifyError::Read { path, source } => Some((path.clone(), source.raw_os_error().unwrap_or(0))),
            _ => None,
        };
        Self { kind: error.kind(), message: error.to_string(), help: error.help(), place: None, system }
    }
}

/// A choice by its name, as the command takes it.
pub(crate) fn named<T>(name: &str) -> Result<T, Failure>
where
    T: std::str::FromStr,
    T::Err: std::fmt::Display,
{
    name.parse().map_err(|error: T::Err| Failure {
        kind: ErrorKind::Arguments,
        message: error.to_string(),
        help: None,
        place: None,
        system: None,
    })
}
