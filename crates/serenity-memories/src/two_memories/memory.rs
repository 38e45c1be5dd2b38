//! A memory, and when two of them are not enough.

/// A memory of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    /// What the user calls it.
    pub name: String,
    /// Its size in bytes.
    pub capacity: u64,
}

/// Buffers that fit two memories in no way that was found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the tensors do not fit `{}` ({} bytes) and `{}` ({} bytes): {missing} bytes are missing{}",
    .memories[0].name, .memories[0].capacity, .memories[1].name, .memories[1].capacity,
    if *.proved { ", whatever lies where" } else { " for the best division found" }
)]
pub struct NoRoom {
    /// The memories.
    pub memories: [Memory; 2],
    /// So many bytes more in the second memory would do; at least so many, if it is proved.
    pub missing: u64,
    /// Is it proved that nothing fits?
    pub proved: bool,
}
