//! Windows of row-local operators as loops over stripes.
//!
//! In comes the main graph of a model and the order in which its ops run. A *window* is a run of ops of that order whose rows depend on few rows of each other
//! ([`RowLocal`]). Computed a few rows at a time, tensors inside it exist as stripes only. Out comes a [`Looped`] model, in which chosen windows are loops: graphs
//! of operators that runtimes have (`WHILE`, `SLICE`, `DYNAMIC_UPDATE_SLICE` …), which compute the same bit for bit.
//!
//! | file | holds |
//! |---|---|
//! | `rows` | which operators are row-local, and which rows need which |
//! | `window` | consecutive operators, what enters and what leaves |
//! | `halo`, `lines` | the two ways to get the rows that stripes share: computed again, or carried |
//! | `program` | what an iteration does, whichever way |
//! | `estimate` | what it needs |
//! | `search` | which windows, in which way |
//! | `floor` | what no loops get below |
//! | `time` | how much longer it takes with portable kernels |
//! | `instructions` | how many instructions more it takes with CMSIS-NN |
//! | `clusters` | orders that keep windows together |
//! | `spread` | one padding a reader, so that windows can hold it |
//! | `emit` | the graphs |

mod clusters;
mod emit;
mod estimate;
mod floor;
mod halo;
mod instructions;
mod lines;
mod looped;
mod program;
#[cfg(test)]
mod refusals;
mod rows;
mod search;
#[cfg(test)]
mod simulation;
mod spread;
mod time;
mod window;

pub use clusters::{Clusters, Joined};
pub use floor::{Because, Floor};
pub use instructions::instructions_of;
pub use looped::{Loop, LoopCost, Looped};
pub use rows::{RowLocal, Rows, Sliding};
pub use search::{Choice, Counted, Windows};
pub use spread::Spread;
pub use time::time_of;
