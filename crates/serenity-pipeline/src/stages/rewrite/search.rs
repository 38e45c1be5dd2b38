//! Values sets of rewrites by the least peak of the rewritten graph.

use super::branches::Branches;
use super::pieces::settled;
use super::rewrite_settings;
use crate::effort::{FIRST_SETS, SHARE_OF_A_SECOND_LOOK};
use crate::stages::order::search;
use crate::stages::place::if_below;
use crate::stages::problem::problem;
use crate::{Error, Input, Options};
use serenity_ir::Operator::{ADD, ADD_N, Add, Sum};
use serenity_ir::{Graph, Lifetimes, OpId, Role, TensorId};
use serenity_rewrite::{
    Choice, Effort, Evaluation, Patch, Rewriting, Settings, Sums, Worth, apply, choose, find,
};
use serenity_runtimes::{MemoryModel, MemoryModelExt};
use serenity_schedule as scheduling;
use serenity_search::Watch;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::iter::once;

/// How thoroughly sets of rewrites are searched.
pub(super) struct Look {
    /// The work is divided by this.
    share: usize,
    /// Sets to begin with, given by the ops of their patches.
    first: Vec<BTreeSet<OpId>>,
}

impl Look {
    /// With all work, from nothing.
    pub(super) fn first() -> Self {
        Self { share: 1, first: Vec::new() }
    }

    /// With less work, from sets that were good in another search.
    pub(super) fn again(first: Vec<BTreeSet<OpId>>) -> Self {
        Self { share: SHARE_OF_A_SECOND_LOOK, first }
    }
}

/// The rewrites with which the main graph of a model needs the least: in the runtime's arena, if it has one.
pub(super) fn choose_rewrites(input: &Input, candidates: &[Patch], options: &Options, look: Look) -> Choice {
    let Look { share, first } = look;
    let by_peak = choose_among(input.graph(), candidates, options, Look { share, first });
    // The search for an order for ONNX Runtime is too slow to run for every set.
    if candidates.is_empty() || !options.model.runtime().plans_at_once() {
        return settled(input, candidates, options, by_peak);
    }
    let graph = input.graph();
    let evaluator = Evaluator::new(graph, options.model, by_peak.floor, options);
    let settings = rewrite_settings(options.model, options.rewrites);
    let worth = |patches: &[Patch], below: u64| {
        let (patches, rewritten) = evaluator.applied(patches, settings, u64::MAX)?.ok()?;
        let graphs: Vec<Graph> = once(rewritten).chain(input.graphs()[1..].iter().cloned()).collect();
        let given_plan = options.given_plan.clone().filter(|_| patches.is_empty());
        let effort = options.effort.for_a_draft();
        let options = Options { given_plan, effort, progress: None, ..options.clone() };
        let (needs, bound) = match if_below(&graphs, &options, below).ok()? {
            Ok(plan) => (plan.after.needs(), plan.least()),
            Err(bound) => (bound, bound),
        };
        let bound = if evaluator.is_one_of_many_orders(&patches) { 0 } else { bound };
        Some(Worth { needs, bound, patches })
    };
    let sets = options.effort.planned_sets(graph, share);
    let chosen = by_peak.patches.iter().map(|(patch, _)| patch.op()).collect();
    let first = std::iter::once(chosen).chain(by_peak.others.iter().cloned()).collect();
    let effort = Effort { sets, first };
    let choice = choose(graph, candidates, &effort, by_peak.floor, |patches, below| {
        evaluator.unless_over(below, || worth(patches, below))
    });
    settled(input, candidates, options, choice)
}

/// The graph with the rewrites that give it the least peak under the memory model of `options`, and how they were
/// chosen.
///
/// # Errors
/// If the rules propose a patch that cannot be applied, which would be a bug.
pub fn rewritten_graph(graph: &Graph, options: &Options) -> Result<(Graph, Choice), Error> {
    let settings = rewrite_settings(options.model, options.rewrites);
    let choice = choose_among(graph, &find(graph, &settings), options, Look::first());
    let patches: Vec<Patch> = choice.patches.iter().map(|(patch, _)| patch.clone()).collect();
    let wrong = |source| Error::Rewrite { name: graph.name().to_owned(), source };
    Ok((apply(graph, &patches, &settings).map_err(wrong)?.graph, choice))
}

