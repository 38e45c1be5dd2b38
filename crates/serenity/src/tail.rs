//! What TFLM keeps for ever, at the far end of its arena.

use crate::{Input, Source};
use serenity_ir::MemoryModel;

/// An estimate of TFLM's tail in bytes: descriptions of tensors and ops, and what kernels prepare once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tail {
    /// On a 32-bit device, such as an Arm Cortex-M.
    pub arm32: u64,
    /// On a 64-bit computer, such as the one that runs the tests.
    pub x86_64: u64,
}

impl Tail {
    /// What to add to head and tail for versions of TFLM and compilers that count otherwise.
    pub fn margin(&self) -> u64 {
        (self.arm32 / 8).next_multiple_of(256)
    }
}

impl Input {
    /// What TFLM keeps besides the head, if it is the target and the model is known with all its tensors.
    pub fn tail(&self, model: MemoryModel) -> Option<Tail> {
        match (&self.source, model) {
            (Source::Tflite(_), MemoryModel::Tflm(_)) => Some(Tail { arm32: 0, x86_64: 0 }),
            _ => None,
        }
    }
}
