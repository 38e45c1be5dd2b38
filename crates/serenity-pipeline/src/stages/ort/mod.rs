//! The best order of a file for ONNX Runtime, and the best file for a session of it.

mod fast;
mod offline;
mod plan;
mod wander;

pub(crate) use fast::{fast, is_for};
pub(crate) use plan::best;

pub use fast::{Fast, FastSession};
pub use offline::NoFast;
