//! Turns windows of row-local operators into loops over stripes.
//!
//! Takes the main graph of a model and the order of its ops. A *window* is a run of consecutive ops whose rows depend
//! on few rows of each other ([`RowLocal`]). Computed a few rows at a time, the tensors inside it exist only as
//! stripes. Returns a [`Looped`] model, in which chosen windows are loops made of standard operators (`WHILE`, `SLICE`,
//! `DYNAMIC_UPDATE_SLICE` …), which compute the same bit for bit.
//!
//! | file | holds |
//! |---|---|
//! | `rows` | which operators are row-local, and which rows they need |
//! | `window` | consecutive operators, and the tensors that enter and leave them |
//! | `halo`, `lines` | the two ways to get the rows that stripes share: computed again, or carried |
//! | `program` | the steps of an iteration, for both ways |
//! | `estimate` | the memory of a loop |
//! | `search` | which windows become loops, and in which way |
//! | `floor` | a lower bound for all loops |
//! | `time` | how much time loops add with portable kernels |
//! | `speed`, `instructions` | how many instructions a model takes with measured kernels, and how many loops add |
//! | `clusters` | orders that keep windows together |
//! | `spread` | a separate padding per reader, so that windows can contain it |
//! | `emit` | writes the graphs |
//! | [`streams`] | the beginning of a network row by row, for code without an interpreter |

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
mod speed;
mod spread;
pub mod streams;
mod time;
mod window;

pub use clusters::{Clusters, Joined};
pub use floor::{Because, Floor};
pub use instructions::{instructions_of, instructions_on};
pub use looped::{Loop, LoopCost, Looped};
pub use rows::{RowLocal, Rows, Sliding};
pub use search::{Choice, Counted, Windows};
pub use speed::Measured;
pub use spread::Spread;
pub use time::time_of;
