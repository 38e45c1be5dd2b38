//! Where rules apply, and that what they make computes the same. One program: a program for each file would cost more
//! to build than to run.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "what was seen, and what was skipped")]

mod identities;
mod places;
