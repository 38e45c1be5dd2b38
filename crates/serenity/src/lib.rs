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
//! Each crate behind this one can be used alone: [`ir`] (graphs), [`runtimes`] (how runtimes use memory), [`rewriting`]
//! (identities), [`scheduling`] (orders of any DAG of buffers), [`off_chip`] (traffic), [`check`] (the verifier) and
//! [`zoo`] (the built-in networks).

mod account;
mod boards;
mod emit;
mod error;
mod export;
mod header;
mod inspect;
mod labels;
mod load;
mod plan_check;
mod plan_file;
pub mod report;
mod traffic;
pub mod two_memories;
mod verify;
pub mod write;

pub use serenity_arena as placement;
pub use serenity_check as check;
pub use serenity_emit as emitting;
pub use serenity_ir as ir;
pub use serenity_loops as looping;
pub use serenity_onnx as onnx;
pub use serenity_pipeline as pipeline;
pub use serenity_rewrite as rewriting;
pub use serenity_runtimes as runtimes;
pub use serenity_schedule as scheduling;
pub use serenity_search as search;
pub use serenity_tflite as tflite;
pub use serenity_traffic as off_chip;
pub use serenity_zoo as zoo;

pub use serenity_formats::{
    FileError, Format, KeptPort, ModelFile, NarrowedChannels, NarrowedTensor, PlanNote, Port, QuantizedIo,
    QuantizedPort, ReadOptions,
};

pub use serenity_pipeline::{
    AppliedLoops, AppliedRewrite, Attempt, Channels, Decision, Effort, ErrorKind, Fast, FastSession, Figures,
    Footprint, Input, InvalidEffort, Loops, LoopsEstimate, Need, NeedWithKernels, NoFast, NoPlan, Optimized,
    Options, Plan, RewriteChoice, RewriteCost, Rewrites, Variant, estimate_loops, kernels_to_avoid,
    needs_by_kernels, optimize, plan_graphs, planned_model, possible_rewrites, problem, reordered_graph,
    rewrite, rewrite_settings, rewritten_graph, schedule, variants,
};

pub use account::{Account, note_to_json, plan_fault, refused_by_tflm, refused_to_json, whole_to_json};
pub use boards::{Board, boards, boards_that_fit};
pub use emit::{check_covered, emit_c};
pub use error::Error;
pub use export::{Export, export};
pub use header::c_header;
pub use inspect::{Inspection, inspect};
pub use labels::ShortLabels;
pub use load::{load, load_bytes, load_with};
pub use plan_check::{CheckOptions, CheckedClaim, NO_CLAIM, Status, Verdict, check_plan};
pub use plan_file::PlanFile;
pub use traffic::{Compared, Objective, TrafficAt, TrafficOptions, TrafficPlan, least_traffic};
pub use verify::{
    Comparison, Compiler, Engine, OutputComparison, Verification, VerifyError, VerifyOptions, verify,
    verify_emitted,
};
pub use write::check_side_files;

/// Compiles and runs the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
