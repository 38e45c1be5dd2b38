//! The pipeline.

use crate::arena::runtime_arena;
use crate::{Error, Footprint, Plan, bridge, nested, ort, refine};
use serenity_check::{Claim, Witness, WitnessChain, check};
use serenity_ir::{Graph, Lifetimes, MemoryModel, OpId, OrtOrder};
use serenity_schedule::{
    self as scheduling, Algorithm, Limits, Problem, ProgressFn, Proof, Rules, Schedule, StepLimit,
};
use std::time::Instant;

/// Everything a caller may choose.
#[derive(Clone, Default)]
pub struct Options {
    /// How the runtime that will run the model spends memory.
    pub model: MemoryModel,
    /// How to find the order.
    pub algorithm: Algorithm,
    /// Adaptive soft budgeting's limit on one search step.
    pub step_limit: StepLimit,
    /// Which rules the exact engine uses.
    pub rules: Rules,
    /// Threads for the exact engine; the answer does not depend on it.
    pub threads: usize,
    /// When to give up proving and take the best so far.
    pub limits: Limits,
    /// Called a few times a second with the state of the search.
    pub progress: Option<ProgressFn>,
}

/// Finds the order in which `graph` needs the least memory. Where no order is better than the model's own, the model's own.
///
/// # Errors
/// Only if the result fails its own check, which would be a bug.
pub fn optimize(graph: &Graph, options: &Options) -> Result<Plan, Error> {
    optimize_model(std::slice::from_ref(graph), options)
}

/// The same for a model of several graphs, the main one first: each is ordered, and an op that runs others (its attribute `bodies`) is
/// counted with what they need. For a runtime that has a planner of its own, orders are judged by the arena which that planner makes of them.
///
/// # Errors
/// As [`optimize`].
///
/// # Panics
/// If there is no graph.
pub fn optimize_model(graphs: &[Graph], options: &Options) -> Result<Plan, Error> {
    let started = Instant::now();
    let settled = nested::settle(graphs, options)?;
    let mut plan = unchecked(&settled.main, options);
    plan.bodies = settled.orders;
    judge(graphs, &settled.main, &mut plan, options, started);
    if plan.is_no_gain() {
        plan.keep_own_order(graphs);
        // Its sub-graphs may need more in their own orders.
        let own = nested::main_graph(graphs, &plan.bodies, options.model);
        ort::follow(&own, &mut plan);
        return verified(&own, plan);
    }
    ort::follow(&settled.main, &mut plan);
    verified(&settled.main, plan)
}

/// Orders `graph` with exactly the algorithm asked for, better or worse than the model's own order.
///
/// # Errors
/// Only if the result fails its own check, which would be a bug.
pub fn schedule(graph: &Graph, options: &Options) -> Result<Plan, Error> {
    verified(graph, unchecked(graph, options))
}

/// The order with the least peak, whatever a runtime makes of it.
pub(crate) fn best_by_peak(graph: &Graph, options: &Options) -> Result<Plan, Error> {
    let mut plan = unchecked(graph, options);
    if plan.after.peak >= plan.before.peak {
        plan.keep_own_order(std::slice::from_ref(graph));
    }
    verified(graph, plan)
}

