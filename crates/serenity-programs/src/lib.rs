//! Programs that we start, and temporary files: none of either outlives a process that is told to end.
//!
//! In comes a command with [`Limits`](serenity_search::Limits), out comes its output, or why there is none ([`child`]). [`python`] finds the user's own Python, in which the runtimes are.
//! [`exit_without_litter`] ends the process at once, with its programs ended, its temporary files gone, and all or none of the files in place that belong together.

pub mod child;
pub mod python;
mod temporary;

pub use temporary::{Temporary, exit_without_litter, hold_on};
