//! Planners on problems of every kind. One program: a program for each file would cost more to build than to run.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "what was seen, and what was skipped")]

mod common;
mod exact_is_exact;
mod known_data;
mod limits_hold;
mod planners_are_valid;
mod ties_are_kept;
