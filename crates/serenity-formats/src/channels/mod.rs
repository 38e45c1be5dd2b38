//! A model without channels that are constant or never read.

pub(crate) mod elements;
pub(crate) mod part;

use serde_json::{Value, json};
use serenity_ir::TensorId;

/// What was left out of a model, and what that saves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NarrowedChannels {
    /// Channels that convolutions and dense layers compute, before and after.
    pub channels: (u64, u64),
    /// Multiplications of one run, before and after.
    pub macs: (u64, u64),
    /// Bytes of the constants that operators read, before and after.
    pub weight_bytes: (u64, u64),
    /// Constants that biases took over: channels of results whose bias is another.
    pub folded: u64,
    /// Does it compute with real numbers? Then kernels that add up several terms at a time round in another order.
    pub rounds_reals: bool,
    /// The tensors that have fewer channels.
    pub tensors: Vec<NarrowedTensor>,
}

/// A tensor with fewer channels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NarrowedTensor {
    /// Its number in the main graph.
    pub tensor: TensorId,
    /// Its channels before.
    pub before: u64,
    /// The channels that are gone, by their numbers before.
    pub gone: Vec<u64>,
}

impl NarrowedChannels {
    /// How many channels convolutions and dense layers compute no more.
    pub fn removed(&self) -> u64 {
        self.channels.0 - self.channels.1
    }

    /// As a plan says it.
    pub fn to_json(&self) -> Value {
        let pair = |(before, after): (u64, u64)| json!({"before": before, "after": after});
        let tensors = self
            .tensors
            .iter()
            .map(|one| json!({"tensor": one.tensor.0, "channels": one.before, "gone": one.gone}));
        json!({
            "removed": self.removed(),
            "channels": pair(self.channels),
            "macs": pair(self.macs),
            "weight_bytes": pair(self.weight_bytes),
            "folded": self.folded,
            "rounds_reals": self.rounds_reals,
            "tensors": tensors.collect::<Vec<_>>(),
        })
    }

    /// Reads what [`to_json`](Self::to_json) writes; `None` if anything is missing or contradicts itself.
    pub fn from_json(value: &Value) -> Option<Self> {
        let number = |value: &Value, key: &str| value.get(key)?.as_u64();
        let pair = |key: &str| {
            let pair = value.get(key)?;
            Some((number(pair, "before")?, number(pair, "after")?))
        };
        let tensor = |value: &Value| {
            Some(NarrowedTensor {
                tensor: TensorId(u32::try_from(number(value, "tensor")?).ok()?),
                before: number(value, "channels")?,
                gone: value.get("gone")?.as_array()?.iter().map(Value::as_u64).collect::<Option<_>>()?,
            })
        };
        let channels = pair("channels").filter(|(before, after)| after <= before)?;
        let read = Self {
            channels,
            macs: pair("macs")?,
            weight_bytes: pair("weight_bytes")?,
            folded: number(value, "folded")?,
            rounds_reals: value.get("rounds_reals")?.as_bool()?,
            tensors: value.get("tensors")?.as_array()?.iter().map(tensor).collect::<Option<_>>()?,
        };
        (number(value, "removed") == Some(read.removed())).then_some(read)
    }
}