/// The patches, all to be made, in summing orders with which the model needs little. The gain of each is not computed.
pub(super) fn with_orders(
    graph: &Graph,
    patches: Vec<Patch>,
    options: &Options,
) -> Vec<(Patch, Option<u64>)> {
    let settings = rewrite_settings(options.model, options.rewrites);
    let applied = Evaluator::new(graph, options.model, 0, options).applied(&patches, settings, u64::MAX);
    let patches = match applied {
        Some(Ok((ordered, _))) => ordered,
        Some(Err(_)) | None => patches,
    };
    patches.into_iter().map(|patch| (patch, None)).collect()
}

fn choose_among(graph: &Graph, candidates: &[Patch], options: &Options, look: Look) -> Choice {
    if candidates.is_empty() {
        return Choice {
            before: 0,
            after: 0,
            patches: Vec::new(),
            others: Vec::new(),
            floor: 0,
            stopped: None,
            sets: 0,
        };
    }
    let model = if options.plan_arena { options.model.with_plan() } else { options.model };
    let sets = options.effort.sets(graph.ops().len(), look.share);
    let mut branches = Branches::new(graph, candidates, options, model);
    let found = branches.as_mut().map(|branches| branches.search(sets));
    let floor = floor(graph, candidates, model).max(found.as_ref().map_or(0, |found| found.floor));
    let first = found.into_iter().map(|found| found.set).chain(look.first).collect();
    let evaluator = Evaluator::new(graph, model, floor, options);
    let effort = Effort { sets, first };
    let mut choice = choose(graph, candidates, &effort, floor, |patches, below| {
        evaluator.unless_over(below, || evaluator.worth(patches, below))
    });
    if let Some(branches) = branches
        && !choice.is_proved()
    {
        let states = options.effort.states_of_an_order_alone(options.algorithm);
        choice.floor = choice.floor.max(branches.bound(states, choice.after));
        choice.stopped = choice.stopped.filter(|_| !choice.is_proved());
    }
    choice
}

/// A lower bound for every rewritten graph: an op that no patch changes still reads its inputs before it begins, and
/// has written its outputs when it ends. Both must be there at once only if nothing is done in place.
pub(super) fn floor(graph: &Graph, candidates: &[Patch], model: MemoryModel) -> u64 {
    let is_touched: BTreeSet<OpId> = candidates.iter().flat_map(Patch::ops).collect();
    let (lifetimes, in_place) = (model.lifetimes(graph), model.runtime().works_in_place());
    let mut buffers_of = vec![Vec::new(); graph.tensors().len()];
    for (index, buffer) in lifetimes.buffers().iter().enumerate() {
        buffer.tensors.iter().for_each(|tensor| buffers_of[tensor.index()].push(index));
    }
    let held = |tensors: &[TensorId]| {
        let all: BTreeSet<usize> =
            tensors.iter().flat_map(|tensor| &buffers_of[tensor.index()]).copied().collect();
        all.into_iter().map(|index| lifetimes.buffers()[index].bytes).sum::<u64>()
    };
    // An addition may be part of a sum that a patch changes.
    let is_untouched = |&op: &OpId| {
        graph.op(op).kind.role() == Role::Compute
            && !is_touched.contains(&op)
            && !matches!(graph.op(op).kind.operator(), ADD | ADD_N | Add | Sum)
    };
    let needs = |op: OpId| {
        let op = graph.op(op);
        if in_place {
            held(&op.inputs).max(held(&op.outputs))
        } else {
            held(&[op.inputs.as_slice(), &op.outputs].concat())
        }
    };
    graph.op_ids().filter(is_untouched).map(needs).max().unwrap_or(0)
}

struct Evaluator<'a> {
    graph: &'a Graph,
    model: MemoryModel,
    options: &'a Options,
    /// The number of sets tried so far.
    sets: Cell<usize>,
    watch: RefCell<Watch<'a>>,
}

impl<'a> Evaluator<'a> {
    fn new(graph: &'a Graph, model: MemoryModel, floor: u64, options: &'a Options) -> Self {
        let mut watch = Watch::new(&options.limits, options.progress.as_ref());
        (watch.of, watch.bound) = ("rewritings tried", floor);
        let watch = RefCell::new(watch);
        Self { graph, model, options, sets: Cell::new(0), watch }
    }

