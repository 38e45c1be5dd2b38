//! Makes the memory plan that is written into a model for TFLM: the offset of every tensor.
//!
//! The exact planner finds the offsets, for the lifetimes that the runtime will see. Scratch is part of the problem,
//! because it needs room, but not of the plan: the runtime places it around the planned tensors. So the head that
//! counts is the one that TFLM's own planner arrives at, with the hungriest kernels if they are not known.

use super::parts::Part;
use super::run::{Facts, Run};
use super::ties::Ties;
use super::{ForAPlan, for_a_plan, largest, tflm_arenas};
use crate::problem::tensor_buffers;
use crate::{Arena, ArenaProblem, Content, Offsets};
use serenity_arena::{Options, Overlap, Placement, Problem, Sharing, Step, Tie, place};
use serenity_ir::OpId;
use serenity_search::{Limits, StopReason};
use std::collections::BTreeMap;
use std::ops::Range;

/// The offsets of all tensors, and the arena that they lead to.
#[derive(Clone, Debug)]
pub struct Planned {
    /// Per graph and per tensor; `None` for tensors that take no room.
    pub offsets: Offsets,
    /// The arena that the runtime makes of it.
    pub arena: Arena,
    /// The arenas that the runtime makes of it with each set of kernels that may run it, added up.
    pub of_all_sets: u64,
    /// A lower bound on the arena of every plan for these orders.
    pub bound: u64,
    /// Why the search for offsets ended, if that leaves a gap.
    pub stopped: Option<StopReason>,
}

impl Planned {
    /// The arena that the runtime makes of these offsets, or by itself if there are none; `None` if the sub-graphs call
    /// each other without end.
    pub fn at(
        facts: &Facts,
        orders: &[&[OpId]],
        offsets: Offsets,
        bound: u64,
        stopped: Option<StopReason>,
    ) -> Option<Self> {
        let arenas = tflm_arenas(facts, orders, Some(&offsets))?;
        let of_all_sets = arenas.iter().map(|arena| arena.bytes).fold(0, u64::saturating_add);
        Some(Self { offsets, arena: largest(arenas)?, of_all_sets, bound, stopped })
    }

    /// The arena that is enough for each set of kernels, then the sum of their arenas: less is better.
    pub fn cost(&self) -> (u64, u64) {
        (self.arena.bytes, self.of_all_sets)
    }
}

/// Places all tensors for one order of each graph, at least as well as the runtime does by itself. `None` if the
/// sub-graphs call each other without end, or the sizes are absurdly large.
pub fn plan_arena(facts: &Facts, orders: &[&[OpId]], limits: Limits) -> Option<Planned> {
    plans_of_arena(facts, orders, limits)?.into_iter().min_by_key(Planned::cost)
}

/// Places all tensors for one order of each graph in several ways: as the exact planner does, and as the runtime does
/// by itself with each set of kernels.
pub fn plans_of_arena(facts: &Facts, orders: &[&[OpId]], limits: Limits) -> Option<Vec<Planned>> {
    let ForAPlan { all: ArenaProblem { problem, contents, .. }, ties, parts } = for_a_plan(facts, orders)?;
    let index = tensor_buffers(&contents);
    let has_ties = !ties.all.is_empty();
    let largest = problem.buffers().iter().map(|buffer| buffer.size).max().unwrap_or(0);
    let live = live_peak(facts, orders)?;
    let (problem, of_parts) = in_parts(problem, &parts)?;
    let options = &Options { limits, ..Options::default() };
    let mut placement = place_tied(&problem, &ties, &of_parts, live, options)?;
    if let Some(forwards) = forwards(&problem) {
        // A search with more freedom may end higher, and kernels that go backwards are code that is there only if it helps.
        let Placement { offsets, height, .. } = place_tied(&forwards, &ties, &of_parts, live, options)?;
        if height <= placement.height {
            placement = Placement { offsets, height, ..placement };
        }
    }
    let offset = |graph: usize, tensor| index.get(&(graph, tensor)).map(|&at| placement.offsets[at]);
    // Which copies are void is a choice, and not all choices were tried: all that is sure is that each tensor needs room.
    let bound = if has_ties { largest } else { placement.bound };
    let stopped = placement.proof.stopped().or((placement.height > bound).then_some(StopReason::Heuristic));
    let mut plans = vec![Planned::at(facts, orders, facts.for_all_tensors(offset), bound, stopped)?];
    // By itself the runtime does not put what a run leaves where the next one finds it.
    let carries = facts.graphs.first().is_some_and(|main| !main.carried().is_empty());
    for own in tflm_arenas(facts, orders, None)?.iter().filter(|_| !carries) {
        if plans[0].arena.bytes > own.bytes {
            // Told to put everything where it would put it anyway, the runtime finds the same places for scratch too.
            plans.push(Planned::at(facts, orders, places_of_tensors(facts, own), bound, stopped)?);
        }
    }
    Some(plans)
}

/// The problem if all kernels went from front to back; `None` if they do anyway.
fn forwards(problem: &Problem) -> Option<Problem> {
    let is_either_way = |overlap: &Overlap| matches!(overlap.how, Sharing::EitherWay { .. });
    let overlaps = problem.overlaps();
    let forwards = overlaps.iter().map(|overlap| match overlap.how {
        Sharing::EitherWay { below, .. } => Overlap::below(overlap.writer, overlap.over, below),
        Sharing::Below { .. } | Sharing::SameOffset => *overlap,
    });
    overlaps.iter().any(is_either_way).then(|| problem.clone().with_overlaps(forwards.collect()).ok())?
}

