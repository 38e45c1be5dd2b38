//! Execution orders of a DAG that need the least memory, with a proof.
//!
//! Takes a [`Problem`]: operations, and buffers that some of them write and others read. Returns a [`Schedule`]: an
//! order, its peak, a lower bound on the peak of every order, and why the search ended. [`lifetimes`] turns an order into
//! what an allocator needs.
//!
//! Guarantees: the order is topological and has the stated peak; [`Proof::Optimal`] is only returned for a peak that
//! was proved least; equal problems and options give equal schedules, whatever the hash order or the clock (a time
//! limit may end a search early, and the proof then says so). This crate knows nothing about neural networks.
//!
//! ```
//! use serenity_schedule::{Algorithm, Buffer, OpIndex, Options, Problem, Proof, schedule};
//! // Two branches from one source: 0 -> 1 -> 3, 0 -> 2 -> 3. Op 1 writes much and op 2 little.
//! let op = OpIndex;
//! let problem = Problem::new(4, vec![
//!     Buffer::produced(10, op(0), [op(1), op(2)]),
//!     Buffer::produced(90, op(1), [op(3)]),
//!     Buffer::produced(5, op(2), [op(3)]),
//!     Buffer::produced(1, op(3), []).kept(),
//! ], [])?;
//! let best = schedule(&problem, &Options { algorithm: Algorithm::Dp, ..Options::default() });
//! assert_eq!((best.peak, best.proof), (105, Proof::Optimal));
//! # Ok::<(), serenity_schedule::ProblemError>(())
//! ```

mod answer;
mod bits;
mod bounds;
mod dfs;
mod divide;
mod dp;
mod effects;
mod exact;
mod exhaustive;
mod greedy;
mod hand_over;
mod heuristic;
mod kahn;
mod lifetimes;
mod options;
mod oracle;
mod problem;
mod rng;
mod savings;
mod schedule;
mod segment;
mod set_table;
mod soft_budget;
mod walk;

pub mod distribution;
pub mod within;

pub use exact::{Chain, CutStep, Memo, Rules, Witness, cut_steps, witness};
pub use hand_over::HandOver;
pub use lifetimes::lifetimes;
pub use options::{Algorithm, Options, SoftBudget, StepLimit};
pub use oracle::{LeastPeak, Oracle};
pub use problem::{Buffer, OpIndex, Problem, ProblemError, Step};
pub use savings::{WithSavings, with_savings};
pub use schedule::{Schedule, Stats, schedule};
pub use serenity_search::{CancelFlag, Limits, Progress, ProgressFn, Proof, StopReason, UnknownName};
pub use soft_budget::{BudgetResult, TriedBudget};
