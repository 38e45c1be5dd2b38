//! Stable names for kinds of errors, which programs can rely on.

use std::fmt;

/// What kind of thing went wrong. The names ([`Display`](fmt::Display)) are stable: scripts rely on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// A command line that cannot be understood.
    Arguments,
    /// Options contradict each other, or do not apply to this input.
    Request,
    /// A file cannot be read.
    Read,
    /// A file is damaged, or is not of the format that its name says.
    Format,
    /// An unknown built-in network, or one without these options.
    Network,
    /// The model leaves a size open.
    Size,
    /// A plan that cannot be read, or that belongs to another model.
    Plan,
    /// The model is not one for which this can be computed or made.
    Model,
    /// A memory is too small.
    Room,
    /// A file or standard output cannot be written.
    Write,
    /// No runtime was found to run the model, or it refused the model.
    Runtime,
    /// A limit or Ctrl-C ended the run before there was any result.
    Limit,
    /// A bug of ours.
    Bug,
}

serenity_search::named! {
    ErrorKind {
        "arguments" => Arguments,
        "request" => Request,
        "read" => Read,
        "format" => Format,
        "network" => Network,
        "size" => Size,
        "plan" => Plan,
        "model" => Model,
        "room" => Room,
        "write" => Write,
        "runtime" => Runtime,
        "limit" => Limit,
        "bug" => Bug,
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.pad(self.name())
    }
}
