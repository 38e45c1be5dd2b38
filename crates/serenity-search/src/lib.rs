//! What every search shares.
//!
//! A search of Serenity's looks for something best: an order, a placement, a set of rewrites, a plan of transfers. It is given [`Limits`], tells its
//! [`Progress`] while it runs, and whatever ends it, it returns the best it has with a [`Proof`]: that nothing is better, or why it stopped before
//! it knew ([`StopReason`]). A [`Watch`] keeps count on behalf of one search.
//!
//! Promised: a search that ends by counted work or memory ends at the same point on every machine. Only [`Limits::deadline`] and [`Limits::cancel`]
//! depend on the clock, and a proof that carries one of these says so ([`StopReason::is_by_the_clock`]). Searches within searches share one set of
//! limits: a deadline is a point in time, so nobody has to reckon what is left.
//!
//! Whatever is chosen or told by name, algorithms and reasons for stopping alike, has its names from one table ([`named!`]).
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

mod limits;
mod matching;
mod named;
mod proof;
mod watch;

pub use limits::{CancelFlag, Limits};
pub use matching::most_pairs;
pub use named::UnknownName;
pub use proof::{Proof, StopReason};
pub use watch::{Progress, ProgressFn, Watch};
