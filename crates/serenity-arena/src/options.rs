//! The options of the planners.

use crate::{Limits, ProgressFn};
use std::fmt;

/// The algorithm that finds offsets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Planner {
    /// The exact planner: finds a lowest placement and proves it, as far as the limits allow.
    #[default]
    Exact,
    /// The greedy planner of TensorFlow Lite Micro, byte for byte: largest first, lowest gap. Rounds sizes up to the alignment.
    Tflm,
    /// The arena planner of LiteRT (TensorFlow Lite), byte for byte: largest first, smallest gap.
    LiteRt,
    /// The arena of TensorFlow Lite until 2020, byte for byte: in order of execution, smallest gap.
    SimpleArena,
    /// A local search over orders, as in Arm's Vela and TVM, for comparison.
    HillClimb,
}

serenity_search::named! {
    "planner": Planner {
        "exact" => Exact,
        "tflm" => Tflm,
        "litert" => LiteRt,
        "simple-arena" => SimpleArena,
        "hill-climb" => HillClimb,
    }
}

/// The options of `place`. `Options::default()` proves the optimum and may take as long as that takes.
#[derive(Clone, Default)]
pub struct Options {
    /// The algorithm that finds offsets.
    pub planner: Planner,
    /// Ends the search as soon as a placement is at most this high, or is proved impossible. Planners that do not
    /// search ignore it.
    pub capacity: Option<u64>,
    /// When to give up proving and return the best placement so far.
    pub limits: Limits,
    /// Called a few times a second with the state of the search.
    pub progress: Option<ProgressFn>,
}

impl Options {
    /// Default options with this planner.
    pub fn new(planner: Planner) -> Self {
        Self { planner, ..Self::default() }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("planner", &self.planner)
            .field("capacity", &self.capacity)
            .field("limits", &self.limits)
            .field("progress", &self.progress.is_some())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for (name, planner) in Planner::all() {
            assert_eq!(name.parse(), Ok(planner));
            assert_eq!(planner.to_string(), name);
        }
        assert!("tlfm".parse::<Planner>().unwrap_err().to_string().contains("simple-arena"));
    }
}
