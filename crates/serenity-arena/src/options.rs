//! What the caller may choose.

use std::fmt;
use std::str::FromStr;

/// How to find offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Planner {
    /// The greedy planner of TensorFlow Lite Micro, byte for byte: largest first, lowest gap. Rounds sizes up to the alignment.
    Tflm,
    /// The arena planner of LiteRT (TensorFlow Lite), byte for byte: largest first, smallest gap.
    LiteRt,
    /// The arena of TensorFlow Lite until 2020, byte for byte: in order of execution, smallest gap.
    SimpleArena,
}

const NAMES: &[(&str, Planner)] =
    &[("tflm", Planner::Tflm), ("litert", Planner::LiteRt), ("simple-arena", Planner::SimpleArena)];

impl Planner {
    /// All planners with their names.
    pub fn all() -> impl Iterator<Item = (&'static str, Self)> {
        NAMES.iter().copied()
    }
}

/// A name that is no planner.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown planner `{name}`; choose one of: {}", NAMES.iter().map(|n| n.0).collect::<Vec<_>>().join(", "))]
pub struct UnknownPlanner {
    name: String,
}

impl FromStr for Planner {
    type Err = UnknownPlanner;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let known = NAMES.iter().find(|(known, _)| *known == name);
        known.map(|&(_, planner)| planner).ok_or_else(|| UnknownPlanner { name: name.to_owned() })
    }
}

impl fmt::Display for Planner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(NAMES.iter().find(|(_, planner)| planner == self).map_or("", |(name, _)| name))
    }
}

/// Everything a caller may choose.
#[derive(Clone, Debug)]
pub struct Options {
    /// How to find offsets.
    pub planner: Planner,
}

impl Options {
    /// This planner, and nothing else out of the ordinary.
    pub fn new(planner: Planner) -> Self {
        Self { planner }
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