/// Finds out what arenas the runtime would use, and looks for an order that gets a smaller one. `main` is the first graph with what its sub-graphs need.
fn judge(graphs: &[Graph], main: &Graph, plan: &mut Plan, options: &Options, started: Instant) {
    let all: Vec<&Graph> = graphs.iter().collect();
    let own: Vec<Vec<OpId>> = graphs.iter().map(Graph::file_order).collect();
    let arena_of = |order: &[OpId], bodies: &[Vec<OpId>]| {
        let orders: Vec<&[OpId]> = std::iter::once(order).chain(bodies.iter().map(Vec::as_slice)).collect();
        runtime_arena(&all, &orders, options.model).map(|arena| arena.bytes)
    };
    plan.before.arena = arena_of(&own[0], &own[1..]);
    let Some(found) = arena_of(&plan.order, &plan.bodies) else { return };
    plan.after.arena = Some(found);
    if !options.algorithm.is_exact() || found <= plan.bound {
        return;
    }
    let lifetimes = options.model.lifetimes(main);
    let evaluate = |order: &[OpId]| match options.model {
        MemoryModel::Ort(walk) => {
            let run = ort::run(main, order, walk);
            refine::cost(&lifetimes, &run.order, run.requested)
        }
        _ => refine::cost(&lifetimes, order, arena_of(order, &plan.bodies).unwrap_or(u64::MAX)),
    };
    let stop = || {
        options.limits.cancel.is_cancelled()
            || options.limits.time.is_some_and(|limit| started.elapsed() >= limit)
    };
    let mut candidates = vec![plan.order.clone(), own[0].clone()];
    if options.model == MemoryModel::Ort(OrtOrder::Default) {
        candidates.extend(ort::numberings(main, &plan.order));
    }
    let best = candidates
        .into_iter()
        .map(|start| refine::refine(main, start, plan.bound, evaluate, stop))
        .min_by_key(|(_, cost)| *cost);
    if let Some((order, (arena, peak, _))) = best
        && arena < found
    {
        plan.take_order(order, Footprint { peak, arena: Some(arena), ops: plan.after.ops });
    }
}

fn unchecked(graph: &Graph, options: &Options) -> Plan {
    let lifetimes = options.model.lifetimes(graph);
    let problem = bridge::problem(graph, &lifetimes);
    let found = scheduling::schedule(
        &problem,
        &scheduling::Options {
            algorithm: options.algorithm,
            step_limit: options.step_limit,
            limits: options.limits.clone(),
            progress: options.progress.clone(),
            rules: options.rules.clone(),
            threads: options.threads,
        },
    );
    // Where it ends early there is nothing to prove, and no time to prove it.
    let witness = match found.proof {
        Proof::Optimal => witness(&lifetimes, &problem, &found),
        Proof::Gap { .. } => None,
    };
    let ops = graph.ops().len();
    Plan {
        graph: graph.name().to_owned(),
        model: options.model,
        algorithm: options.algorithm,
        order: found.order.iter().map(|op| OpId(op.0)).collect(),
        steering: None,
        bodies: Vec::new(),
        before: Footprint { peak: lifetimes.profile(&graph.file_order()).peak(), arena: None, ops },
        after: Footprint { peak: found.peak, arena: None, ops },
        bound: found.bound,
        proof: found.proof,
        witness,
        stats: found.stats,
    }
}

/// A proof of the bound in terms of the graph, if one op alone gives it.
fn witness(lifetimes: &Lifetimes, problem: &Problem, found: &Schedule) -> Option<Witness> {
    let proof = scheduling::witness(problem, &bridge::buffers(lifetimes), &found.order, found.bound)?;
    let op = OpId(proof.op.0);
    let buffer = |b: usize| &lifetimes.buffers()[b];
    // The checker counts the scratch of the op itself.
    let is_own_scratch = |chain: &&scheduling::Chain| {
        chain.buffers.iter().all(|&b| buffer(b).is_scratch() && buffer(b).writers == [op])
    };
    let chain = |chain: &scheduling::Chain| {
        let tensors = chain.buffers.iter().map(|&b| buffer(b).tensors.first().copied());
        Some(WitnessChain { bytes: chain.bytes, tensors: tensors.collect::<Option<_>>()? })
    };
    let chains = proof.chains.iter().filter(|c| !is_own_scratch(c)).map(chain).collect::<Option<_>>()?;
    Some(Witness { op, chains })
}

/// Nothing leaves this crate that the independent checker does not accept.
fn verified(graph: &Graph, plan: Plan) -> Result<Plan, Error> {
    let claim = Claim {
        model: plan.model,
        order: &plan.order,
        peak: plan.after.peak,
        bound: plan.bound,
        optimal: plan.is_optimal(),
        witness: plan.witness.as_ref(),
    };
    let report = check(graph, &claim);
    if report.is_valid() {
        Ok(plan)
    } else {
        Err(Error::CheckFailed { graph: plan.graph, faults: report.faults })
    }
}
