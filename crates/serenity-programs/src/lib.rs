//! Starts programs and makes temporary files; neither outlives the process.
//!
//! [`child`] runs a command within [`Limits`](serenity_search::Limits) and returns its output, or why there is none.
//! [`python`] finds the user's own Python, which has the runtimes. [`exit_without_litter`] ends the process at once: it
//! ends its programs, removes its temporary files, and leaves files that belong together all written or all unchanged.

pub mod child;
pub mod python;
mod temporary;

pub use temporary::{Temporary, exit_without_litter, hold_on};
