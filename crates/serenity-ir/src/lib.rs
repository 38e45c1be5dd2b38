//! Operator graphs of neural networks, and the memory that they need.
//!
//! Takes a description of a network: tensors, and operators that read and write them (from a [`GraphBuilder`], or from
//! the [JSON format](json)). Returns a validated [`Graph`], its [`Lifetimes`] for any storage of its tensors (which
//! buffers exist, which op allocates each, which ops must have run before it is freed), and the [`Profile`] of any
//! execution order: the memory in use at every step, and the peak.
//!
//! Guarantees: a `Graph` is acyclic, every id in it is in range, every tensor has at most one producer, every tensor
//! that is read exists, and the sum of all sizes fits in 63 bits, so no later code needs to check for overflow again.
//!
//! ```
//! use serenity_ir::{GraphBuilder, Lifetimes, Tensor};
//! # fn main() -> Result<(), serenity_ir::GraphError> {
//! let mut builder = GraphBuilder::new("tiny");
//! let x = builder.input(Tensor::sized("x", 100));
//! let a = builder.op("a", "RELU", &[x], Tensor::sized("a", 100));
//! let b = builder.op("b", "CONV_2D", &[a], Tensor::sized("b", 20));
//! builder.output(b);
//! let graph = builder.build()?;
//!
//! let lifetimes = Lifetimes::of(&graph);
//! let profile = lifetimes.profile(&graph.file_order());
//! assert_eq!(profile.peak(), 200);
//! # Ok(()) }
//! ```

mod builder;
mod call;
mod carried;
mod dot;
mod element_type;
mod error;
mod graph;
mod ids;
pub mod json;
mod known_shape;
mod lifetimes;
mod model;
mod op_kind;
mod operands;
mod operator;
mod order;
mod profile;
mod quantization;
mod same;
mod sharing;
mod sketch;
mod storage;
mod unknown;
mod window;

pub use builder::GraphBuilder;
pub use call::{Call, Described, Given, Layout, Stored, counted_product, from_front};
pub use carried::CARRIED;
pub use dot::to_dot;
pub use element_type::ElementType;
pub use error::GraphError;
pub use graph::{Attributes, Graph, Op, Tensor};
pub use ids::{BufferId, OpId, TensorId};
pub use known_shape::{KnownDim, KnownShape};
pub use lifetimes::{Buffer, HandOver, Lifetimes};
pub use model::{Constant, Model, ModelError, Operand};
pub use op_kind::{OpKind, Role};
pub use operator::Operator;
pub use order::OrderError;
pub use profile::{Profile, Step};
pub use quantization::Quantization;
pub use sketch::sketch;
pub use storage::{MOST_SCRATCH, Storage};
pub use unknown::{Unknown, UnknownKind};
pub use window::{Padding, Slide, Window};
