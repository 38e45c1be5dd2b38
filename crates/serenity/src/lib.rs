//! Runs a neural network in the least memory.
//!
//! [`load`] reads a model: a `.tflite` or `.onnx` file, the JSON graph format, or a built-in network. [`optimize`]
//! returns a model that needs less memory, and its [`Plan`]: the order of its operators, the peak before and after, a
//! lower bound on the peak of every order, and the proof.
//!
//! Guarantees: a plan is never worse than the order of the original model; it has passed the independent checker; a
//! plan is called optimal only if that is proved; a file is written completely or not at all.
//!
//! ```
//! use serenity::{Options, load, optimize};
//! # fn main() -> Result<(), serenity::Error> {
//! let input = load("zoo:swiftnet-a")?;
//! let best = optimize(&input, &Options::for_input(&input))?;
//! assert_eq!((best.plan.before.peak, best.plan.after.peak), (213_248, 150_528));
//! assert!(best.plan.is_optimal());
//! # Ok(()) }
//! ```
//!
//! The crates behind this one can be used alone, and are re-exported under their own names: [`mod@schedule`] and
//! [`arena`] know nothing of neural networks, [`pipeline`] is the search itself.

pub mod account;
pub mod boards;
pub mod code;
pub mod coming;
pub mod diff;
mod error;
pub mod export;
pub mod header;
pub mod hops;
pub mod inspect;
pub mod layout;
mod load;
pub mod plan_check;
mod plan_file;
pub mod run;
pub mod sample;
pub mod slide;
pub mod stream;
pub mod write;

pub use serenity_arena as arena;
pub use serenity_check as check;
pub use serenity_emit as emit;
pub use serenity_formats as formats;
pub use serenity_ir as ir;
pub use serenity_loops as loops;
pub use serenity_memories as memories;
pub use serenity_pipeline as pipeline;
pub use serenity_rewrite as rewrite;
pub use serenity_runtimes as runtimes;
pub use serenity_schedule as schedule;
pub use serenity_search as search;
pub use serenity_tflite as tflite;
pub use serenity_traffic as traffic;
pub use serenity_zoo as zoo;

pub use error::Error;
pub use export::export;
pub use header::c_header;
pub use inspect::inspect;
pub use load::{load, load_bytes, load_with};
pub use plan_check::check_plan;
pub use plan_file::PlanFile;
pub use serenity_formats::{Format, ReadOptions};
pub use serenity_pipeline::{
    Effort, ErrorKind, Input, Loops, Optimized, Options, Plan, Rewrites, optimize, schedule,
};

/// Compiles and runs the example of the guide for libraries.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/LIBRARY.md")]
struct Guide;
