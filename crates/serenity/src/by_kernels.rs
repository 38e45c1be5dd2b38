//! What a model needs with each set of kernels that it may be run with.

use crate::planning::safe_plan;
use crate::{Input, Options, Plan, judge};
use serenity_ir::{Graph, OpId};
use serenity_runtimes::{Kernels, MemoryModel, Offsets};

/// What TFLM needs for a planned model if it is built with one set of kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeedWithKernels {
    /// The kernels.
    pub kernels: Kernels,
    /// Its head: activations and scratch.
    pub arena: u64,
    /// The whole arena on a 32-bit device, without the margin; `None` if the model is known by its graph alone.
    pub total: Option<u64>,
}

/// What a planned model needs with each set of kernels that the plan is for. Nothing if it is not for TFLM.
pub fn needs_by_kernels(model: &Input, plan: &Plan) -> Vec<NeedWithKernels> {
    let graphs: Vec<&Graph> = model.graphs().iter().collect();
    let orders: Vec<&[OpId]> =
        std::iter::once(plan.order.as_slice()).chain(plan.bodies.iter().map(Vec::as_slice)).collect();
    // An order that is kept is kept with the plan that the model came with.
    let own = model.plan().filter(|_| plan.offsets.is_none() && !plan.reorders());
    let offsets = plan.offsets.as_ref().or(own.as_ref());
    by_kernels(model, plan.model, |model| Some(model.arena(&graphs, &orders, offsets)?.bytes))
}

/// Does a planned model need no more than the one that came, whichever kernels run it?
pub(crate) fn needs_no_more(model: &Input, plan: &Plan, came: &Input, options: &Options) -> bool {
    let given = safe_plan(came.graphs(), options);
    let before = by_kernels(came, plan.model, |model| judge::own_arena(came.graphs(), model, given));
    let after = needs_by_kernels(model, plan);
    before.iter().zip(&after).all(|(before, after)| after.whole() <= before.whole())
}

/// The same of the arenas of a model as it is, in these orders with these places.
pub(crate) fn heads_are_no_larger(
    graphs: &[Graph],
    model: MemoryModel,
    orders: &[&[OpId]],
    offsets: Option<&Offsets>,
    given: Option<&Offsets>,
) -> bool {
    let sets = model.kernels().map_or(&[][..], Kernels::sets);
    // Of one set, the plan speaks itself.
    if sets.len() < 2 {
        return true;
    }
    let all: Vec<&Graph> = graphs.iter().collect();
    sets.iter().all(|&set| {
        let model = model.without_plan().with_kernels(set);
        let after = model.arena(&all, orders, offsets).map(|arena| arena.bytes);
        after <= judge::own_arena(graphs, model, given)
    })
}

impl NeedWithKernels {
    fn whole(&self) -> u64 {
        self.total.unwrap_or(self.arena)
    }
}

fn by_kernels(
    input: &Input,
    model: MemoryModel,
    arena: impl Fn(MemoryModel) -> Option<u64>,
) -> Vec<NeedWithKernels> {
    let sets = model.kernels().map_or(&[][..], Kernels::sets);
    let of_set = |&kernels: &Kernels| {
        let model = model.without_plan().with_kernels(kernels);
        let arena = arena(model)?;
        let total = input.tail(model).map(|tail| tail.needed(arena).arm32);
        Some(NeedWithKernels { kernels, arena, total })
    };
    sets.iter().filter_map(of_set).collect()
}
