//! The variants of a model that were tried, each with its result.

use crate::score::{Cost, macs_of};
use crate::{Channels, Input, Need, Optimized, Rewrites, Variant};
use schemars::JsonSchema;
use serde::Serialize;
use serenity_formats::NarrowedChannels;
use serenity_ir::Graph;
use serenity_runtimes::Kernels;
use serenity_search::{Proof, Proved, StopReason};
use std::collections::BTreeSet;

/// One variant that was tried.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// The changes that were to be made to the model.
    pub variant: Variant,
    /// What the variant needs, or why it has no plan.
    pub outcome: Result<Figures, NoPlan>,
    /// Is this the variant that the pipeline returned?
    pub is_chosen: bool,
}

/// What a variant needs, and what it costs.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// The memory that a device must have.
    pub need: Need,
    /// Multiplications added to the model as it came; negative if there are fewer.
    pub extra_macs: i64,
    /// Bytes of constants added to the model as it came; negative if there are fewer.
    pub extra_flash: i64,
    /// Operators that the original model does not use and that the application must register in addition.
    pub new_operators: Vec<String>,
    /// Is it proved that this variant cannot need less?
    pub proof: Proof,
}

/// Why a variant has no plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoPlan {
    /// There is no channel to remove.
    #[error("no channel is constant or unread")]
    NoChannel,
    /// Without its unneeded channels the model needs no more memory, so that model is tried instead.
    #[error("needs no less than with fewer channels")]
    FewerChannels,
    /// No permitted rewrite makes the model smaller.
    #[error("no rewrite lowers the need")]
    NoRewrite,
    /// A variant with a stricter set of rewrites has already searched all that are permitted.
    #[error("no rewrites beyond the stricter ones")]
    NothingMore,
    /// The search made no rewrite, so this variant equals the one without rewrites.
    #[error("nothing was rewritten")]
    NotRewritten,
    /// The variant needs less with some kernels, and more with others that may run the model.
    #[error("needs more with some kernels")]
    OtherKernels,
    /// No loops save enough memory for the time that they take.
    #[error("no loops are worth their time")]
    NoLoops,
    /// A variant that takes less work already fits the budget.
    #[error("fits with less work")]
    FitsAlready,
}

serenity_search::named! {
    NoPlan {
        "no_channel" => NoChannel,
        "fewer_channels" => FewerChannels,
        "no_rewrite" => NoRewrite,
        "nothing_more" => NothingMore,
        "not_rewritten" => NotRewritten,
        "other_kernels" => OtherKernels,
        "no_loops" => NoLoops,
        "fits_already" => FitsAlready,
    }
}

impl Figures {
    /// The figures of a planned model, compared with `came`, the model as it came.
    pub(crate) fn of(found: &Optimized, came: &Input) -> Self {
        let cost = Cost::of(found, None);
        let of_channels = |channels: &NarrowedChannels| {
            channels.weight_bytes.after as i64 - channels.weight_bytes.before as i64
        };
        let of_rewrites: i64 = found.plan.rewrites.iter().map(|rewrite| rewrite.cost.weight_bytes).sum();
        Self {
            need: Need::of(&found.model, &found.plan),
            extra_macs: cost.macs as i64 - macs_of(came.graph()) as i64,
            extra_flash: of_rewrites + found.plan.constant_channels.as_ref().map_or(0, of_channels),
            new_operators: new_operators(came, &found.model),
            proof: found.plan.overall(),
        }
    }
}

/// The kinds of operators that a planned model has and the model as it came has not.
pub fn new_operators(came: &Input, planned: &Input) -> Vec<String> {
    operators(planned).difference(&operators(came)).cloned().collect()
}

fn operators(input: &Input) -> BTreeSet<String> {
    input.graphs().iter().flat_map(Graph::ops).map(|op| op.kind.to_string()).collect()
}

/// A variant that was tried, as JSON states it. What its plan says is null if it has none.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StatedAttempt<'a> {
    /// The changes, for people.
    pub variant: String,
    /// Are only the channels computed that are needed, or all?
    pub channels: Channels,
    /// The rewrites that were allowed.
    pub rewrites: Rewrites,
    /// For TFLM: the kernels that it was planned for.
    pub kernels: Option<Kernels>,
    /// Did windows of operators become loops?
    pub loops: bool,
    /// The memory that a device must have.
    pub needs: Option<u64>,
    /// Bytes to add because builds of TFLM differ.
    pub margin: Option<u64>,
    /// Multiplications added to the model as it came; negative if there are fewer.
    pub extra_macs: Option<i64>,
    /// Bytes of constants added to the model as it came; negative if there are fewer.
    pub extra_flash: Option<i64>,
    /// Operators that the original model does not use and that the application must register in addition.
    pub new_operators: Option<&'a [String]>,
    /// Is it proved that this variant cannot need less?
    pub proof: Option<Proved>,
    /// Why the search ended, in one word; null if it is proved.
    pub stopped: Option<StopReason>,
    /// Why the variant has no plan; null if it has one.
    pub no_plan: Option<NoPlan>,
    /// Is this the variant that was chosen?
    pub chosen: bool,
}

impl Attempt {
    /// The attempt as JSON states it.
    pub fn stated(&self) -> StatedAttempt<'_> {
        let Variant { channels, rewrites, planned_for, loops } = self.variant;
        let figures = self.outcome.as_ref().ok();
        StatedAttempt {
            variant: self.variant.to_string(),
            channels,
            rewrites,
            kernels: planned_for.kernels(),
            loops,
            needs: figures.map(|figures| figures.need.bytes),
            margin: figures.map(|figures| figures.need.margin),
            extra_macs: figures.map(|figures| figures.extra_macs),
            extra_flash: figures.map(|figures| figures.extra_flash),
            new_operators: figures.map(|figures| &figures.new_operators[..]),
            proof: figures.map(|figures| figures.proof.in_a_word()),
            stopped: figures.and_then(|figures| figures.proof.stopped()),
            no_plan: self.outcome.as_ref().err().copied(),
            chosen: self.is_chosen,
        }
    }
}
