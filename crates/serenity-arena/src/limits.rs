//! When a search must end.

use std::fmt;

/// Why a search ended before it had proved its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopReason {
    /// The planner does not search: it makes one placement and proves nothing beyond the simple bound.
    Heuristic,
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Heuristic => "the planner is a heuristic",
        })
    }
}
