//! A memory of a device, and the error if two are not enough.

/// A memory of a device.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct Memory {
    /// The name that the user gave it.
    pub name: String,
    /// Its size in bytes.
    pub capacity: u64,
}

/// The error if no division was found that fits two memories.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the tensors do not fit `{}` ({} bytes) and `{}` ({} bytes): {missing} bytes too few{}",
    .memories[0].name, .memories[0].capacity, .memories[1].name, .memories[1].capacity,
    if *.proved { ", whatever lies where" } else { " for the best division found" }
)]
pub struct NoRoom {
    /// The two memories.
    pub memories: [Memory; 2],
    /// How many bytes more in the second memory would be enough; if proved, at least as many are needed.
    pub missing: u64,
    /// Is it proved that no division fits?
    pub proved: bool,
}
