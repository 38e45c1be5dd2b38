//! Plans for ONNX Runtime: the best order of a file, and the best file for a session.

mod fast;
mod offline;
mod plan;
mod wander;

pub(crate) use fast::{fast, is_for};
pub(crate) use plan::best;

pub use fast::{Fast, FastSession};
pub use offline::NoFast;
