//! How the runtimes use memory, one folder per runtime.
//!
//! Takes a [`Graph`](serenity_ir::Graph) and an order, and predicts what the runtime that a [`MemoryModel`] names makes
//! of them: the [lifetimes](MemoryModelExt::lifetimes) of its buffers, its [arena](MemoryModelExt::arena) to the byte,
//! the [placement problem](MemoryModelExt::placement_problem) where a plan may decide, the
//! [order](MemoryModelExt::execution_order) in which it runs a file, and what it [adds](main_graph) to a graph:
//! hazards, sub-graphs in its arena, unknown facts.
//!
//! | folder | runtime |
//! |---|---|
//! | `tflm` | TensorFlow Lite for Microcontrollers: kernel sets, their scratch, what may overlap, plans, the persistent tail |
//! | `litert` | LiteRT (TensorFlow Lite): temporaries of its kernels, sharing, its arena planner |
//! | `ort` | ONNX Runtime: its walk, its sharing, its arena |
//! | `plain`, `paper` | no runtime: the counts of the textbook and of the paper |
//!
//! Guarantees: figures are those that the real runtimes report; unknown memory is reported, never counted as nothing.
//! Everything that a runtime does is behind [`Runtime`]; to add one, write a folder and a name in [`MemoryModel`]: the
//! compiler asks for both. Facts that were measured and cannot be derived (names, scratch, LiteRT's special cases) are
//! in `serenity-facts` and re-exported here.
//!
//! ```
//! use serenity_ir::{GraphBuilder, Tensor};
//! use serenity_runtimes::{Kernels, MemoryModel, MemoryModelExt};
//! # fn main() -> Result<(), serenity_ir::GraphError> {
//! let mut builder = GraphBuilder::new("tiny");
//! let x = builder.input(Tensor::sized("x", 100));
//! let y = builder.op("y", "RELU", &[x], Tensor::sized("y", 100));
//! builder.output(y);
//! let graph = builder.build()?;
//!
//! let model = MemoryModel::Tflm(Kernels::Any);
//! let arena = model.arena(&[&graph], &[&graph.file_order()], None).map(|arena| arena.bytes);
//! assert_eq!(arena, Some(2 * 112));
//! # Ok(()) }
//! ```

mod arena;
mod litert;
mod memory_model;
mod nested;
mod ort;
mod paper;
mod plain;
mod problem;
mod runtime;
mod stated;
mod tflm;

pub use arena::{Arena, Content, Offsets, Piece};
pub use memory_model::MemoryModelExt;
pub use nested::{annotate, callees_first, main_graph};
pub use ort::{Run as OrtRun, Session as OrtSession, numberings, overwrites as ort_overwrites};
pub use problem::ArenaProblem;
pub use runtime::{AtBest, Runtime};
pub use serenity_facts::{
    KernelSet, Kernels, LitertKernels, LitertPlace, LitertTemporary, MemoryModel, OrtOrder, OrtSetup,
    TFLM_ALIGNMENT, scratch,
};
pub use tflm::overlap::{Overlap, overlaps};
pub use tflm::plan::{Planned, live_by_op, live_by_step, live_peak, plan_arena, plans_of_arena, steps_by_op};
pub use tflm::resolver::resolver_call;
pub use tflm::run::Facts as TflmFacts;
pub use tflm::supported::{Unsupported, unsupported};
pub use tflm::tail::{Tail, TflmArena};
pub use tflm::ties::has_counted_loops;
pub use tflm::{profile_in_places, tflm_arena};
