//! Placement of buffers with lifetimes in one arena: the planners of the runtimes, and an exact one.
//!
//! In comes a [`Problem`]: buffers, each with a size and the steps from which to which it is in use. Out comes a [`Placement`]: an
//! offset for each, the height of the arena, a lower bound that no placement can beat, and why the search ended. This is what a
//! compiler does with tensors, what `minimalloc` calls static memory allocation and textbooks call dynamic storage allocation: like
//! packing boxes that may be moved up and down but not sideways.
//!
//! Promised: no two buffers that are in use at the same step share a byte; [`Proof::Optimal`] is only ever said of a height that
//! was proved least; the same problem and options give the same placement. Nothing here knows about neural networks.
//!
//! ```
//! use serenity_arena::{Buffer, Options, Planner, Problem, Proof, place};
//! // A chain of four: each is read by the op that writes the next.
//! let problem = Problem::new(vec![
//!     Buffer::new(30, 0, 1),
//!     Buffer::new(20, 1, 2),
//!     Buffer::new(10, 2, 3),
//!     Buffer::new(40, 3, 4),
//! ], 1)?;
//! let placement = place(&problem, &Options::new(Planner::Tflm));
//! assert_eq!(placement.offsets, [0, 30, 50, 0]);
//! // The planner of this runtime does not find the best: 50 bytes are in use at most, it needs 60.
//! assert_eq!((placement.height, placement.bound), (60, 50));
//! assert!(matches!(placement.proof, Proof::Gap { .. }));
//! # Ok::<(), serenity_arena::ProblemError>(())
//! ```

mod bound;
mod buffer;
mod exact;
mod first_fit;
mod hill_climb;
mod limits;
mod litert;
mod options;
mod overlap;
mod place;
mod placed;
mod placement;
mod problem;
mod simple_arena;
mod tflm;

pub mod csv;

pub use buffer::{Buffer, FOREVER, Step};
pub use limits::{CancelFlag, Limits, Progress, ProgressFn, StopReason};
pub use options::{Options, Planner, UnknownPlanner};
pub use overlap::{Overlap, Sharing};
pub use place::place;
pub use placement::{Placement, Proof, Stats};
pub use problem::{Problem, ProblemError, Reserved};
