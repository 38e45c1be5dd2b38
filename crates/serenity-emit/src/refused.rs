//! The error for a model that cannot be written as C.

/// An operator, or something about one, that is not covered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot write C for {kind} `{name}`: {why}")]
pub struct Refused {
    /// What kind of operator it is.
    pub kind: String,
    /// The name of its first result.
    pub name: String,
    /// What is not covered.
    pub why: String,
    /// Is the operator not covered with these shapes, types and constants? Then nothing that a plan decides makes a difference.
    pub is_for_good: bool,
}
