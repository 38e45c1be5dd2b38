//! The memory that a device must have to run a planned model.

use crate::{Input, Plan};
use serenity_runtimes::Tail;

/// Bytes that a device must have to run a planned model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// For TFLM the whole arena on a 32-bit device; otherwise the need under the memory model.
    pub bytes: u64,
    /// Bytes to add because builds of TFLM differ; 0 where nothing is estimated.
    pub margin: u64,
}

impl Need {
    /// The need of a planned model.
    pub fn of(model: &Input, plan: &Plan) -> Self {
        Self::with(model.tail(plan.model), plan.after.needs())
    }

    /// The need of an arena with a head of `head` bytes and, for TFLM, this tail.
    pub fn with(tail: Option<Tail>, head: u64) -> Self {
        tail.map_or(Self { bytes: head, margin: 0 }, |tail| Self {
            bytes: tail.needed(head).arm32,
            margin: tail.margin(head),
        })
    }

    /// Enough for any build that we know of: only a budget of at least this size counts as kept.
    pub fn to_be_safe(self) -> u64 {
        self.bytes.saturating_add(self.margin)
    }
}

/// The memory that a device must have for a planned model, without the margin.
pub fn whole_need(model: &Input, plan: &Plan) -> u64 {
    Need::of(model, plan).bytes
}
