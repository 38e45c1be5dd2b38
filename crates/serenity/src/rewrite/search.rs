//! What sets of rewrites are worth: the least peak of the rewritten graph.

use super::{possible_rewrites, rewrite_settings, with_main};
use crate::optimize::search;
use crate::{Error, Input, Options, bridge, optimize_model};
use serenity_ir::{Buffer, Graph, Lifetimes, MemoryModel, OpId, Role, TensorId};
use serenity_rewrite::{Choice, Effort, Patch, Rewriting, Settings, Sums, Worth, apply, choose, find};
use serenity_schedule::{self as scheduling, Limits};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// Ops scheduled in all, at most: some seconds. Large graphs get some sets nevertheless, and small ones not more than it takes.
const MOST_OPS: usize = 60_000;
const LEAST_SETS: usize = 24;
const MOST_SETS: usize = 2048;

/// The search for the best order of one set of rewrites ends when it needs so much memory, and the best order found counts: mostly it is the best
/// there is, and only the proof is missing. What is chosen in the end is scheduled again, to the end. Where
/// there is a limit on time, that ends it too.
const MEMORY_PER_SET: u64 = 2 << 20;

/// So many sets, from which the search starts, get more.
const FIRST_SETS: usize = 7;
const MEMORY_PER_FIRST_SET: u64 = 12 << 20;
const TIME_PER_SET: Duration = Duration::from_secs(1);

/// The rest is for the plan.
const SHARE_OF_TIME: u32 = 3;

/// The same for sets that are planned to the end, arena and all. The runtimes place tensors by rules of their own, so the least peak is not always the
/// least arena.
const MOST_PLANNED_OPS: usize = 2_400;
const LEAST_PLANNED_SETS: usize = 4;
const MOST_PLANNED_SETS: usize = 100;

/// The rewrites with which the main graph of a model needs the least, as its runtime counts: in its arena, if it has one.
pub fn choose_rewrites(input: &Input, options: &Options) -> Choice {
    let mut candidates = possible_rewrites(input, options.model);
    candidates.retain(|patch| patch.exact || !options.exact_rewrites);
    let by_peak = choose_among(input.graph(), &candidates, options);
    // An order for ONNX Runtime is found by trying many, which takes too long to do it for every set.
    let has_quick_plan = match options.model {
        MemoryModel::Tflm(_) | MemoryModel::TflmPlanned(_) | MemoryModel::Litert => true,
        MemoryModel::Plain | MemoryModel::Paper | MemoryModel::Ort(_) => false,
    };
    if candidates.is_empty() || !has_quick_plan {
        return by_peak;
    }
    let graph = input.graph();
    let limit = options.limits.time.map(|limit| limit / SHARE_OF_TIME);
    let evaluator = Evaluator {
        graph,
        model: options.model,
        options,
        limit,
        started: Instant::now(),
        sets: Cell::new(0),
    };
    let settings = rewrite_settings(options.model);
    let worth = |patches: &[Patch]| {
        if evaluator.is_over() {
            return None;
        }
        let patches = evaluator.in_good_order(patches)?;
        let rewritten = apply(graph, &patches, &settings).ok()?.graph;
        let graphs = with_main(input, rewritten);
        let given_plan = options.given_plan.clone().filter(|_| patches.is_empty());
        let plan =
            optimize_model(&graphs, &Options { given_plan, progress: None, ..options.clone() }).ok()?;
        Some(Worth { needs: plan.after.needs(), bound: plan.least(), patches })
    };
    let sets = (MOST_PLANNED_OPS / graph.ops().len().max(1)).clamp(LEAST_PLANNED_SETS, MOST_PLANNED_SETS);
    let chosen = by_peak.patches.iter().map(|(patch, _)| patch.op()).collect();
    let by_arena = choose(graph, &candidates, &Effort { sets, first: vec![chosen] }, by_peak.floor, worth);
    // If there was no time to plan even one set, the least peak is the best guess: it is planned before it is taken.
    if by_arena.patches.is_empty() { by_peak } else { by_arena }
}

/// The graph with the rewrites with which it has the least peak under the memory model of `options`, and what was chosen.
///
/// # Errors
/// If the rules propose what cannot be done, which would be a bug.
pub fn rewritten_graph(graph: &Graph, options: &Options) -> Result<(Graph, Choice), Error> {
    let settings = rewrite_settings(options.model);
    let choice = choose_among(graph, &find(graph, &settings), options);
    let patches: Vec<Patch> = choice.patches.iter().map(|(patch, _)| patch.clone()).collect();
    let wrong = |source| Error::Rewrite { name: graph.name().to_owned(), source };
    Ok((apply(graph, &patches, &settings).map_err(wrong)?.graph, choice))
}

