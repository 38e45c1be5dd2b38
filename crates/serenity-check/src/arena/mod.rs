//! The arenas of the runtimes, computed once more: what each runtime's own planner makes of an order.
//!
//! Nothing here is shared with the planners of the pipeline. What kernels ask for
//! ([`scratch`](serenity_facts::scratch), [`LitertKernels`](serenity_facts::LitertKernels)) is taken from the tables of
//! facts about the runtimes; who shares memory, who is placed when and where is written down here again.

pub(crate) mod litert;
pub(crate) mod ort;
mod shelves;
mod sorting;
pub(crate) mod tflm;

use serenity_facts::MemoryModel;
use serenity_ir::{Graph, OpId};

/// The arena that the runtime behind `model` needs for these graphs, the main one first, each in the order in which it
/// stands in the file; with `offsets` (by graph, by tensor) where a plan for TFLM places tensors.
///
/// `None` if the model stands for no runtime with an arena, or if the run does not come to an end.
///
/// # Panics
/// If an order is not one of its graph.
pub fn arena(
    graphs: &[&Graph],
    orders: &[&[OpId]],
    model: MemoryModel,
    offsets: Option<&[Vec<Option<u64>>]>,
) -> Option<u64> {
    if let Some(kernels) = model.kernels() {
        return tflm::head(graphs, orders, kernels, offsets);
    }
    if let Some(setup) = model.ort() {
        return Some(ort::run(graphs.first()?, orders.first()?, setup).requested);
    }
    // An arena of a runtime that is new here is refused, because none is found.
    (model == MemoryModel::Litert).then(|| litert::span(graphs.first()?, orders.first()?))?
}
