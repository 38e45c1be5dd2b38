//! Facts about the runtimes that were measured and cannot be derived.
//!
//! Takes a [`Graph`](serenity_ir::Graph) and says what memory the kernels of a runtime use besides their tensors, as
//! read in their sources and measured: the [`scratch`] that each set of TFLM's [`Kernels`] requests, and where LiteRT
//! keeps tensors and what its kernels need besides ([`LitertKernels`]). It also has the sizes of TFLM's structures
//! ([`layout`]) and the names by which a runtime and its setup are chosen ([`MemoryModel`], [`Kernels`], [`OrtSetup`]).
//!
//! This is all that the planner (`serenity-runtimes`) and the checker (`serenity-check`) share
//! besides the graph itself. So it holds nothing that decides: no lifetimes, no sharing of memory,
//! no overlaps, no planner. Both derive those by code of their own, and the checker cannot reach
//! the planner's: it depends on this crate and on `serenity-ir` only. An error in a table here is
//! one that the checker cannot find; the tests that run the real runtimes can (`serenity-judges`).
//!
//! ```
//! use serenity_facts::{Kernels, MemoryModel};
//! let model: MemoryModel = "tflm".parse().unwrap();
//! assert_eq!(model.kernels(), Some(Kernels::Any));
//! assert!(Kernels::CmsisNn.about().cores.contains("Cortex-M4"));
//! ```

mod kernels;
pub mod layout;
mod litert;
mod memory_model;
mod ort;
mod scratch;
#[cfg(test)]
mod testing;

pub use kernels::{KernelSet, Kernels};
pub use litert::{LitertKernels, LitertPlace, LitertTemporary};
pub use memory_model::MemoryModel;
pub use ort::{OrtOrder, OrtSetup};
pub use scratch::cmsis_nn_mve::CHANNELS_AT_ONCE as CMSIS_NN_MVE_CHANNELS_AT_ONCE;
pub use scratch::emitted_cmsis_nn::may_call as may_call_cmsis_nn;
pub use scratch::scratch;

/// TFLM aligns everything to so many bytes.
pub const TFLM_ALIGNMENT: u64 = 16;
