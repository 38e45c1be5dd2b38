//! The stages of the pipeline, one file per stage: removing channels, rewriting operators, ordering them, placing
//! tensors, making loops; for ONNX Runtime, the user's own runtime fuses operators first.

pub(crate) mod channels;
pub(crate) mod judge;
pub mod loops;
pub(crate) mod nested;
pub mod order;
pub mod ort;
pub mod place;
pub mod problem;
pub mod refine;
pub mod rewrite;
