//! Placement of buffers with lifetimes in one arena: the planners of the runtimes, and an exact one.
//!
//! A compiler or a runtime has many buffers, each needed for some time only, and one block of memory. Two buffers may
//! lie on the same bytes unless they are in use at the same time. Which offsets make the block, the *arena*, smallest?
//! Textbooks call this dynamic storage allocation, `minimalloc` static memory allocation; it is like packing boxes that
//! may be moved up and down but not sideways, and it is NP-hard. In practice the exact planner here settles most
//! problems in a millisecond.
//!
//! Takes a [`Problem`]: [`Buffer`]s, each with a size and the steps `lower..upper` in which it is in use; optionally an
//! alignment, fixed offsets, [`Overlap`]s, which let an op write its result over an input that it reads for the last
//! time, and [`Tie`]s, which keep buffers at a fixed distance from one another. Returns a [`Placement`]: an offset for
//! each buffer, the height of the arena, a lower bound on the height of every placement, and why the search ended.
//!
//! | [`Planner`] | does |
//! |---|---|
//! | [`Exact`](Planner::Exact) | finds a lowest placement and proves it; with limits, the best it can |
//! | [`Tflm`](Planner::Tflm), [`LiteRt`](Planner::LiteRt), [`SimpleArena`](Planner::SimpleArena) | what TensorFlow Lite Micro, LiteRT and the TensorFlow Lite of 2019 do, byte for byte |
//! | [`HillClimb`](Planner::HillClimb) | a local search, for comparison |
//!
//! Guarantees: no two buffers that are in use at the same step share a byte, unless the problem lets them;
//! [`Proof::Optimal`] is only returned for a height that was proved least; equal problems and options give equal
//! placements, whatever the clock (a time limit may end a search early, and the proof then says so). This crate knows
//! nothing about neural networks, and never panics or recurses deeply, whatever the input.
//!
//! ```
//! use serenity_arena::{Buffer, Options, Overlap, Planner, Problem, Proof, place};
//! // A chain of four: each is read by the op that writes the next.
//! let problem = Problem::new(vec![
//!     Buffer::new(30, 0..2),
//!     Buffer::new(20, 1..3),
//!     Buffer::new(10, 2..4),
//!     Buffer::new(40, 3..5),
//! ], 1)?;
//! let best = place(&problem, &Options::default());
//! assert_eq!((best.height, best.proof), (50, Proof::Optimal));
//! // A runtime that takes the largest first needs more.
//! let theirs = place(&problem, &Options::new(Planner::Tflm));
//! assert_eq!((theirs.height, theirs.bound), (60, 50));
//! assert!(matches!(theirs.proof, Proof::Gap { .. }));
//! // The second is computed from the first element by element, so it can be written over it.
//! let problem = problem.with_overlaps(vec![Overlap::below(1, 0, 0)])?;
//! assert_eq!(place(&problem, &Options::default()).offsets[..2], [0, 0]);
//! # Ok::<(), serenity_arena::ProblemError>(())
//! ```

mod bound;
mod buffer;
mod exact;
mod first_fit;
mod hill_climb;
mod litert;
mod neighbours;
mod options;
mod overlap;
mod place;
mod placed;
mod placement;
mod problem;
mod rigid;
mod simple_arena;
mod tflm;
mod tie;

pub mod csv;

pub use buffer::{Buffer, FOREVER, Step};
pub use options::{Options, Planner};
pub use overlap::{Overlap, Sharing};
pub use place::place;
pub use placement::{Placement, Stats};
pub use problem::{Problem, ProblemError};
pub use serenity_search::{CancelFlag, Limits, Progress, ProgressFn, Proof, StopReason, UnknownName};
pub use tie::Tie;
