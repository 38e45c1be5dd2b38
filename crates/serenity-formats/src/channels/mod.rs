//! A model without channels that are constant or never read.

pub(crate) mod elements;
pub(crate) mod part;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serenity_ir::TensorId;

/// What was left out of a model, and what that saves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NarrowedChannels {
    /// How many channels convolutions and dense layers compute no more.
    pub removed: u64,
    /// Channels that convolutions and dense layers compute.
    pub channels: BeforeAfter,
    /// Multiplications of one run.
    pub macs: BeforeAfter,
    /// Bytes of the constants that operators read.
    pub weight_bytes: BeforeAfter,
    /// Constants that biases took over: channels of results whose bias is another.
    pub folded: u64,
    /// Does it compute with real numbers? Then kernels that add up several terms at a time round in another order.
    pub rounds_reals: bool,
    /// The tensors that have fewer channels.
    pub tensors: Vec<NarrowedTensor>,
}

/// A number with all channels, and without those that are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BeforeAfter {
    /// With all channels.
    pub before: u64,
    /// Without those that are left out.
    pub after: u64,
}

/// A tensor with fewer channels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NarrowedTensor {
    /// Its number in the main graph.
    pub tensor: TensorId,
    /// Its channels before.
    #[serde(rename = "channels")]
    pub before: u64,
    /// The channels that are gone, by their numbers before.
    pub gone: Vec<u64>,
}

impl BeforeAfter {
    /// By how much it is less.
    pub fn saved(self) -> u64 {
        self.before.saturating_sub(self.after)
    }
}
