//! Rewritten networks compute the same: LiteRT runs random models before and after.

mod approximate;
mod judged;
pub(crate) mod random_models;
mod rewritten;
mod sketch;
mod spelling;
mod stability;
