//! Files read, edited and written. One program: a program for each file would cost more to build than to run.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "what was seen, and what was skipped")]

mod constants;
mod editing;
mod inference;
mod loading;
mod reading;
mod shared_models;
mod wire;
mod writing;
