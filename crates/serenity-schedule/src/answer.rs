//! The result of an algorithm.

use crate::StopReason;
use crate::exact::Found;

/// An order, what is proved, and why the search ended if that leaves a gap.
#[derive(Clone)]
pub(crate) struct Answer {
    pub(crate) order: Vec<u32>,
    /// No order peaks below this.
    pub(crate) at_least: u64,
    /// Why it is not proved optimal, if it is not.
    pub(crate) stopped: Option<StopReason>,
    /// Ops in each piece that was scheduled on its own.
    pub(crate) sizes: Vec<usize>,
    /// How rule L2 proved it, if it did.
    pub(crate) refutation: Vec<Found>,
}
