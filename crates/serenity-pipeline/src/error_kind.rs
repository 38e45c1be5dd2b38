//! Errors in a few kinds, by names that programs can rely on.

use std::fmt;

/// What kind of thing went wrong. The names ([`Display`](fmt::Display)) are stable: scripts rely on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// A command line that cannot be understood.
    Arguments,
    /// What was asked for does not fit together, or does not fit this input.
    Request,
    /// A file cannot be read.
    Read,
    /// A file is not what its name says, or damaged.
    Format,
    /// A built-in network that does not exist, or not with these options.
    Network,
    /// A size that the model leaves open.
    Size,
    /// A plan that cannot be read, or that belongs to another model.
    Plan,
    /// A model of which this cannot be computed, or from which this cannot be made.
    Model,
    /// A memory that is too small.
    Room,
    /// A file or standard output cannot be written.
    Write,
    /// No runtime is there to run a model, or it refused.
    Runtime,
    /// A limit, or Ctrl-C, came before there was any result.
    Limit,
    /// A fault of ours.
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
