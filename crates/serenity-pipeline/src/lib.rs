//! From a model to the plan with which it needs the least memory: a search over variants that reads as a list.
//!
//! In comes an [`Input`] (a model that was read) and [`Options`]. [`variants`] lists every way to run the model that is tried: with all channels or only with those that are needed, with which rewrites, planned
//! for which kernels, with loops or without. Each is transformed, ordered, placed and checked ([`stages`]); stages that variants have in common are done once. Out comes the best by one order on plans
//! as an [`Optimized`]: the model, its [`Plan`], and every [`Attempt`].
//!
//! Promised: a plan is never worse than the order the model came with; more freedom never ends worse; every plan has passed the independent checker (`serenity-check`); nothing is called optimal that was not proved.

mod attempt;
mod by_kernels;
mod checked;
mod effort;
mod error;
mod error_kind;
mod input;
mod need;
mod optimize;
mod options;
mod output;
pub mod peak;
mod plan;
mod score;
mod session;
pub mod stages;
mod variant;

pub use attempt::{Attempt, Figures, NoPlan};
pub use by_kernels::{NeedWithKernels, kernels_to_avoid, needs_by_kernels};
pub use effort::{Effort, InvalidEffort};
pub use error::Error;
pub use error_kind::ErrorKind;
pub use input::Input;
pub use need::{Need, whole_need};
pub use optimize::{Optimized, best_rewritten, optimize};
pub use options::{Options, Rewrites};
pub use output::{planned_model, reordered_graph};
pub use plan::{Decision, Footprint, Plan};
pub use stages::loops::{AppliedLoops, Loops, LoopsEstimate, estimate_loops};
pub use stages::order::schedule;
pub use stages::ort::{Fast, FastSession, NoFast};
pub use stages::place::plan_graphs;
pub use stages::problem::problem;
pub use stages::rewrite::{
    AppliedRewrite, RewriteChoice, RewriteCost, possible_rewrites, rewrite, rewrite_settings, rewritten_graph,
};
pub use variant::{Channels, Variant, variants};