/// Where the tensors lie in an arena.
fn places_of_tensors(facts: &Facts, arena: &Arena) -> Offsets {
    let places: BTreeMap<_, _> = arena
        .pieces
        .iter()
        .filter_map(|piece| match piece.content {
            Content::Tensor { graph, tensor } => Some(((graph, tensor), piece.offset)),
            Content::Scratch { .. } => None,
        })
        .collect();
    facts.for_all_tensors(|graph, tensor| places.get(&(graph, tensor)).copied())
}

/// The problem with some buffers split into parts that are wanted for a shorter time, and the ties that hold the parts
/// together. The lowest part takes the place of the buffer, the others follow behind all buffers.
fn in_parts(problem: Problem, parts: &[(usize, Vec<Part>)]) -> Option<(Problem, Vec<Tie>)> {
    if parts.is_empty() {
        return Some((problem, Vec::new()));
    }
    let mut buffers = problem.buffers().to_vec();
    let mut ties = Vec::new();
    for (to, parts) in parts {
        let (lowest, others) = parts.split_first()?;
        buffers[*to] = lowest.buffer;
        for part in others {
            ties.push(Tie { buffer: buffers.len(), to: *to, distance: part.from });
            buffers.push(part.buffer);
        }
    }
    // What is written over such a buffer is a slice of it, and tied to it anyway.
    let is_whole = |overlap: &&Overlap| parts.iter().all(|(buffer, _)| *buffer != overlap.over);
    let overlaps = problem.overlaps().iter().filter(is_whole).copied().collect();
    Some((Problem::new(buffers, problem.alignment()).and_then(|p| p.with_overlaps(overlaps)).ok()?, ties))
}

/// Places buffers that are tied, so that copies have nothing to do. A tie of a loop that lifts others is given up, and
/// its copy made, if that helps: all ties into line buffers at once, and those that bring something to where a loop wants
/// it one by one.
fn place_tied(
    problem: &Problem,
    ties: &Ties,
    of_parts: &[Tie],
    least: u64,
    options: &Options,
) -> Option<Placement> {
    let place_with = |ties: &Ties, share: u64| {
        let work = options.limits.work.map(|work| work / share);
        let options = Options { limits: Limits { work, ..options.limits.clone() }, ..options.clone() };
        Some(place(&problem.clone().with_ties([&ties.all, of_parts].concat()).ok()?, &options))
    };
    if ties.all.is_empty() {
        return place_with(ties, 1);
    }
    let tied = Tied { placement: place_with(ties, SHARE_OF_A_COMPARISON)?, ties: ties.clone() };
    let mut best = tied.with_fewer_links(least, &place_with)?;
    if !ties.carries.is_empty() && best.placement.height > least {
        let copied = ties.without(&ties.carries);
        let placement = place_with(&copied, SHARE_OF_A_COMPARISON)?;
        if placement.height < best.placement.height {
            best = Tied { placement, ties: copied }.with_fewer_links(least, &place_with)?;
        }
    }
    let last = place_with(&best.ties, 1)?;
    Some(if last.height < best.placement.height { last } else { best.placement })
}

/// What is only compared gets so small a share of the work.
const SHARE_OF_A_COMPARISON: u64 = 10;

/// A placement, and the ties that it keeps.
struct Tied {
    placement: Placement,
    ties: Ties,
}

impl Tied {
    /// Gives up one link after the other as long as that helps. Links whose copies make it worse are not tried
    /// again.
    fn with_fewer_links(
        mut self,
        least: u64,
        place_with: &impl Fn(&Ties, u64) -> Option<Placement>,
    ) -> Option<Self> {
        let mut promising: Vec<Tie> = self.ties.links.iter().map(|&link| self.ties.all[link]).collect();
        while self.placement.height > least {
            let mut no_worse = Vec::new();
            for tie in promising {
                let is_tie = |link: &usize| self.ties.all[*link] == tie;
                let Some(link) = self.ties.links.iter().copied().find(is_tie) else { continue };
                let ties = self.ties.without(&[link]);
                let placement = place_with(&ties, SHARE_OF_A_COMPARISON)?;
                if placement.height <= self.placement.height {
                    no_worse.push((tie, Self { placement, ties }));
                }
            }
            promising = no_worse.iter().map(|(tie, _)| *tie).collect();
            let best = no_worse.into_iter().min_by_key(|(_, tied)| tied.placement.height);
            match best.filter(|(_, tied)| tied.placement.height < self.placement.height) {
                Some((_, best)) => self = best,
                None => break,
            }
        }
        Some(self)
    }
}

/// The peak under a plan: a lower bound on every placement for these orders.
pub fn live_peak(facts: &Facts, orders: &[&[OpId]]) -> Option<u64> {
    Run::new(facts, orders)?.live().into_iter().max()
}

/// The memory in use under a plan at each step: before the first op, and then while each op runs.
pub fn live_by_step(facts: &Facts, orders: &[&[OpId]]) -> Option<Vec<u64>> {
    Some(Run::new(facts, orders)?.live())
}

/// The memory in use under a plan while each op of the main graph runs, in its order.
pub fn live_by_op(facts: &Facts, orders: &[&[OpId]]) -> Option<Vec<u64>> {
    Some(Run::new(facts, orders)?.live_by_op())
}

/// The steps at which each op of the main graph runs, in its order; they are counted from 1, and an op that runs other
/// graphs takes several.
pub fn steps_by_op(facts: &Facts, orders: &[&[OpId]]) -> Option<Vec<Range<Step>>> {
    Some(Run::new(facts, orders)?.steps_by_op())
}
