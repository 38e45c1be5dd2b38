//! Files changed and read again. One program: a program for each file would cost more to build than to run.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
#![allow(clippy::print_stdout, reason = "what was seen, and what was refused")]

mod constant_channels;
mod looped;
mod quantized_io;
mod relayout;
