//! TensorFlow Lite for Microcontrollers.

pub(crate) mod hand_over;
pub(crate) mod overlap;
mod parts;
pub(crate) mod plan;
pub(crate) mod resolver;
pub(crate) mod run;
pub(crate) mod supported;
pub(crate) mod tail;
pub(crate) mod ties;

use crate::arena::Demand;
use crate::problem::{assemble, tensor_buffers};
use crate::{
    Arena, ArenaProblem, AtBest, Content, Kernels, Offsets, Piece, Runtime, TFLM_ALIGNMENT, scratch,
};
use hand_over::{planned_at_best, planned_least_lifetimes, with_hand_over};
use parts::{Part, parts};
use run::{Facts, Run};
use serenity_arena::{Buffer, Options, Overlap, Planner, Problem, Sharing, place};
use serenity_ir::{
    ElementType, Graph, Lifetimes, MOST_SCRATCH, OpId, Operator, Profile, Step, Storage, Tensor,
};
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU64;
use ties::Ties;

/// TFLM. With a memory plan in the model an op may write over an input that dies with it; without, TFLM's planner
/// places everything.
pub(crate) struct Tflm {
    pub(crate) kernels: Kernels,
    pub(crate) is_planned: bool,
}

impl Runtime for Tflm {
    fn storage(&self, graph: &Graph) -> Storage {
        if self.is_planned { with_hand_over(graph, self.kernels) } else { with_scratch(graph, self.kernels) }
    }

    fn least_lifetimes(&self, graph: &Graph) -> Lifetimes {
        if self.is_planned {
            planned_least_lifetimes(graph, self.kernels)
        } else {
            self.storage(graph).into_lifetimes(graph)
        }
    }

    fn at_best(&self, graph: &Graph) -> Option<AtBest> {
        self.is_planned.then(|| planned_at_best(graph, self.kernels))
    }

    fn shares_by_order(&self) -> bool {
        self.is_planned
    }

    fn works_in_place(&self) -> bool {
        self.is_planned
    }

    fn plans_at_once(&self) -> bool {
        true
    }

    fn shares_arena_with_bodies(&self) -> bool {
        true
    }

    fn arena(&self, graphs: &[&Graph], orders: &[&[OpId]], plan: Option<&Offsets>) -> Option<Arena> {
        tflm_arena(&Facts::new(graphs, self.kernels), orders, plan)
    }

    fn placement_problem(&self, graphs: &[&Graph], orders: &[&[OpId]]) -> Option<ArenaProblem> {
        let facts = &Facts::new(graphs, self.kernels);
        if self.is_planned {
            return for_a_plan(facts, orders)?.tied();
        }
        assemble(Run::new(facts, orders)?.demands(), TFLM_ALIGNMENT, Vec::new())
    }
}

/// Rounded sizes, and the scratch of these kernels.
fn with_scratch(graph: &Graph, kernels: Kernels) -> Storage {
    let mut storage = Storage::one_buffer_a_tensor(graph);
    storage.bytes = graph.tensors().iter().map(tflm_bytes).collect();
    let mut left = MOST_SCRATCH;
    for op in graph.op_ids() {
        let bytes = tflm_scratch(graph, op, kernels).into_iter().fold(0, u64::saturating_add).min(left);
        left -= bytes;
        if bytes > 0 {
            storage.scratch.push((op, bytes));
        }
    }
    storage
}

/// Bytes that a tensor takes in TFLM's arena.
pub(crate) fn tflm_bytes(tensor: &Tensor) -> u64 {
    let unpacked = match (&tensor.dtype, &tensor.shape) {
        (Some(ElementType::Int4), Some(shape)) => ElementType::Int8.bytes_of(shape).unwrap_or(tensor.bytes),
        _ => tensor.bytes,
    };
    unpacked.next_multiple_of(TFLM_ALIGNMENT)
}