fn choose_among(graph: &Graph, candidates: &[Patch], options: &Options) -> Choice {
    if candidates.is_empty() {
        return Choice { before: 0, after: 0, patches: Vec::new(), floor: 0, sets: 0 };
    }
    let model = match options.model {
        MemoryModel::Tflm(kernels) if options.plan_arena => MemoryModel::TflmPlanned(kernels),
        MemoryModel::Plain
        | MemoryModel::Paper
        | MemoryModel::Tflm(_)
        | MemoryModel::TflmPlanned(_)
        | MemoryModel::Litert
        | MemoryModel::Ort(_) => options.model,
    };
    let limit = options.limits.time.map(|limit| limit / SHARE_OF_TIME);
    let evaluator = Evaluator { graph, model, options, limit, started: Instant::now(), sets: Cell::new(0) };
    let sets = (MOST_OPS / graph.ops().len().max(1)).clamp(LEAST_SETS, MOST_SETS);
    let floor = floor(graph, candidates, model);
    let effort = Effort { sets, first: Vec::new() };
    choose(graph, candidates, &effort, floor, |patches| evaluator.worth(patches))
}

/// What every rewritten graph needs: an op that no patch is about still reads what it did before it begins, and has written what it did when it ends. Only where
/// nothing is done in place must both be there at once.
fn floor(graph: &Graph, candidates: &[Patch], model: MemoryModel) -> u64 {
    let is_touched: BTreeSet<OpId> = candidates.iter().flat_map(Patch::ops).collect();
    let lifetimes = model.lifetimes(graph);
    let held = |tensors: &[TensorId]| {
        let holds = |buffer: &&Buffer| buffer.tensors.iter().any(|tensor| tensors.contains(tensor));
        lifetimes.buffers().iter().filter(holds).map(|buffer| buffer.bytes).sum::<u64>()
    };
    // An addition may be part of a sum that a patch is about.
    let is_untouched = |&op: &OpId| {
        graph.op(op).kind.role() == Role::Compute
            && !is_touched.contains(&op)
            && !["ADD", "ADD_N", "Add", "Sum"].contains(&graph.op(op).kind.as_str())
    };
    let needs = |op: OpId| {
        let op = graph.op(op);
        match model {
            MemoryModel::Plain | MemoryModel::Paper | MemoryModel::Tflm(_) => {
                held(&[op.inputs.as_slice(), &op.outputs].concat())
            }
            MemoryModel::TflmPlanned(_) | MemoryModel::Litert | MemoryModel::Ort(_) => {
                held(&op.inputs).max(held(&op.outputs))
            }
        }
    };
    graph.op_ids().filter(is_untouched).map(needs).max().unwrap_or(0)
}

struct Evaluator<'a> {
    graph: &'a Graph,
    model: MemoryModel,
    options: &'a Options,
    limit: Option<Duration>,
    started: Instant,
    /// Sets looked at so far.
    sets: Cell<usize>,
}

impl Evaluator<'_> {
    fn worth(&self, patches: &[Patch]) -> Option<Worth> {
        if self.is_over() {
            return None;
        }
        self.sets.set(self.sets.get() + 1);
        let settings = rewrite_settings(self.model);
        let patches =
            if settings.sums == Sums::Chain { self.in_good_order(patches)? } else { patches.to_vec() };
        let graph = apply(self.graph, &patches, &settings).ok()?.graph;
        let found = self.schedule(&graph, &self.model.lifetimes(&graph));
        Some(Worth { needs: found.peak, bound: found.bound, patches })
    }

    /// The same patches, adding up in the order in which the terms come to be in the best order of a graph that leaves this open.
    fn in_good_order(&self, patches: &[Patch]) -> Option<Vec<Patch>> {
        let settings = Settings { sums: Sums::Draft, ..rewrite_settings(self.model) };
        let Rewriting { graph, terms, .. } = apply(self.graph, patches, &settings).ok()?;
        if terms.is_empty() {
            return Some(patches.to_vec());
        }
        let found = self.schedule(&graph, &self.model.accumulating_lifetimes(&graph));
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
        Some(patches.iter().map(ordered).collect())
    }

    fn schedule(&self, graph: &Graph, lifetimes: &Lifetimes) -> scheduling::Schedule {
        let limits = &self.options.limits;
        let left = self.limit.map(|limit| limit.saturating_sub(self.started.elapsed()).min(TIME_PER_SET));
        let is_first = self.sets.get() <= FIRST_SETS;
        let enough = if is_first { MEMORY_PER_FIRST_SET } else { MEMORY_PER_SET };
        let memory = limits.memory.map_or(enough, |limit| limit.min(enough));
        let mut search = search(self.options);
        search.limits = Limits { time: left, memory: Some(memory), cancel: limits.cancel.clone() };
        search.progress = None;
        scheduling::schedule(&bridge::problem(graph, lifetimes), &search)
    }

    fn is_over(&self) -> bool {
        let is_late = self.limit.is_some_and(|limit| self.started.elapsed() >= limit);
        is_late || self.options.limits.cancel.is_cancelled()
    }
}
