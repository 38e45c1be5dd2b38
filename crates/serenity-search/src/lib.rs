//! What all searches share: limits, progress and proofs.
//!
//! A search of Serenity looks for the best order, placement, set of rewrites or plan of transfers. It gets [`Limits`],
//! reports its [`Progress`] while it runs, and returns the best result so far with a [`Proof`]: that nothing is better,
//! or why it stopped before it knew ([`StopReason`]). A [`Watch`] counts the work of one search.
//!
//! Guarantees: a search that ends by counted work or memory ends at the same point on every machine. Only
//! [`Limits::deadline`] and [`Limits::cancel`] depend on the clock, and a proof that carries one of these says so
//! ([`StopReason::is_by_the_clock`]). Searches within searches share one set of limits: a deadline is a point in time,
//! so no search has to compute what is left.
//!
//! Everything that is chosen or reported by name, such as algorithms and reasons for stopping, has its names in one
//! table ([`named!`]).
//!
//! ```
//! use serenity_search::{Limits, Proof, StopReason, Watch};
//! // The first number from 1000 on that 97 divides, in at most 50 steps.
//! let limits = Limits { work: Some(50), ..Limits::default() };
//! let mut watch = Watch::new(&limits, None);
//! let found = (1000..).find_map(|n: u32| match watch.after(1) {
//!     Some(stopped) => Some(Err(stopped)),
//!     None => (n % 97 == 0).then_some(Ok(n)),
//! });
//! assert_eq!(found, Some(Err(StopReason::Work)));
//! assert!(!Proof::Gap { stopped: StopReason::Work }.is_by_the_clock());
//! ```

mod clock;
mod deadline;
mod limits;
mod matching;
mod named;
mod proof;
mod random;
mod watch;

pub use clock::Instant;
pub use deadline::Deadline;
pub use limits::{CancelFlag, Limits};
pub use matching::most_pairs;
pub use named::UnknownName;
pub use proof::{Proof, Proved, StopReason};
pub use random::{Random, evenly_below, mix};
pub use watch::{Progress, ProgressFn, Watch};

/// A time as JSON has it: in seconds.
///
/// # Errors
/// If the serializer fails.
pub fn as_seconds<S: serde::Serializer>(
    time: &std::time::Duration,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_secs_f64())
}

// For `named!`.
#[doc(hidden)]
pub use {schemars, serde};
