//! What comes out: offsets, and what is proved about them.

use crate::Proof;
use std::time::Duration;

/// An offset for every buffer, and what is proved about the height of the arena.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Where each buffer begins, in the order of the problem.
    pub offsets: Vec<u64>,
    /// The size of the arena: the end of the topmost buffer.
    pub height: u64,
    /// No placement is lower than this.
    pub bound: u64,
    /// Whether that settles it.
    pub proof: Proof,
    /// What it took.
    pub stats: Stats,
}

/// What a search took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Partial placements visited; 0 for a planner that does not search.
    pub states: u64,
    /// Wall-clock time.
    pub elapsed: Duration,
}
