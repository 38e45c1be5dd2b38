//! What is done to a model, one file per stage: channels are removed, operators rewritten, ordered and placed, windows made loops; for ONNX Runtime the user's own runtime fuses it first.

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
