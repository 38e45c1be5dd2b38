//! The memory that a model needs as it is.

mod by_kernels;
mod stated;

pub use by_kernels::NeedOfKernels;
pub(crate) use stated::buffer_label;
pub use stated::{AliveBuffer, Inspected, LargestOp, StatedInspection, StatedStep, scratch_bytes};

use serenity_ir::{BufferId, Graph, Lifetimes, Op, OpId, Profile};
use serenity_pipeline::peak;
use serenity_runtimes::{Arena, MemoryModel, MemoryModelExt, Offsets, main_graph};

/// The memory that a model needs in its own order.
#[derive(Clone, Debug)]
pub struct Inspection {
    /// The buffers of the memory model.
    pub lifetimes: Lifetimes,
    /// The order in which the runtime runs the model.
    pub order: Vec<OpId>,
    /// Memory in use before, during and after every op.
    pub profile: Profile,
    /// The op that needs the most by itself, and its bytes.
    pub max_op: (OpId, u64),
    /// The buffers in use at the peak, largest first.
    pub alive_at_peak: Vec<BufferId>,
    /// The arena that the runtime's own planner makes; `None` if the memory model has no such planner.
    pub arena: Option<Arena>,
}

/// Inspects a model (the main graph first) without changing it. `plan` is its stored memory plan, if any
/// ([`Input::plan`](crate::Input::plan)).
///
/// # Panics
/// If there is no graph.
pub fn inspect(graphs: &[Graph], model: MemoryModel, plan: Option<&Offsets>) -> Inspection {
    let orders: Vec<Vec<OpId>> = graphs.iter().map(Graph::file_order).collect();
    let graph = &main_graph(graphs, &orders[1..], model);
    let lifetimes = model.lifetimes(graph);
    let order = model.execution_order(graph, &graph.file_order());
    let profile = peak::profile(graphs, (&order, &orders[1..]), model, plan);
    let alive_at_peak = lifetimes.alive_during(&order, profile.peak_step());
    let mut working_sets = lifetimes.working_sets();
    // Where tensors share bytes, the inputs and outputs of an op do not add up: its largest tensor counts.
    if profile != lifetimes.profile(&order) {
        let largest = |op: &Op| op.inputs.iter().chain(&op.outputs).map(|&t| graph.tensor(t).bytes).max();
        working_sets = graph.ops().iter().map(|op| largest(op).unwrap_or(0)).collect();
    }
    let mut max_op = (OpId(0), 0);
    for op in graph.op_ids() {
        if working_sets[op.index()] > max_op.1 {
            max_op = (op, working_sets[op.index()]);
        }
    }
    let borrowed: Vec<&[OpId]> = orders.iter().map(Vec::as_slice).collect();
    let arena = model.arena(&graphs.iter().collect::<Vec<_>>(), &borrowed, plan);
    Inspection { lifetimes, order, profile, max_op, alive_at_peak, arena }
}
