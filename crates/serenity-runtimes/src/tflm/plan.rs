//! The plan that is written into a model for TFLM: where every tensor lies.
//!
//! Offsets are found by the exact planner, for the lifetimes that the runtime will see. Scratch is in the problem, because it needs room, but not in the
//! plan: the runtime places it, around what is planned. So the head that counts is the one its own planner arrives at in the end.

use super::run::{Facts, Run};
use super::{for_a_plan, tflm_arena};
use crate::problem::tensor_buffers;
use crate::{Arena, ArenaProblem, Content, Offsets};
use serenity_arena::{Options, place};
use serenity_ir::OpId;
use serenity_search::{Limits, StopReason};

/// Where every tensor lies.
#[derive(Clone, Debug)]
pub struct Planned {
    /// By graph, by tensor; `None` for what takes no room.
    pub offsets: Offsets,
    /// The arena that the runtime makes of it.
    pub arena: Arena,
    /// No plan for these orders has a smaller one.
    pub bound: u64,
    /// Why the search for places ended, if that leaves a gap.
    pub stopped: Option<StopReason>,
}

/// Places all tensors for one order of each graph, at least as well as the runtime does by itself. `None` if the sub-graphs call each other without end,
/// or the sizes are absurd.
pub fn plan_arena(facts: &Facts, orders: &[&[OpId]], limits: Limits) -> Option<Planned> {
    let ArenaProblem { problem, contents, .. } = for_a_plan(facts, orders)?;
    let index = tensor_buffers(&contents);
    let placement = place(&problem, &Options { limits, ..Options::default() });
    let offset = |graph: usize, tensor| index.get(&(graph, tensor)).map(|&at| placement.offsets[at]);
    let (bound, stopped) = (placement.bound, placement.proof.stopped());
    let offsets = facts.for_all_tensors(offset);
    let arena = tflm_arena(facts, orders, Some(&offsets))?;
    let own = tflm_arena(facts, orders, None)?;
    if arena.bytes <= own.bytes {
        return Some(Planned { offsets, arena, bound, stopped });
    }
    // Told to put everything where it would put it anyway, the runtime finds the same places for scratch too.
    let places: std::collections::BTreeMap<_, _> = own
        .pieces
        .iter()
        .filter_map(|piece| match piece.content {
            Content::Tensor { graph, tensor } => Some(((graph, tensor), piece.offset)),
            Content::Scratch { .. } => None,
        })
        .collect();
    let offsets = facts.for_all_tensors(|graph, tensor| places.get(&(graph, tensor)).copied());
    let arena = tflm_arena(facts, orders, Some(&offsets))?;
    Some(Planned { offsets, arena, bound, stopped })
}

/// The most memory in use at any step under a plan: no placement for these orders can do with less.
pub fn live_peak(facts: &Facts, orders: &[&[OpId]]) -> Option<u64> {
    Run::new(facts, orders)?.live().into_iter().max()
}

/// The memory in use under a plan while each op of the main graph runs, in its order.
pub fn live_by_op(facts: &Facts, orders: &[&[OpId]]) -> Option<Vec<u64>> {
    Some(Run::new(facts, orders)?.live_by_op())
}
