//! What TFLM needs for a model as it is with each set of kernels, in each version of their library that is known.

use crate::Input;
use schemars::JsonSchema;
use serde::Serialize;
use serenity_pipeline::{Need, NeedWithKernels, own_needs_with};
use serenity_runtimes::{Kernels, MemoryModel};

/// What TFLM needs for a model as it is with one set of kernels.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct NeedOfKernels {
    /// The set of kernels.
    pub kernels: Kernels,
    /// The set with each release of its library that needs just this, the oldest first; empty where releases were not
    /// compared.
    pub releases: &'static [&'static str],
    /// The head of the arena: activations and scratch buffers.
    pub arena: u64,
    /// The memory that a device must have.
    pub needs: u64,
    /// Bytes to add because builds of TFLM differ.
    pub margin: u64,
    /// Does the model fit the budget with these kernels? Null without a budget.
    pub fits: Option<bool>,
}

/// The needs with the kernels of a memory model, in all versions that are known; for any kernels, with every set of
/// TFLM. Empty if the memory model is not TFLM's.
pub(super) fn needs_of_kernels(
    input: &Input,
    model: MemoryModel,
    fits: impl Fn(Kernels, Need) -> Option<bool>,
) -> Vec<NeedOfKernels> {
    let named = match model.kernels() {
        None => return Vec::new(),
        Some(Kernels::Any) => [Kernels::Any.sets(), &[Kernels::EspNnS3]].concat(),
        Some(kernels) if kernels.are_emitted() => return Vec::new(),
        Some(kernels) => vec![kernels],
    };
    let sets: Vec<Kernels> = named.iter().flat_map(|set| set.versions()).copied().collect();
    let need_of = |NeedWithKernels { kernels, arena, .. }: NeedWithKernels| {
        let need = Need::with(input.tail(model.without_plan().with_kernels(kernels)), arena);
        NeedOfKernels {
            kernels,
            releases: kernels.about().releases,
            arena,
            needs: need.bytes,
            margin: need.margin,
            fits: fits(kernels, need),
        }
    };
    own_needs_with(input, &sets).into_iter().map(need_of).collect()
}
