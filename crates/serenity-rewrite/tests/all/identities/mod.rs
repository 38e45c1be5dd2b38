//! Rewritten networks compute the same: random models are run before and after, by a plain interpreter.

#![allow(clippy::float_cmp, reason = "the same bits are what is meant")]

mod approximate;
mod hand_computed;
mod interpreter;
mod random_models;
mod rewritten;
mod runtime;
mod sketch;
mod spelling;
mod stability;