    /// The value of a set, unless a limit has ended the search; the best so far needs `below`.
    fn unless_over(&self, below: u64, worth: impl FnOnce() -> Option<Worth>) -> Evaluation {
        let mut watch = self.watch.borrow_mut();
        watch.best = below;
        watch.states += 1;
        if below < u64::MAX {
            watch.report();
        }
        drop(watch);
        match self.options.limits.interrupted() {
            Some(reason) => Evaluation::RanOut(reason),
            None => worth().map_or(Evaluation::CannotBeApplied, Evaluation::Worth),
        }
    }

    fn worth(&self, patches: &[Patch], below: u64) -> Option<Worth> {
        self.sets.set(self.sets.get() + 1);
        let (patches, graph) =
            match self.applied(patches, rewrite_settings(self.model, self.options.rewrites), below)? {
                Ok(applied) => applied,
                Err(not_wanted) => return Some(not_wanted),
            };
        let found = self.schedule(&graph, &self.model.lifetimes(&graph), Some(below));
        // Where the order decides which tensors share memory, other orders may need less than this bound.
        let is_for_one = self.model.runtime().shares_by_order() || self.is_one_of_many_orders(&patches);
        let bound = if is_for_one { 0 } else { found.bound };
        Some(Worth { needs: found.peak, bound, patches })
    }

    /// Do these patches sum in an order that was chosen among others, which may need less?
    fn is_one_of_many_orders(&self, patches: &[Patch]) -> bool {
        // Which of two terms comes first matters only if a sum is written over one of them.
        let model = if self.options.plan_arena { self.model.with_plan() } else { self.model };
        let same = if model.runtime().works_in_place() { 1 } else { 2 };
        patches.iter().any(|patch| patch.order().len() > same)
    }

    /// The graph with these patches. They sum in the order in which the terms appear in the best order of a graph that
    /// leaves this open. If even that needs no less than wanted, this is all that is known about them.
    fn applied(
        &self,
        patches: &[Patch],
        settings: Settings,
        below: u64,
    ) -> Option<Result<(Vec<Patch>, Graph), Worth>> {
        if settings.sums != Sums::Chain {
            return Some(Ok((patches.to_vec(), apply(self.graph, patches, &settings).ok()?.graph)));
        }
        let draft = Settings { sums: Sums::Draft, ..settings };
        let Rewriting { graph, terms, .. } = apply(self.graph, patches, &draft).ok()?;
        if terms.is_empty() {
            return Some(Ok((patches.to_vec(), graph)));
        }
        let found = self.schedule(&graph, &self.model.accumulating_lifetimes(&graph), Some(below));
        if found.bound >= below {
            return Some(Err(Worth { needs: found.peak.max(below), bound: 0, patches: patches.to_vec() }));
        }
        let mut position = vec![0; graph.ops().len()];
        for (at, op) in found.order.iter().enumerate() {
            position[op.0 as usize] = at;
        }
        let ordered = |patch: &Patch| match terms.get(&patch.op()) {
            None => patch.clone(),
            Some(terms) => {
                let mut order: Vec<usize> = (0..terms.len()).collect();
                order.sort_by_key(|&index| position[terms[index].index()]);
                patch.clone().with_order(order)
            }
        };
        let patches: Vec<Patch> = patches.iter().map(ordered).collect();
        let graph = apply(self.graph, &patches, &settings).ok()?.graph;
        Some(Ok((patches, graph)))
    }

    fn schedule(
        &self,
        graph: &Graph,
        lifetimes: &Lifetimes,
        wanted_below: Option<u64>,
    ) -> scheduling::Schedule {
        let effort = self.options.effort;
        let is_first = self.sets.get() <= FIRST_SETS;
        let states = if is_first { effort.states_of_a_first_set() } else { effort.states_of_a_set() };
        let limits = self.options.limits.working(states);
        let search = scheduling::Options { limits, progress: None, wanted_below, ..search(self.options) };
        scheduling::schedule(&problem(graph, lifetimes), &search)
    }
}

#[cfg(test)]
mod tests;
