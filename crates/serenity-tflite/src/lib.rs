//! Lossless reading and writing of TensorFlow Lite models.

mod create;

pub use create::{CreateError, create};
