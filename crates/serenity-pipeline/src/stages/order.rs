//! Searches for the order of one graph and checks it.

use crate::checked::plan_faults;
use crate::stages::problem::{buffers, problem};
use crate::{Error, Footprint, Options, Plan};
use serenity_check::{CutStep, CutWitness, OpWitness, Witness, WitnessChain};
use serenity_ir::{Graph, Lifetimes, OpId, TensorId};
use serenity_runtimes::{MemoryModel, MemoryModelExt, Offsets};
use serenity_schedule::{self as scheduling, Problem, Schedule};
use serenity_search::Proof;

/// Orders `graph` with exactly the algorithm of the options, whether or not that is better than the model's own order.
///
/// # Errors
/// Only if the result fails its own check, which would be a bug.
pub fn schedule(graph: &Graph, options: &Options) -> Result<Plan, Error> {
    let limits = options.limits.working(options.effort.states_of_an_order_alone(options.algorithm));
    let options = &Options { limits, ..options.clone() };
    verified(std::slice::from_ref(graph), unchecked(graph, options), None)
}

/// The order with the least peak, whatever arena a runtime makes of it.
///
/// # Errors
/// Only if the result fails its own check, which would be a bug.
pub fn best_by_peak(graph: &Graph, options: &Options) -> Result<Plan, Error> {
    let mut plan = unchecked(graph, options);
    if plan.after.peak >= plan.before.peak {
        plan.keep_own_order(std::slice::from_ref(graph));
    }
    verified(std::slice::from_ref(graph), plan, None)
}

/// The result of the search, not yet checked.
pub fn unchecked(graph: &Graph, options: &Options) -> Plan {
    let lifetimes = options.model.lifetimes(graph);
    let asked = problem(graph, &lifetimes);
    let found = scheduling::schedule(&asked, &search_for(graph, options));
    // If the search ended early, nothing is proved, and there is no time to prove it.
    let witness = match found.proof {
        Proof::Optimal => op_witness(graph, options.model, &lifetimes, &asked, &found)
            .map(Witness::Op)
            .or_else(|| cut_witness(&asked, options, &found).map(Witness::Cuts)),
        Proof::Gap { .. } => None,
    };
    let ops = graph.ops().len();
    let mut plan = Plan {
        graph: graph.name().to_owned(),
        model: options.model,
        algorithm: options.algorithm,
        order: found.order.iter().map(|op| OpId(op.0)).collect(),
        steering: None,
        bodies: Vec::new(),
        int8_io: None,
        constant_channels: None,
        session: None,
        rewrites: Vec::new(),
        choice: None,
        loops: None,
        unknown: graph.unknown().to_vec(),
        offsets: None,
        places: None,
        interrupted: None,
        arena_bound: None,
        before: Footprint { peak: lifetimes.profile(&graph.file_order()).peak(), arena: None, ops },
        after: Footprint { peak: found.peak, arena: None, ops },
        bound: found.bound,
        proof: found.proof,
        witness,
        stats: found.stats,
    };
    plan.settle_proof();
    plan
}

/// The options of a search for an order that is one of several searches: limits its work, unless the options already
/// do.
pub(crate) fn search_for(graph: &Graph, options: &Options) -> scheduling::Options {
    let mut work = options.effort.states_of_an_order(options.algorithm, graph.ops().len());
    if graph.states_sharing() && options.algorithm.is_exact() {
        work = work.max(options.effort.moves_with_savings());
    }
    let work = options.limits.work.unwrap_or(work);
    scheduling::Options { limits: options.limits.working(work), ..search(options) }
}

pub(crate) fn search(options: &Options) -> scheduling::Options {
    scheduling::Options {
        algorithm: options.algorithm,
        step_limit: options.step_limit,
        soft_budget: options.soft_budget,
        limits: options.limits.clone(),
        progress: options.progress.clone(),
        rules: options.rules.clone(),
        threads: options.threads,
        wanted_below: None,
        memo: options.memo.clone(),
    }
}

