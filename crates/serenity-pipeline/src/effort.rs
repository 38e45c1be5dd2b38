//! How much work each search of the pipeline may do.
//!
//! Searches count their work and ignore the clock: the same options give the same result on a fast machine and on a
//! starved one. The limits are sized so that real networks are settled long before they run out; a time limit is only a
//! safety net.

use serenity_ir::Graph;
use serenity_schedule::Algorithm;
use std::fmt;
use std::str::FromStr;

/// States for the paper's algorithms, whose states are cheap and many: mostly the limit on memory comes first.
const CHEAP_STATES: u64 = 200_000_000;

/// If a graph has at most this many orders, each is planned to the end, including its arena.
pub(crate) const MOST_ORDERS: usize = 100;

/// Where several sets of kernels may run a model, the work to find offsets for one of them is divided by this.
pub(crate) const SHARE_OF_A_SET: u64 = 4;

/// The search for rewrites starts from this many sets, which get more work than later ones.
pub(crate) const FIRST_SETS: usize = 7;

/// Rounds of rewriting: a rewritten model may offer new places to rewrite.
pub(crate) const REWRITING_ROUNDS: usize = 4;
/// A model with more ops than this is not rewritten a second time: it seldom gains.
pub(crate) const MOST_OPS_OF_LATER_ROUNDS: usize = 400;
/// The work of later rounds of rewriting is divided by this, because they seldom gain.
pub(crate) const SHARE_OF_A_SECOND_LOOK: usize = 4;

/// With more rewrites than this, the cost of each is computed for it alone instead of beside the others.
pub(crate) const MOST_COSTS: usize = 64;

/// For ONNX Runtime: how often random moves and a search of single moves take turns.
pub(crate) const WALKS: usize = 2;

/// How hard to try: 1 by default, 2 for twice the counted work of every search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    times: u32,
    is_draft: bool,
}

impl Default for Effort {
    fn default() -> Self {
        Self::times(1)
    }
}

impl Effort {
    /// Multiplies the usual work by `factor`, which counts as at least 1.
    pub fn times(factor: u32) -> Self {
        Self { times: factor.max(1), is_draft: false }
    }

    /// The effort for a plan that is only compared with others; the chosen one is planned again.
    pub(crate) fn for_a_draft(self) -> Self {
        Self { is_draft: true, ..self }
    }

    fn of(self, usual: u64) -> u64 {
        usual.saturating_mul(u64::from(self.times))
    }

    /// Buffers that a search for offsets may visit if placing is all that is asked for: about ten seconds.
    pub fn placement_alone(self) -> u64 {
        self.of(100_000_000)
    }

    /// States that a search for an order may visit if ordering is all that is asked for: ten seconds or more on hard
    /// graphs, never reached on easy ones.
    pub(crate) fn states_of_an_order_alone(self, algorithm: Algorithm) -> u64 {
        self.of(if algorithm == Algorithm::Exact { 2_000_000 } else { CHEAP_STATES })
    }

    /// States that a search for an order may visit if it is one of several searches. A state of a large graph takes
    /// longer.
    pub(crate) fn states_of_an_order(self, algorithm: Algorithm, ops: usize) -> u64 {
        let exact = (40_000_000 / ops.max(1) as u64).clamp(20_000, 400_000);
        self.of(if algorithm == Algorithm::Exact { exact } else { CHEAP_STATES })
    }

    /// States that a search for an order may visit for one of many sets of rewrites. The best order found is mostly
    /// optimal and lacks only the proof; the chosen set is scheduled again.
    pub(crate) fn states_of_a_set(self) -> u64 {
        self.of(10_000)
    }

    /// States that a search for an order may visit for the sets from which the search for rewrites starts.
    pub(crate) fn states_of_a_first_set(self) -> u64 {
        self.of(60_000)
    }

    /// Transitions between sets of executed ops that may be visited in a part of a graph, for a bound that includes
    /// what ops save while they run: fewer for a draft, because many are made.
    pub(crate) fn moves_with_savings(self) -> u64 {
        self.of(if self.is_draft { 1 << 15 } else { 1 << 20 })
    }

    /// How many sets of rewrites of so many ops are scheduled, with `1 / share` of the usual work: fewer for more ops.
    pub(crate) fn sets(self, ops: usize, share: usize) -> usize {
        (self.of(30_000) as usize / share / ops.max(1)).clamp(12, 2048)
    }

    /// How many sets of rewrites are planned to the end, including the arena, with `1 / share` of the usual work. The
    /// runtimes place tensors by rules of their own, so the least peak is not always the least arena.
    pub(crate) fn planned_sets(self, graph: &Graph, share: usize) -> usize {
        (self.of(3_000) as usize / share / graph.ops().len().max(1)).clamp(4, 100)
    }

    /// Buffers that the search for offsets may visit for one order: if it has not settled by then, another order is the
    /// better bet.
    pub(crate) fn placement(self) -> u64 {
        self.of(2_000_000)
    }

    /// Buffers that the search for offsets may visit for a model with loops, which tie buffers together at fixed
    /// distances.
    pub(crate) fn placement_of_loops(self) -> u64 {
        self.of(5_000_000)
    }

    /// Buffers that the search for offsets may visit for one of several choices of loops: enough to compare them.
    pub(crate) fn placement_of_some_loops(self) -> u64 {
        self.of(1_000_000)
    }

    /// Steps of orders that may be visited while one order is improved by moving ops.
    pub(crate) fn refined_steps(self) -> usize {
        self.of(if self.is_draft { 250_000 } else { 2_000_000 }) as usize
    }

    /// Steps of orders that may be visited while an order for ONNX Runtime is improved: that runtime is slower to
    /// simulate.
    pub(crate) fn ort_steps(self) -> usize {
        self.of(500_000) as usize
    }

    /// Random moves that are tried on an order for ONNX Runtime.
    pub(crate) fn wandering_moves(self) -> usize {
        self.of(2_500) as usize
    }
}

/// The error for an effort that is not a whole number of times the usual work.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected how many times the usual work to do, as in 10")]
pub struct InvalidEffort;

impl FromStr for Effort {
    type Err = InvalidEffort;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().ok().filter(|&factor| factor > 0).map(Self::times).ok_or(InvalidEffort)
    }
}

impl fmt::Display for Effort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.times.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn effort_is_a_number_of_times() {
        assert_eq!("10".parse(), Ok(Effort::times(10)));
        assert_eq!(Effort::times(10).placement(), 10 * Effort::default().placement());
        for text in ["0", "-1", "many", ""] {
            assert_eq!(text.parse::<Effort>(), Err(InvalidEffort), "{text}");
        }
    }
}
