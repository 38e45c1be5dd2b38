//! What moves as one.

use std::fmt;
use std::str::FromStr;

/// Bytes in a page.
pub const PAGE: u64 = 1024;

/// What moves as one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Grain {
    /// Whole buffers.
    #[default]
    Tensor,
    /// Pages of [`PAGE`] bytes.
    Page,
}

/// A name that is no grain.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown grain `{0}`; choose tensor or page")]
pub struct UnknownGrain(String);

impl Grain {
    /// All grains, by name.
    pub fn all() -> impl Iterator<Item = (&'static str, Self)> {
        [("tensor", Self::Tensor), ("page", Self::Page)].into_iter()
    }

    /// Bytes in one unit.
    pub(crate) fn unit(self) -> u64 {
        match self {
            Self::Tensor => 1,
            Self::Page => PAGE,
        }
    }
}

impl fmt::Display for Grain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tensor => "tensor",
            Self::Page => "page",
        })
    }
}

impl FromStr for Grain {
    type Err = UnknownGrain;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::all().find(|(known, _)| *known == name);
        found.map(|(_, grain)| grain).ok_or_else(|| UnknownGrain(name.to_owned()))
    }
}
