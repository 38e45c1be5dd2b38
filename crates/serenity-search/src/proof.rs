//! Whether an answer is proved, and if not, what ended the search.

use serde::de::{Deserialize, Deserializer, Error};
use std::fmt;

/// Why a search ended before it had proved its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StopReason {
    /// The search is not complete: it makes one answer, or improves some, and proves nothing beyond a simple bound.
    Heuristic,
    /// Some facts about the problem are unknown, so nothing can be proved about it.
    Unknown,
    /// The question was only whether a capacity can be met or a figure be beaten, and it is answered.
    Capacity,
    /// The search began to repeat itself, as Algorithm 2 of the paper may if it is followed as printed.
    Circles,
    /// [`Limits::work`](crate::Limits::work) was used up.
    Work,
    /// [`Limits::memory`](crate::Limits::memory) was used up.
    Memory,
    /// [`Limits::deadline`](crate::Limits::deadline) came.
    Time,
    /// [`Limits::cancel`](crate::Limits::cancel) was set.
    Cancelled,
}

impl StopReason {
    /// Does it depend on the clock or on a signal, so that another run may give another answer?
    pub fn is_by_the_clock(self) -> bool {
        matches!(self, Self::Time | Self::Cancelled)
    }
}

impl<'de> Deserialize<'de> for StopReason {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let reason = Self::all().find_map(|(known, reason)| (known == name).then_some(reason));
        reason.ok_or_else(|| D::Error::custom(format!("no reason is called `{name}`")))
    }
}

crate::named! {
    StopReason {
        "heuristic" => Heuristic,
        "unknown" => Unknown,
        "capacity" => Capacity,
        "circles" => Circles,
        "work" => Work,
        "memory" => Memory,
        "time" => Time,
        "cancelled" => Cancelled,
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Heuristic => "not everything was tried",
            Self::Unknown => "not all is known of the model",
            Self::Capacity => "the search ended as soon as the budget was decided",
            Self::Circles => "the budgets repeat, so the search would never end",
            Self::Work => "the work limit was reached",
            Self::Memory => "the memory limit was reached",
            Self::Time => "the time limit was reached",
            Self::Cancelled => "it was cancelled",
        })
    }
}

/// What is proved about an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// The answer equals the bound: nothing is better.
    Optimal,
    /// There may be something better between the bound and the answer.
    Gap {
        /// Why the search ended.
        stopped: StopReason,
    },
}

impl Proof {
    /// The proof for an answer that needs `needs` if `bound` is a lower bound: optimal only if it needs no more.
    pub fn of(needs: u64, bound: u64, stopped: Option<StopReason>) -> Self {
        if needs <= bound {
            Self::Optimal
        } else {
            Self::Gap { stopped: stopped.unwrap_or(StopReason::Heuristic) }
        }
    }

    /// Is it proved that nothing is better?
    pub fn is_optimal(self) -> bool {
        self == Self::Optimal
    }

    /// Why the answer is not proved optimal.
    pub fn stopped(self) -> Option<StopReason> {
        match self {
            Self::Optimal => None,
            Self::Gap { stopped } => Some(stopped),
        }
    }

    /// Is it complete, in one word?
    pub fn in_a_word(self) -> Proved {
        Proved::if_so(self.is_optimal())
    }

    /// May another run give another answer?
    pub fn is_by_the_clock(self) -> bool {
        self.stopped().is_some_and(StopReason::is_by_the_clock)
    }
}

/// Whether an answer is proved to be the best, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Proved {
    /// The bound is met.
    Optimal,
    /// There may be something better.
    Gap,
}

crate::named! { Proved { "optimal" => Optimal, "gap" => Gap } }

impl Proved {
    /// Optimal if that is so.
    pub fn if_so(is_optimal: bool) -> Self {
        if is_optimal { Self::Optimal } else { Self::Gap }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_bound_that_meets_the_answer_proves_it() {
        assert_eq!(Proof::of(5, 5, Some(StopReason::Time)), Proof::Optimal);
        assert_eq!(Proof::of(6, 5, None), Proof::Gap { stopped: StopReason::Heuristic });
        assert!(Proof::of(6, 5, Some(StopReason::Time)).is_by_the_clock());
        assert!(!Proof::of(6, 5, Some(StopReason::Work)).is_by_the_clock());
    }
}
