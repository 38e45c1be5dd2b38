//! What a planned model needs with each set of TFLM kernels that may run it.

use crate::stages::judge;
use crate::stages::place::safe_plan;
use crate::{Input, Optimized, Options, Plan};
use serenity_check::placement_faults;
use serenity_ir::{Graph, OpId};
use serenity_runtimes::{Kernels, MemoryModel, MemoryModelExt, Offsets};

/// What TFLM needs for a planned model if it is built with one set of kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct NeedWithKernels {
    /// The set of kernels.
    pub kernels: Kernels,
    /// The head of the arena: activations and scratch buffers.
    pub arena: u64,
    /// The whole arena on a 32-bit device, without the margin; `None` if only the graph of the model is known, not its
    /// file.
    pub total: Option<u64>,
    /// Does the need that the plan states cover these kernels? If not, they compute the same results but need this
    /// much.
    pub counted: bool,
}

/// What a planned model needs with each set of kernels that its plan is for. A plan for any kernels also lists the sets
/// that need too much to be counted. Empty if the plan is not for TFLM.
pub fn needs_by_kernels(model: &Input, plan: &Plan) -> Vec<NeedWithKernels> {
    let graphs: Vec<&Graph> = model.graphs().iter().collect();
    let orders = plan.orders();
    // An order that is kept is kept with the plan that the model came with.
    let own = model.plan().filter(|_| plan.offsets.is_none() && !plan.reorders());
    let offsets = plan.offsets.as_ref().or(own.as_ref());
    let (sets, others) = sets_and_others(plan.model);
    by_kernels(model, plan.model, sets, others, |model| Some(model.arena(&graphs, &orders, offsets)?.bytes))
}

/// What a model needs as it came, in its own order and with its own memory plan, with each set of kernels that may run
/// it. For any kernels, also with the sets that need too much to be counted. Empty if the memory model is not TFLM's.
pub fn own_needs_by_kernels(came: &Input, model: MemoryModel) -> Vec<NeedWithKernels> {
    let plan = came.plan();
    let (sets, others) = sets_and_others(model);
    by_kernels(came, model, sets, others, |model| judge::own_arena(came.graphs(), model, plan.as_ref()))
}

/// What a model needs as it came with each of these sets of kernels.
pub fn own_needs_with(came: &Input, sets: &[Kernels]) -> Vec<NeedWithKernels> {
    let plan = came.plan();
    let arena = |model| judge::own_arena(came.graphs(), model, plan.as_ref());
    by_kernels(came, MemoryModel::Tflm(Kernels::Any), sets, &[], arena)
}

/// The sets of kernels whose needs count, and others of which the need is told.
fn sets_and_others(model: MemoryModel) -> (&'static [Kernels], &'static [Kernels]) {
    let sets = model.kernels().map_or(&[][..], Kernels::sets);
    (sets, if sets.len() > 1 { &[Kernels::EspNnS3] } else { &[] })
}

/// The sets of TFLM kernels with which a planned model may compute wrong results, because its tensors overlap where
/// these kernels do not allow it. Empty if the plan is not for TFLM, or if TFLM places the tensors itself.
pub fn kernels_to_avoid(model: &Input, plan: &Plan) -> Vec<Kernels> {
    let own = model.plan().filter(|_| plan.offsets.is_none() && !plan.reorders());
    let (Some(kernels), Some(offsets)) = (plan.model.kernels(), plan.offsets.as_ref().or(own.as_ref()))
    else {
        return Vec::new();
    };
    let graphs: Vec<&Graph> = model.graphs().iter().collect();
    let orders = plan.orders();
    let is_unsafe = |set: &Kernels| !placement_faults(&graphs, &orders, *set, offsets, u64::MAX).is_empty();
    // Versions of a library differ in scratch, not in what may overlap.
    let is_newest = |set: &Kernels| set.sets() == [*set] && set.newest() == *set;
    let others = Kernels::all().map(|(_, set)| set).filter(|set| is_newest(set) && !set.are_emitted());
    others.filter(|set| !kernels.newest().sets().contains(set)).filter(is_unsafe).collect()
}

/// Does a planned model need no more than the model as it came, with every set of kernels that may run it?
pub(crate) fn needs_no_more(model: &Input, plan: &Plan, came: &Input, options: &Options) -> bool {
    let given = safe_plan(came.graphs(), options);
    let sets = plan.model.kernels().map_or(&[][..], Kernels::sets);
    let before = |model| judge::own_arena(came.graphs(), model, given);
    let before = by_kernels(came, plan.model, sets, &[], before);
    let after = needs_by_kernels(model, plan);
    before.iter().zip(&after).all(|(before, after)| after.whole() <= before.whole())
}

/// What a planned model needs on a device, averaged over the sets of kernels that may run it.
pub(crate) fn mean_need(Optimized { model, plan, .. }: &Optimized) -> u64 {
    let needs = needs_by_kernels(model, plan);
    let counted: Vec<u64> = needs.iter().filter(|need| need.counted).map(NeedWithKernels::whole).collect();
    let sum = counted.iter().copied().fold(0, u64::saturating_add);
    sum.checked_div(counted.len() as u64).unwrap_or(plan.after.needs())
}

/// The arena of a model with each set of kernels that may run it, in these orders at these offsets. Empty if there is
/// only one set.
pub(crate) fn heads(
    graphs: &[Graph],
    model: MemoryModel,
    orders: &[&[OpId]],
    offsets: Option<&Offsets>,
) -> Vec<Option<u64>> {
    let all: Vec<&Graph> = graphs.iter().collect();
    of_sets(model, |model| Some(model.arena(&all, orders, offsets)?.bytes))
}

/// The arena of a model as it came, in its own order, with each set of kernels that may run it. Empty if there is only
/// one set.
pub(crate) fn own_heads(graphs: &[Graph], model: MemoryModel, given: Option<&Offsets>) -> Vec<Option<u64>> {
    of_sets(model, |model| judge::own_arena(graphs, model, given))
}

fn of_sets(model: MemoryModel, head: impl Fn(MemoryModel) -> Option<u64>) -> Vec<Option<u64>> {
    match model.kernels().map_or(&[][..], Kernels::sets) {
        // With a single set, the plan itself states the arena.
        [] | [_] => Vec::new(),
        sets => sets.iter().map(|&set| head(model.without_plan().with_kernels(set))).collect(),
    }
}

/// Is no arena of `heads` larger than its counterpart in `own`?
pub(crate) fn are_no_larger(heads: &[Option<u64>], own: &[Option<u64>]) -> bool {
    heads.iter().zip(own).all(|(head, own)| head <= own)
}

impl NeedWithKernels {
    /// The whole arena where it is known, otherwise its head.
    pub fn whole(&self) -> u64 {
        self.total.unwrap_or(self.arena)
    }
}

/// The needs with sets whose need the plan states (`counted`), and with others.
fn by_kernels(
    input: &Input,
    model: MemoryModel,
    sets: &[Kernels],
    others: &[Kernels],
    arena: impl Fn(MemoryModel) -> Option<u64>,
) -> Vec<NeedWithKernels> {
    let of_set = |(&kernels, counted): (&Kernels, bool)| {
        let model = model.without_plan().with_kernels(kernels);
        let arena = arena(model)?;
        let total = input.tail(model).map(|tail| tail.needed(arena).arm32);
        Some(NeedWithKernels { kernels, arena, total, counted })
    };
    let counted = sets.iter().zip(std::iter::repeat(true));
    counted.chain(others.iter().zip(std::iter::repeat(false))).filter_map(of_set).collect()
}