/// The scratch buffers of an op in TFLM's arena, in the order in which the kernel requests them: its own, and the
/// memory of the sub-graphs that it runs (`workspace`).
pub(crate) fn tflm_scratch(graph: &Graph, op: OpId, kernels: Kernels) -> Vec<u64> {
    let mut sizes = scratch(graph, op, kernels);
    sizes.extend(graph.op(op).workspace());
    sizes
        .into_iter()
        .filter(|&bytes| bytes > 0)
        .map(|bytes| bytes.min(MOST_SCRATCH).next_multiple_of(TFLM_ALIGNMENT))
        .collect()
}

/// The arena that TFLM's planner makes of these orders, with a memory plan or without: the largest over the sets of
/// kernels that it may be built with.
pub fn tflm_arena(facts: &Facts, orders: &[&[OpId]], plan: Option<&Offsets>) -> Option<Arena> {
    largest(tflm_arenas(facts, orders, plan)?)
}

pub(crate) fn largest(arenas: Vec<Arena>) -> Option<Arena> {
    arenas.into_iter().reduce(|largest, other| if other.bytes > largest.bytes { other } else { largest })
}

/// The arena that TFLM's planner makes of these orders with each set of kernels, without sets that request the same as
/// another.
pub(crate) fn tflm_arenas(facts: &Facts, orders: &[&[OpId]], plan: Option<&Offsets>) -> Option<Vec<Arena>> {
    Run::new(facts, orders)?.demands_of_sets().map(|demands| laid_out(demands, plan)).collect()
}

fn laid_out(mut demands: Vec<Demand>, plan: Option<&Offsets>) -> Option<Arena> {
    for demand in &mut demands {
        if let Content::Tensor { graph, tensor } = demand.content {
            demand.buffer.offset = plan.and_then(|plan| *plan.get(graph)?.get(tensor.index())?);
        }
    }
    let buffers = demands.iter().map(|demand| demand.buffer).collect();
    let problem = Problem::new(buffers, TFLM_ALIGNMENT).ok()?;
    let placement = place(&problem, &Options::new(Planner::Tflm));
    let pieces = demands
        .iter()
        .zip(&placement.offsets)
        .map(|(demand, &offset)| Piece { content: demand.content, bytes: demand.buffer.size, offset })
        .collect();
    Some(Arena { bytes: placement.height, pieces })
}

/// Memory in use over time if a plan puts the tensors that loops hand on, or both ends of what is carried from run to run,
/// into the same bytes: at each step the occupied bytes, each counted once, with the kernels that need most. After an op
/// as much counts as while it runs. `None` if nothing is handed on or carried, or the sub-graphs call each other without
/// end.
pub fn profile_in_places(facts: &Facts, orders: &[&[OpId]], plan: &Offsets) -> Option<Profile> {
    let has_loops =
        facts.graphs.iter().flat_map(|graph| graph.ops()).any(|op| op.kind.operator() == Operator::WHILE);
    let carries = facts.graphs.first().is_some_and(|main| !main.carried().is_empty());
    if !has_loops && !carries {
        return None;
    }
    let run = Run::new(facts, orders)?;
    let spans = run.steps_by_op();
    let mut profile = Profile { at_start: 0, steps: Vec::new() };
    profile.steps.extend(orders[0].iter().map(|&op| Step { op, during: 0, after: 0 }));
    for demands in run.demands_of_sets() {
        let buffers: Vec<Buffer> = demands.iter().map(|demand| demand.buffer).collect();
        let in_use = in_use(&buffers, &laid_out(demands, Some(plan))?.pieces);
        profile.at_start = profile.at_start.max(in_use.get(&0).copied().unwrap_or(0));
        for (step, span) in profile.steps.iter_mut().zip(&spans) {
            let most = in_use.range(span.clone()).map(|(_, &bytes)| bytes).max().unwrap_or(0);
            step.during = step.during.max(most);
            step.after = step.during;
        }
    }
    Some(profile)
}

