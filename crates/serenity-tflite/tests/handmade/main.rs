//! Small models made by hand with the `flatbuffers` crate, so that nothing of ours writes what we read.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod damage;
mod file;
mod order;
mod patch;
mod reading;
mod reuse;
mod state;
mod writing;
