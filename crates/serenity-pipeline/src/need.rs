//! What a device must have for a planned model.

use crate::{Input, Plan};
use serenity_runtimes::Tail;

/// Bytes for a planned model on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// For TFLM the whole arena of a 32-bit device, otherwise what counts for the memory model.
    pub bytes: u64,
    /// What to add because builds differ; 0 where nothing is estimated.
    pub margin: u64,
}

impl Need {
    /// What a planned model needs.
    pub fn of(model: &Input, plan: &Plan) -> Self {
        Self::with(model.tail(plan.model), plan.after.needs())
    }

    /// What a head of so many bytes needs with this tail, if there is one.
    pub fn with(tail: Option<Tail>, head: u64) -> Self {
        tail.map_or(Self { bytes: head, margin: 0 }, |tail| Self {
            bytes: tail.needed(head).arm32,
            margin: tail.margin(head),
        })
    }

    /// What is enough for any build that we know of: a budget that holds less is not said to be kept.
    pub fn to_be_safe(self) -> u64 {
        self.bytes.saturating_add(self.margin)
    }
}

/// What a device must have, without the margin.
pub fn whole_need(model: &Input, plan: &Plan) -> u64 {
    Need::of(model, plan).bytes
}
