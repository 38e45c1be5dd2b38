//! How much work each search of the pipeline may do.
//!
//! Everything is counted, nothing timed: with the same options the same result comes out of a fast machine and of a starved one. The counts are sized so
//! that real networks are settled long before they run out; a time limit is a safety net behind them.

use serenity_ir::Graph;
use serenity_schedule::Algorithm;
use std::fmt;
use std::str::FromStr;

/// For the paper's algorithms, whose states are cheap and many: mostly the limit on memory comes first.
const CHEAP_STATES: u64 = 200_000_000;

/// Where there are no more orders than these, each is tried to the end, arena and all.
pub(crate) const MOST_ORDERS: usize = 100;

/// Places for one set of kernels among several are searched for with so small a part of the work.
pub(crate) const SHARE_OF_A_SET: u64 = 4;

/// So many sets, from which the search starts, get more work than the others.
pub(crate) const FIRST_SETS: usize = 7;

/// Times that a model is rewritten, since what was rewritten may offer places that were not there before,
pub(crate) const REWRITING_ROUNDS: usize = 4;
/// and how many ops it may have to be looked at again: it seldom gains.
pub(crate) const MOST_OPS_OF_LATER_ROUNDS: usize = 400;
/// For the same reason a second look gets this share of the work.
pub(crate) const SHARE_OF_A_SECOND_LOOK: usize = 4;

/// The cost of more rewrites than these is that of each alone, not of each beside the others.
pub(crate) const MOST_COSTS: usize = 64;

/// For ONNX Runtime: times that a walk around an order and a look at single moves take turns.
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
    /// So many times the usual work; at least once.
    pub fn times(factor: u32) -> Self {
        Self { times: factor.max(1), is_draft: false }
    }

    /// For a plan that is only compared with others: what is chosen is planned again.
    pub(crate) fn for_a_draft(self) -> Self {
        Self { is_draft: true, ..self }
    }

    fn of(self, usual: u64) -> u64 {
        usual.saturating_mul(u64::from(self.times))
    }

    /// Buffers that a placement may look at which is all that is asked for: ten seconds.
    pub fn placement_alone(self) -> u64 {
        self.of(100_000_000)
    }

    /// States of the search for an order that is all that is asked for: ten seconds or more where it is hard, and never reached where it is not.
    pub(crate) fn states_of_an_order_alone(self, algorithm: Algorithm) -> u64 {
        self.of(if algorithm == Algorithm::Exact { 2_000_000 } else { CHEAP_STATES })
    }

    /// The same where it is one search of several. A state of a large graph takes longer.
    pub(crate) fn states_of_an_order(self, algorithm: Algorithm, ops: usize) -> u64 {
        let exact = (40_000_000 / ops.max(1) as u64).clamp(20_000, 400_000);
        self.of(if algorithm == Algorithm::Exact { exact } else { CHEAP_STATES })
    }

    /// The same for one set of rewrites of many. The best order found counts: mostly it is the best there is, and only the proof is missing.
    /// What is chosen in the end is scheduled again.
    pub(crate) fn states_of_a_set(self) -> u64 {
        self.of(10_000)
    }

    /// The same for the sets from which the search for rewrites starts.
    pub(crate) fn states_of_a_first_set(self) -> u64 {
        self.of(60_000)
    }

    /// Moves from one set of executed ops to the next that are looked at in a part of a graph, for a bound with what ops save while they run: a second, or a quarter of it.
    pub(crate) fn moves_with_savings(self) -> u64 {
        self.of(if self.is_draft { 1 << 18 } else { 1 << 20 })
    }

    /// Sets of rewrites of a graph that are scheduled, in a share of the usual work: fewer of a large one.
    pub(crate) fn sets(self, graph: &Graph, share: usize) -> usize {
        (self.of(30_000) as usize / share / graph.ops().len().max(1)).clamp(12, 2048)
    }

    /// The same for sets that are planned to the end, arena and all. The runtimes place tensors by rules of their own, so the least peak is not always
    /// the least arena.
    pub(crate) fn planned_sets(self, graph: &Graph, share: usize) -> usize {
        (self.of(3_000) as usize / share / graph.ops().len().max(1)).clamp(4, 100)
    }

    /// Buffers that the placement of one order may look at: if it has not settled by then, another order is the better bet.
    pub(crate) fn placement(self) -> u64 {
        self.of(2_000_000)
    }

    /// The same for a model with loops, whose states hold together what they are made of.
    pub(crate) fn placement_of_loops(self) -> u64 {
        self.of(20_000_000)
    }

    /// The same for loops of which others may be chosen: enough to compare them.
    pub(crate) fn placement_of_some_loops(self) -> u64 {
        self.of(4_000_000)
    }

    /// Steps of orders looked at while one order is improved by moving ops.
    pub(crate) fn refined_steps(self) -> usize {
        self.of(if self.is_draft { 250_000 } else { 2_000_000 }) as usize
    }

    /// The same for ONNX Runtime, which takes longer to follow.
    pub(crate) fn ort_steps(self) -> usize {
        self.of(500_000) as usize
    }

    /// Moves at random that are tried for ONNX Runtime.
    pub(crate) fn wandering_moves(self) -> usize {
        self.of(2_500) as usize
    }
}

/// Not a number of times.
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
