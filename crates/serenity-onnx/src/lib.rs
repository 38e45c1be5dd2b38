//! Lossless reading and writing of ONNX models.
//!
//! Takes the bytes of an `.onnx` file. Returns the [`Graph`](serenity_ir::Graph) of its activations, each with its
//! size, and, for any order of that graph, a file with its nodes in that order, on request with the shapes of its
//! tensors. [`Edit`] writes it with other nodes and constants, and [`create`] makes a new file from a graph with
//! weights.
//!
//! Guarantees: everything that is not changed survives byte for byte, including unknown fields, because writing
//! permutes or exchanges records and copies everything else. Any bytes give a model or an [`Error`]; memory stays
//! within a constant times the file's size. Files beside the model are named ([`Model::side_files`]), never opened.
//! Memory inside the bodies of `If`, `Loop` and `Scan` is not counted.
//!
//! ```
//! use serenity_onnx::{Model, ReadOptions};
//! # fn main() -> Result<(), serenity_onnx::Error> {
//! // A model with the single node y = Relu(x), where x is 2 x 3 floats.
//! let bytes = b"\x3a\x2e\x0a\x0c\x0a\x01x\x12\x01y\x22\x04Relu\
//!     \x5a\x13\x0a\x01x\x12\x0e\x0a\x0c\x08\x01\x12\x08\x0a\x02\x08\x02\x0a\x02\x08\x03\x62\x09\x0a\x01y\x12\x04\x0a\x02\x08\x01";
//! let model = Model::parse(bytes, &ReadOptions::default())?;
//! assert_eq!(model.graph().tensor(model.graph().outputs()[0]).bytes, 24);
//! assert_eq!(model.reordered(&model.graph().file_order())?, bytes);
//! # Ok(()) }
//! ```

mod attributes;
mod compose;
mod constant;
mod create;
mod data_type;
mod declare;
mod edit;
mod effects;
mod error;
mod fact;
mod infer;
mod lower;
mod message;
mod model;
mod proto;
mod wire;
mod write;

pub use compose::Attribute;
pub use constant::Constant;
pub use create::{CreateError, create};
pub use edit::{Edit, NodeSource};
pub use error::{Error, OpenInput};
pub use model::{FoldedNode, Model, ReadOptions};
