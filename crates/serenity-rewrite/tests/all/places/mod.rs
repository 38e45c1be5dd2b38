//! Where rules propose something, and for each condition, that they do not where it alone fails; and what becomes of
//! the graph then. Graphs are drawn by hand, as readers of files describe them.

#![allow(clippy::needless_pass_by_value, reason = "attributes are written where they are used")]

mod choice;
mod concatenations;
mod crafted;
mod drawing;
mod least;
mod onnx;
mod sums;
mod tflite;
mod transposes;