/// A proof of the bound in terms of the graph, if one op alone gives it.
fn op_witness(
    graph: &Graph,
    model: MemoryModel,
    lifetimes: &Lifetimes,
    problem: &Problem,
    found: &Schedule,
) -> Option<OpWitness> {
    let proof = scheduling::witness(problem, &buffers(lifetimes), &found.order, found.bound)?;
    let op = OpId(proof.op.0);
    let buffer = |b: usize| &lifetimes.buffers()[b];
    let mut turns = vec![0; graph.ops().len()];
    for (turn, op) in graph.file_order().into_iter().enumerate() {
        turns[op.index()] = turn;
    }
    // A tensor that is handed over under a plan is read by a single op, which writes the next one: in any valid order
    // they come in turn.
    let in_turn = |b: usize| {
        let mut tensors = taking_over(model, buffer(b)).to_vec();
        tensors.sort_by_key(|&t| graph.producer(t).map(|op| turns[op.index()]));
        tensors
    };
    let mut chains = Vec::new();
    for chain in &proof.chains {
        // The checker counts the scratch of the op itself.
        if chain.buffers.iter().all(|&b| buffer(b).is_scratch() && buffer(b).writers == [op]) {
            continue;
        }
        if chain.buffers.iter().any(|&b| buffer(b).is_scratch()) {
            return None;
        }
        let tensors: Vec<TensorId> = chain.buffers.iter().flat_map(|&b| in_turn(b)).collect();
        // Bytes that the op itself hands over are in use on both sides while it runs; the checker counts what that
        // saves.
        let handed_over = tensors.iter().position(|&t| graph.producer(t) == Some(op)).filter(|&at| at > 0);
        let (before, after) = tensors.split_at(handed_over.unwrap_or(tensors.len()));
        for part in [before, after] {
            if !part.is_empty() {
                chains.push(WitnessChain { bytes: chain.bytes, tensors: part.to_vec() });
            }
        }
    }
    Some(OpWitness { op, chains })
}

/// Looking for a proof may take as long as a search takes for so many states, if the search itself has none.
const FEW_STATES: u64 = 8192;

/// A proof of the bound by cuts, if they give it.
fn cut_witness(problem: &Problem, options: &Options, found: &Schedule) -> Option<CutWitness> {
    if !options.algorithm.is_exact() || !options.rules.precedence {
        return None;
    }
    let steps = scheduling::cut_steps(problem, found, FEW_STATES, &|| options.limits.are_over())?;
    Some(CutWitness { bound: found.bound, steps: steps.into_iter().map(stated).collect() })
}

fn stated(step: scheduling::CutStep) -> CutStep {
    let op = |op: scheduling::OpIndex| OpId(op.0);
    match step {
        scheduling::CutStep::Edge { first, second, running } => {
            CutStep::Edge { first: op(first), second: op(second), running: op(running) }
        }
        scheduling::CutStep::Probe { first, second, otherwise } => {
            let otherwise = otherwise.into_iter().map(stated).collect();
            CutStep::Probe { first: op(first), second: op(second), otherwise }
        }
        scheduling::CutStep::Contradiction { running } => CutStep::Contradiction { running: op(running) },
    }
}

/// The tensors of a buffer that take over from each other; only the one that names the buffer if the others merely
/// share it.
fn taking_over(model: MemoryModel, buffer: &serenity_ir::Buffer) -> &[TensorId] {
    if model.is_planned() { &buffer.tensors } else { &buffer.tensors[..1] }
}

/// Returns the plan if the independent checker accepts it. `given` is the memory plan stored in the model, if that is
/// kept.
pub(crate) fn verified(graphs: &[Graph], plan: Plan, given: Option<&Offsets>) -> Result<Plan, Error> {
    let faults = plan_faults(&graphs.iter().collect::<Vec<_>>(), &plan, given);
    if faults.is_empty() { Ok(plan) } else { Err(Error::CheckFailed { graph: plan.graph, faults }) }
}