/// The occupied bytes at each step.
fn in_use(buffers: &[Buffer], pieces: &[Piece]) -> BTreeMap<serenity_arena::Step, u64> {
    let mut by_offset: Vec<(&Buffer, u64)> =
        buffers.iter().zip(pieces).map(|(buffer, piece)| (buffer, piece.offset)).collect();
    by_offset.retain(|(buffer, _)| buffer.lower >= 0);
    by_offset.sort_by_key(|&(_, offset)| offset);
    let steps: BTreeSet<serenity_arena::Step> =
        by_offset.iter().flat_map(|(buffer, _)| buffer.lower..buffer.upper).collect();
    let at = |step: serenity_arena::Step| {
        let alive = by_offset.iter().filter(|(buffer, _)| (buffer.lower..buffer.upper).contains(&step));
        let (bytes, _) = alive.fold((0, 0), |(bytes, end), (buffer, offset)| {
            let to = offset + buffer.size;
            (bytes + to.saturating_sub(end.max(*offset)), end.max(to))
        });
        bytes
    };
    steps.into_iter().map(|step| (step, at(step))).collect()
}

/// The buffers that a plan places, and the copies that it can avoid.
pub(crate) struct ForAPlan {
    all: ArenaProblem,
    ties: Ties,
    /// The parts of buffers of which some are wanted for a shorter time.
    parts: Vec<(usize, Vec<Part>)>,
}

impl ForAPlan {
    /// With all copies void that can be.
    fn tied(self) -> Option<ArenaProblem> {
        let ArenaProblem { problem, contents, tensors } = self.all;
        Some(ArenaProblem { problem: problem.with_ties(self.ties.all).ok()?, contents, tensors })
    }
}

/// The problem for a plan in the model: outputs may lie over inputs; tensors that no op touches are left out.
pub(crate) fn for_a_plan(facts: &Facts, orders: &[&[OpId]]) -> Option<ForAPlan> {
    let run = Run::new(facts, orders)?;
    let demands: Vec<_> = run.demands().into_iter().filter(|demand| demand.buffer.lower >= 0).collect();
    let contents: Vec<Content> = demands.iter().map(|demand| demand.content).collect();
    let index = tensor_buffers(&contents);
    let mut ways: BTreeMap<(usize, usize), Vec<crate::Overlap>> = BTreeMap::new();
    for (graph, overlap) in run.overlaps() {
        let ends = index.get(&(graph, overlap.output)).zip(index.get(&(graph, overlap.input)));
        if let Some((&writer, &over)) = ends {
            ways.entry((writer, over)).or_default().push(overlap);
        }
    }
    let buffers: Vec<Buffer> = demands.iter().map(|demand| demand.buffer).collect();
    let ties = ties::ties(&run, &buffers, &index);
    let overlaps = ways
        .into_iter()
        .filter_map(|((writer, over), ways)| Some(Overlap { writer, over, how: sharing_of(&ways)? }));
    let all = assemble(demands, TFLM_ALIGNMENT, overlaps.collect())?;
    // Tensors that are tied to nothing count as a whole wherever memory in use is added up.
    let tied: BTreeSet<usize> = ties.all.iter().flat_map(|tie| [tie.buffer, tie.to]).collect();
    let tied = index.iter().filter(|(_, at)| tied.contains(at));
    let parts = tied.map(|(&place, &at)| (at, parts(&run, place, buffers[at])));
    let parts = parts.filter(|(_, parts)| parts.len() > 1).collect();
    Some(ForAPlan { all, ties, parts })
}

/// The distances that these permissions allow, in the planner's terms; `None` if it has none for them.
fn sharing_of(ways: &[crate::Overlap]) -> Option<Sharing> {
    let least = |is_backward: bool| {
        let ways = ways.iter().filter(|way| !way.exact && way.is_backward == is_backward);
        ways.map(|way| way.distance).min()
    };
    let backwards = least(true).and_then(NonZeroU64::new);
    match (least(false), backwards) {
        // A way with a choice of distances is preferred to one with a single distance.
        (Some(distance), None) => Some(Sharing::Below { distance }),
        // A distance that is none keeps them apart.
        (below, Some(above)) => Some(Sharing::EitherWay { below: below.unwrap_or(u64::MAX), above }),
        (None, None) => ways.iter().any(|way| way.exact && way.distance == 0).then_some(Sharing::SameOffset),
    }
}
