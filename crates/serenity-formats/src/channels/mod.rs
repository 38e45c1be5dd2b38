//! A model without channels that are constant or never read.

pub(crate) mod elements;
pub(crate) mod part;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serenity_ir::{Graph, TensorId};
use serenity_rewrite::constant_channels::{Mix, Narrowing, Network, Numbers, Step, Transfer};

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

/// The steps that multiply by weights, each with the number of the tensor that it makes.
pub(crate) fn weighing(network: &Network) -> impl Iterator<Item = (usize, usize)> {
    network.steps.iter().enumerate().filter_map(|(index, step)| match step {
        Step::Mix(mix) => Some((index, mix.output)),
        Step::Apart(apart) if matches!(apart.transfer, Transfer::Window { .. }) => {
            Some((index, apart.output))
        }
        _ => None,
    })
}

impl NarrowedChannels {
    /// What was saved, where a tensor of the network is this one of the main graph.
    pub(crate) fn of(
        network: &Network,
        narrowing: &Narrowing,
        graph_tensor: impl Fn(usize) -> Option<TensorId>,
        macs: BeforeAfter,
        weight_bytes: BeforeAfter,
    ) -> Self {
        let count = |tensor: usize| network.tensors[tensor].count as u64;
        let kept =
            |tensor: usize| narrowing.kept[tensor].as_ref().map_or(count(tensor), |kept| kept.len() as u64);
        let channels = BeforeAfter {
            before: weighing(network).map(|(_, output)| count(output)).sum(),
            after: weighing(network).map(|(_, output)| kept(output)).sum(),
        };
        let tensors = narrowing.kept.iter().enumerate().filter_map(|(number, kept)| {
            let (before, kept) = (count(number), kept.as_ref()?);
            let gone = (0..before).filter(|&channel| kept.binary_search(&(channel as usize)).is_err());
            Some(NarrowedTensor { tensor: graph_tensor(number)?, before, gone: gone.collect() })
        });
        let mixes_reals = |step: &Step| match step {
            Step::Mix(Mix { input, .. }) => {
                network.tensors[*input].numbers == Numbers::Real && narrowing.kept[*input].is_some()
            }
            _ => false,
        };
        Self {
            removed: channels.saved(),
            channels,
            macs,
            weight_bytes,
            folded: narrowing.folded.values().flatten().filter(|&&added| added != 0).count() as u64,
            rounds_reals: network.steps.iter().any(mixes_reals),
            tensors: tensors.collect(),
        }
    }
}

/// Is the new graph the old one, but for the tensors of which that is asked?
pub(crate) fn is_same(old: &Graph, new: &Graph, is_as_wide: impl Fn(TensorId) -> bool) -> bool {
    old.ops().len() == new.ops().len()
        && old.ops().iter().zip(new.ops()).all(|(old, new)| {
            old.kind == new.kind && (&old.inputs, &old.outputs) == (&new.inputs, &new.outputs)
        })
        && (old.inputs(), old.outputs()) == (new.inputs(), new.outputs())
        && old.tensors().len() == new.tensors().len()
        && old.tensor_ids().all(is_as_wide)
}
