//! Lossless reading and writing of TensorFlow Lite models.
//!
//! Takes a `.tflite` file (schema version 3) of any bytes: [`Model::parse`] checks every step. Returns one
//! [`Graph`](serenity_ir::Graph) of activations per sub-graph ([`Model::graphs`]), the file's own tables
//! ([`Model::sub_graphs`]), and files in which only the requested parts have changed: [`Model::reordered`], and
//! [`Model::edit`] for everything else. [`create`] makes a new file from a graph with its constants.
//!
//! Guarantees: no bytes make it panic, hang, or allocate more than a fixed multiple of their length; everything that is
//! not changed survives byte for byte, including fields that are newer than this program; and a changed file is read
//! again and compared before it is returned.
//!
//! ```
//! use serenity_tflite::{Error, Model};
//! assert_eq!(Model::parse(b"no model".to_vec()).unwrap_err(), Error::Identifier);
//! ```

mod attributes;
mod bodies;
mod budget;
mod buffers;
mod carried;
mod control;
mod create;
mod declared;
mod error;
mod flat;
mod flexible;
mod graph;
mod metadata;
mod model;
mod operator;
mod options;
mod schema;
mod state;
mod sub_graph;
mod tensor;
mod write;

pub use attributes::operands::is_said_by_operands;
pub use carried::CARRIED;
pub use create::{CreateError, create};
pub use error::Error;
pub use flat::Fault;
pub use metadata::{Metadata, OFFLINE_PLAN, OfflinePlan, PLAN_NOTE, RefusedPlan, Signature};
pub use model::{Model, ReadOptions};
pub use operator::FileOperator;
pub use sub_graph::SubGraph;
pub use tensor::{FileTensor, Storage};
pub use write::{Edit, Edited, NewOptions, NewTensor, OperatorSource, OptionValue};
