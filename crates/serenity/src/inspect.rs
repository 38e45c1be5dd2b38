//! What a model needs as it is.

use serenity_ir::{BufferId, Graph, Lifetimes, MemoryModel, OpId, Profile};

/// What a model needs in the order it came with.
#[derive(Clone, Debug)]
pub struct Inspection {
    /// The buffers of the memory model.
    pub lifetimes: Lifetimes,
    /// The model's own order.
    pub order: Vec<OpId>,
    /// Memory around every op.
    pub profile: Profile,
    /// The op that needs the most if it had the device to itself, and how much that is.
    pub max_op: (OpId, u64),
    /// The buffers in use at the peak, largest first.
    pub alive_at_peak: Vec<BufferId>,
}

/// Looks at a model without changing anything.
pub fn inspect(graph: &Graph, model: MemoryModel) -> Inspection {
    let lifetimes = model.lifetimes(graph);
    let order = graph.file_order();
    let profile = lifetimes.profile(&order);
    let alive_at_peak = lifetimes.alive_during(&order, profile.peak_step());
    let working_sets = lifetimes.working_sets();
    let mut max_op = (OpId(0), 0);
    for op in graph.op_ids() {
        if working_sets[op.index()] > max_op.1 {
            max_op = (op, working_sets[op.index()]);
        }
    }
    Inspection { lifetimes, order, profile, max_op, alive_at_peak }
}
