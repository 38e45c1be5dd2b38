//! The plan that is written into a model for TFLM: where every tensor lies.
//!
//! Offsets are found by the exact planner, for the lifetimes that the runtime will see. Scratch is in the problem, because it needs room, but not in the
//! plan: the runtime places it, around what is planned. So the head that counts is the one its own planner arrives at in the end.

use super::{Arena, Content, Offsets, runtime_arena, tflm};
use serenity_arena::{Limits, Options, Overlap, Problem, Sharing, place};
use serenity_ir::{Graph, Kernels, MemoryModel, OpId, TFLM_ALIGNMENT};
use std::collections::BTreeMap;

/// Where every tensor lies.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    /// By graph, by tensor; `None` for what takes no room.
    pub(crate) offsets: Offsets,
    /// The arena that the runtime makes of it.
    pub(crate) arena: Arena,
}

/// Places all tensors for one order of each graph. `None` if the sub-graphs call each other without end, or the sizes are absurd.
pub(crate) fn plan_arena(
    graphs: &[&Graph],
    orders: &[&[OpId]],
    kernels: Kernels,
    limits: Limits,
) -> Option<Planned> {
    let run = tflm::Run::new(graphs, orders, kernels)?;
    // What no op touches is in nobody's way: it lies at the bottom.
    let demands: Vec<_> = run.demands().into_iter().filter(|demand| demand.buffer.first >= 0).collect();
    let mut index = BTreeMap::new();
    for (i, demand) in demands.iter().enumerate() {
        if let Content::Tensor { graph, tensor } = demand.content {
            index.insert((graph, tensor), i);
        }
    }
    let mut sharing = BTreeMap::new();
    for (graph, overlap) in run.overlaps() {
        let ends = index.get(&(graph, overlap.output)).zip(index.get(&(graph, overlap.input)));
        if let (Some((&writer, &over)), Some(how)) = (ends, sharing_of(&overlap)) {
            // Where there are two ways to lie, the one that leaves a choice.
            let known = sharing.entry((writer, over)).or_insert(how);
            if let Sharing::Below { .. } = how {
                *known = how;
            }
        }
    }
    let overlaps = sharing.into_iter().map(|((writer, over), how)| Overlap { writer, over, how });
    let problem = Problem::new(demands.iter().map(|d| d.buffer).collect(), TFLM_ALIGNMENT)
        .and_then(|problem| problem.with_overlaps(overlaps.collect()))
        .ok()?;
    let placement = place(&problem, &Options { limits, ..Options::default() });
    let offset = |graph: usize, tensor| match index.get(&(graph, tensor)) {
        Some(&i) => Some(placement.offsets[i]),
        None => (graphs[graph].tensor(tensor).bytes > 0).then_some(0),
    };
    let offsets: Offsets = graphs
        .iter()
        .enumerate()
        .map(|(graph, g)| g.tensor_ids().map(|tensor| offset(graph, tensor)).collect())
        .collect();
    let arena = runtime_arena(graphs, orders, MemoryModel::TflmPlanned(kernels), Some(&offsets))?;
    Some(Planned { offsets, arena })
}

/// How the two ends of a permission may lie, in the planner's terms; `None` if it has none for it.
fn sharing_of(overlap: &serenity_ir::Overlap) -> Option<Sharing> {
    match overlap {
        serenity_ir::Overlap { exact: false, distance, .. } => Some(Sharing::Below { distance: *distance }),
        serenity_ir::Overlap { exact: true, distance: 0, .. } => Some(Sharing::SameOffset),
        _ => None,
    }
}

/// The most memory in use at any step under a plan: no placement for these orders can do with less.
pub(crate) fn live_peak(graphs: &[&Graph], orders: &[&[OpId]], kernels: Kernels) -> Option<u64> {
    Some(tflm::Run::new(graphs, orders, kernels)?.live_peak())
}
