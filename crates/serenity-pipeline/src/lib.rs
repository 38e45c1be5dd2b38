//! From a model to the plan that needs the least memory: a search over a list of variants.
//!
//! Takes an [`Input`] (a model that was read) and [`Options`]. [`variants`] lists every variant that is tried: with or
//! without unneeded channels, with which rewrites, planned for which kernels, with or without loops. Each variant is
//! transformed, ordered, placed and checked ([`stages`]); work that variants share is done once. Returns the best
//! variant as an [`Optimized`]: the model, its [`Plan`], and every [`Attempt`].
//!
//! Guarantees: a plan is never worse than the order of the original model; a wider set of options never gives a worse
//! plan; every plan has passed the independent checker (`serenity-check`); a plan is called optimal only if that is
//! proved.

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
mod stated;
pub mod target;
mod variant;

pub use attempt::{Attempt, Figures, NoPlan, StatedAttempt, new_operators};
pub use by_kernels::{
    NeedWithKernels, kernels_to_avoid, needs_by_kernels, own_needs_by_kernels, own_needs_with,
};
pub use effort::{Effort, InvalidEffort};
pub use error::Error;
pub use error_kind::ErrorKind;
pub use input::Input;
pub use need::{Need, whole_need};
pub use optimize::{Optimized, best_rewritten, optimize, optimize_without_and_with_loops};
pub use options::{Options, Rewrites};
pub use output::{planned_model, reordered_graph};
pub use plan::{Decision, Footprint, Plan};
pub use score::macs_of;
pub use stages::loops::{AppliedLoop, AppliedLoops, Loops, LoopsEstimate, estimate_loops};
pub use stages::order::schedule;
pub use stages::ort::{Fast, FastSession, NoFast};
pub use stages::place::plan_graphs;
pub use stages::problem::problem;
pub use stages::rewrite::{
    AppliedRewrite, RewriteChoice, RewriteCost, possible_rewrites, rewrite, rewrite_settings, rewritten_graph,
};
pub use stated::{StatedChoice, StatedPlan, StatedProof, StatedProofs, StatedSession};
pub use target::Target;
pub use variant::{Channels, Variant, variants};
