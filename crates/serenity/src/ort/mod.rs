//! The best order of a file for ONNX Runtime.

mod plan;
mod wander;

pub(crate) use plan::best;
