//! The result of a planner: offsets, and what is proved about them.

use crate::Proof;
use std::time::Duration;

/// An offset for every buffer, and what is proved about the height of the arena.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The offset of each buffer, in the order of the problem.
    pub offsets: Vec<u64>,
    /// The size of the arena: the end of the topmost buffer.
    pub height: u64,
    /// A lower bound on the height of every placement.
    pub bound: u64,
    /// Whether the bound proves that no placement is lower.
    pub proof: Proof,
    /// The work of the search.
    pub stats: Stats,
}

/// The work of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Partial placements visited; 0 for a planner that does not search.
    pub states: u64,
    /// Wall-clock time.
    pub elapsed: Duration,
}
