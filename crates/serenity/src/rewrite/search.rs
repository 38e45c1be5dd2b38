//! What sets of rewrites are worth: the least peak of the rewritten graph.

use super::{possible_rewrites, rewrite_settings};
use crate::optimize::search;
use crate::{Input, Options, bridge};
use serenity_ir::{Graph, Lifetimes, MemoryModel};
use serenity_rewrite::{Choice, Effort, Patch, Rewriting, Settings, Sums, Worth, apply, choose};
use serenity_schedule::{self as scheduling, Limits};
use std::time::{Duration, Instant};

/// Ops scheduled in all, at most: some seconds.
const MOST_OPS: usize = 60_000;

/// One set of rewrites is given up after so long, or when the search for its best order needs so much memory; then the best order found counts.
const TIME_PER_SET: Duration = Duration::from_secs(2);
const MEMORY_PER_SET: u64 = 64 << 20;

/// The rewrites with which the main graph of a model has the least peak, as its runtime counts.
pub fn choose_rewrites(input: &Input, options: &Options) -> Choice {
    let model = match options.model {
        MemoryModel::Tflm(kernels) if options.plan_arena => MemoryModel::TflmPlanned(kernels),
        other => other,
    };
    let candidates = possible_rewrites(input, model);
    let evaluator = Evaluator { graph: input.graph(), model, options, started: Instant::now() };
    let sets = (MOST_OPS / input.graph().ops().len().max(1)).clamp(24, 300);
    choose(input.graph(), &candidates, Effort { sets }, 0, |patches| evaluator.worth(patches))
}

struct Evaluator<'a> {
    graph: &'a Graph,
    model: MemoryModel,
    options: &'a Options,
    started: Instant,
}

impl Evaluator<'_> {
    fn worth(&self, patches: &[Patch]) -> Option<Worth> {
        if self.is_over() {
            return None;
        }
        let settings = rewrite_settings(self.model);
        let patches =
            if settings.sums == Sums::Chain { self.in_good_order(patches)? } else { patches.to_vec() };
        let graph = apply(self.graph, &patches, &settings).ok()?.graph;
        let needs = self.schedule(&graph, &self.model.lifetimes(&graph)).peak;
        Some(Worth { needs, patches })
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
        let left = limits.time.map_or(TIME_PER_SET, |limit| limit.saturating_sub(self.started.elapsed()));
        let memory = limits.memory.map_or(MEMORY_PER_SET, |limit| limit.min(MEMORY_PER_SET));
        let mut search = search(self.options);
        search.limits = Limits {
            time: Some(left.min(TIME_PER_SET)),
            memory: Some(memory),
            cancel: limits.cancel.clone(),
        };
        search.progress = None;
        scheduling::schedule(&bridge::problem(graph, lifetimes), &search)
    }

    fn is_over(&self) -> bool {
        let Limits { time, cancel, .. } = &self.options.limits;
        cancel.is_cancelled() || time.is_some_and(|limit| self.started.elapsed() >= limit)
    }
}
