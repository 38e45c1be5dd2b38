//! The plan that is written into a model for TFLM: where every tensor lies.
//!
//! Offsets are found by the exact planner, for the lifetimes that the runtime will see. Scratch is in the problem, because it needs room, but not in the
//! plan: the runtime places it, around what is planned. So the head that counts is the one its own planner arrives at in the end.

use super::problem::{ArenaProblem, arena_problem, tensor_buffers};
use super::{Arena, Offsets, runtime_arena, tflm};
use serenity_arena::{Limits, Options, place};
use serenity_ir::{Graph, Kernels, MemoryModel, OpId};

/// Where every tensor lies.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    /// By graph, by tensor; `None` for what takes no room.
    pub(crate) offsets: Offsets,
    /// The arena that the runtime makes of it.
    pub(crate) arena: Arena,
    /// No plan for these orders has a smaller one.
    pub(crate) bound: u64,
}

/// Places all tensors for one order of each graph. `None` if the sub-graphs call each other without end, or the sizes are absurd.
pub(crate) fn plan_arena(
    graphs: &[&Graph],
    orders: &[&[OpId]],
    kernels: Kernels,
    limits: Limits,
) -> Option<Planned> {
    let ArenaProblem { problem, contents, .. } =
        arena_problem(graphs, orders, MemoryModel::TflmPlanned(kernels))?;
    let index = tensor_buffers(&contents);
    let placement = place(&problem, &Options { limits, ..Options::default() });
    let offset = |graph: usize, tensor| match index.get(&(graph, tensor)) {
        Some(&i) => Some(placement.offsets[i]),
        // What no op touches is in nobody's way: it lies at the bottom.
        None => (graphs[graph].tensor(tensor).bytes > 0).then_some(0),
    };
    let offsets: Offsets = graphs
        .iter()
        .enumerate()
        .map(|(graph, g)| g.tensor_ids().map(|tensor| offset(graph, tensor)).collect())
        .collect();
    let arena = runtime_arena(graphs, orders, MemoryModel::TflmPlanned(kernels), Some(&offsets))?;
    Some(Planned { offsets, arena, bound: placement.bound })
}

/// The most memory in use at any step under a plan: no placement for these orders can do with less.
pub(crate) fn live_peak(graphs: &[&Graph], orders: &[&[OpId]], kernels: Kernels) -> Option<u64> {
    Some(tflm::Run::new(graphs, orders, kernels)?.live_peak())
}
