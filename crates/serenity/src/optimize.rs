//! The pipeline.

use crate::judge::{self, Judge, Seed};
use crate::plan_check::plan_faults;
use crate::rewrite::optimize_input;
use crate::{Effort, Error, Footprint, Input, Plan, bridge, nested, ort, planned_model};
use serenity_check::{Witness, WitnessChain, placement_faults};
use serenity_ir::{Graph, Lifetimes, OpId, TensorId};
use serenity_runtimes::{Kernels, MemoryModel, Offsets, main_graph};
use serenity_schedule::{self as scheduling, Algorithm, Problem, Rules, Schedule, StepLimit};
use serenity_search::{Limits, ProgressFn, Proof};
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
    /// How hard to try: every search of the pipeline ends by counted work.
    pub effort: Effort,
    /// When to give up proving and take the best so far. A deadline is a safety net: what it cuts may differ from run to run.
    pub limits: Limits,
    /// For TFLM: place the tensors too, with inputs and outputs that overlap where the kernels allow it, for a plan in the model.
    pub plan_arena: bool,
    /// For TFLM: the plan that the model came with.
    pub given_plan: Option<Offsets>,
    /// Which rewrites may be made.
    pub rewrites: Rewrites,
    /// Called a few times a second with the state of the search.
    pub progress: Option<ProgressFn>,
}

/// Which operators may be replaced by others that compute the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rewrites {
    /// None.
    None,
    /// Where the results stay the same bit for bit.
    Exact,
    /// In models of floats also where they stay the same up to rounding.
    #[default]
    All,
}

impl Options {
    /// What the command does by default: everything that makes this model need less where it is most likely to run.
    pub fn for_input(input: &Input) -> Self {
        Self { model: input.default_model, plan_arena: true, given_plan: input.plan(), ..Self::default() }
    }
}

/// What became of a model.
#[derive(Clone, Debug)]
pub struct Optimized {
    /// The model that the plan is for: rewritten if the plan lists rewrites, otherwise as it came.
    pub model: Input,
    /// What was decided, what it needs, and what is proved of that.
    pub plan: Plan,
}

impl Optimized {
    /// The bytes of the file to run, in the format it came in.
    ///
    /// # Errors
    /// If there is no file (the input was a graph), or if it holds what cannot be kept.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        planned_model(&self.model, &self.plan)
    }
}

/// The one door: rewrites a model, orders its operators and places its tensors so that it needs the least memory. Where nothing is better than what
/// came in, it stays as it is.
///
/// ```
/// use serenity::{Format, Options, export, load, optimize};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("model.tflite");
/// let model = export("swiftnet-c", Format::TfLite, serenity::zoo::Precision::Float32)?;
/// std::fs::write(&path, model.bytes)?;
///
/// let input = load(path.to_str().unwrap_or_default())?;
/// let best = optimize(&input, &Options::for_input(&input))?;
/// // What TensorFlow Lite Micro needs for activations, before and after.
/// assert_eq!((best.plan.before.arena, best.plan.after.arena), (Some(194_432), Some(75_264)));
/// std::fs::write(&path, best.to_bytes()?)?;
/// # Ok(()) }
/// ```
///
/// # Errors
/// If the result fails its own check, or the rewriting went wrong: either would be a bug. A file that cannot be changed without loss is no error: it is
/// planned as it is.
pub fn optimize(input: &Input, options: &Options) -> Result<Optimized, Error> {
    let (rewritten, plan) = match options.rewrites {
        Rewrites::None => (None, plan_graphs(input.graphs(), options)?),
        Rewrites::Exact | Rewrites::All => optimize_input(input, options)?,
    };
    Ok(Optimized { model: rewritten.unwrap_or_else(|| input.clone()), plan })
}

/// The order and the places with which a model of several graphs needs the least, the main one first: each is ordered, and an op that runs others (its attribute
/// `bodies`) is counted with what they need. For a runtime that has a planner of its own, orders are judged by the arena which that planner makes of them.
///
/// # Errors
/// Only if the result fails its own check, which would be a bug.
///
/// # Panics
/// If there is no graph.
pub fn plan_graphs(graphs: &[Graph], options: &Options) -> Result<Plan, Error> {
    no_worse_than(graphs, options, &[])
}

/// The same, starting from plans of the arena that are known to be possible.
pub(crate) fn no_worse_than(graphs: &[Graph], options: &Options, known: &[Seed]) -> Result<Plan, Error> {
    let wanted = if_below(graphs, options, known, u64::MAX)?;
    Ok(wanted.unwrap_or_else(|_| unreachable!("every size is below the largest number")))
}

/// The same if the model could need less than `below`; otherwise what it needs at least, which is no less.
pub(crate) fn if_below(
    graphs: &[Graph],
    options: &Options,
    known: &[Seed],
    below: u64,
) -> Result<Result<Plan, u64>, Error> {
    let mut plan = match (options.model.kernels(), options.model.ort_order()) {
        (Some(kernels), _) if options.plan_arena => {
            match with_plan(graphs, kernels, options, known, below)? {
                Ok(plan) => plan,
                Err(bound) => return Ok(Err(bound)),
            }
        }
        (_, Some(walk)) => ort::best(graphs, walk, options)?,
        _ => without_plan(graphs, options)?,
    };
    plan.interrupted = options.limits.interrupted();
    Ok(Ok(plan))
}

/// The best order for a runtime that places tensors by itself.
fn without_plan(graphs: &[Graph], options: &Options) -> Result<Plan, Error> {
    let settled = nested::settle(graphs, options)?;
    let mut plan = unchecked(&settled.main, options);
    plan.bodies.clone_from(&settled.orders);
    plan.before.arena = judge::own_arena(graphs, options.model, options.given_plan.as_ref());
    if graphs.len() > 1 {
        // As it came, its sub-graphs run in their own orders.
        let own = main_graph(graphs, &[], options.model);
        plan.before.peak = options.model.lifetimes(&own).profile(&own.file_order()).peak();
    }
    if options.given_plan.is_some() && options.model.kernels().is_some() {
        // The plan that it came with may share what the runtime by itself does not.
        plan.bound = plan.bound.min(bound_of_all_plans(&settled.main, options, &plan));
        // Or what nobody here knows to be safe, as between sub-graphs: then nothing is proved.
        if plan.before.arena.is_some_and(|arena| arena < plan.bound) {
            plan.bound = 0;
        }
        plan.witness = None;
    }
    let judge = Judge::new(graphs, &settled.main, &settled.orders, options);
    plan.after.arena = judge.arena(&plan.order);
    plan.settle_proof();
    let can_gain = options.algorithm.is_exact() && plan.after.needs() > plan.bound;
    if let (Some(arena), true) = (plan.after.arena, can_gain)
        && let Some((order, smaller, peak)) =
            judge.best_for_planner(&[plan.order.clone(), settled.main.file_order()], plan.bound)
        && smaller < arena
    {
        plan.take_order(order, Footprint { peak, arena: Some(smaller), ops: plan.after.ops });
    }
    or_as_it_was(graphs, plan, options.given_plan.as_ref())
}

/// The best order for TFLM with a plan of the arena in the model, and that plan.
fn with_plan(
    graphs: &[Graph],
    kernels: Kernels,
    options: &Options,
    known: &[Seed],
    below: u64,
) -> Result<Result<Plan, u64>, Error> {
    let started = Instant::now();
    let as_it_is = options.model.without_plan();
    // A plan that is not safe with these kernels is worth nothing, and must not be kept.
    let given = options.given_plan.as_ref().filter(|plan| is_safe(graphs, plan, kernels));
    let planned = &Options { model: options.model.with_plan(), ..options.clone() };
    let settled = nested::settle(graphs, planned)?;
    let main = &settled.main;
    let mut plan = unchecked(main, planned);
    plan.bodies.clone_from(&settled.orders);
    plan.bound = plan.bound.min(bound_of_all_plans(main, planned, &plan));
    if plan.bound >= below {
        return Ok(Err(plan.bound));
    }
    plan.before = Footprint {
        peak: as_it_is.lifetimes(&main_graph(graphs, &[], as_it_is)).profile(&main.file_order()).peak(),
        arena: judge::own_arena(graphs, as_it_is, given),
        ops: plan.before.ops,
    };
    let starts = [plan.order.clone(), main.file_order()];
    let starts = if options.algorithm.is_exact() { &starts[..] } else { &starts[..1] };
    let judge = Judge::new(graphs, main, &settled.orders, planned);
    if let Some(best) = judge.best_planned(starts, known, kernels, plan.bound) {
        let mut orders = best.orders.into_iter();
        let order = orders.next().unwrap_or_default();
        plan.bodies = orders.collect();
        let with_bodies = main_graph(graphs, &plan.bodies, planned.model);
        let peak = planned.model.lifetimes(&with_bodies).profile(&order).peak();
        let after = Footprint { peak, arena: Some(best.planned.arena.bytes), ops: plan.after.ops };
        plan.arena_bound = Some(best.bound);
        plan.places = Some(Proof::of(best.planned.arena.bytes, best.planned.bound, best.planned.stopped));
        plan.take_order(order, after);
        plan.offsets = Some(best.planned.offsets);
    }
    plan.stats.elapsed = started.elapsed();
    if options.given_plan.is_some() && given.is_none() && plan.offsets.is_some() {
        return verified(graphs, plan, None).map(Ok);
    }
    or_as_it_was(graphs, plan, given).map(Ok)
}

/// Is the plan that a model came with one that the checker accepts for these kernels?
fn is_safe(graphs: &[Graph], plan: &Offsets, kernels: Kernels) -> bool {
    let own: Vec<Vec<OpId>> = graphs.iter().map(Graph::file_order).collect();
    let orders: Vec<&[OpId]> = own.iter().map(Vec::as_slice).collect();
    placement_faults(&graphs.iter().collect::<Vec<_>>(), &orders, kernels, plan, u64::MAX).is_empty()
}

/// A bound for every order and every plan. The search takes a tensor for handed over only where one op alone reads it.
fn bound_of_all_plans(main: &Graph, options: &Options, plan: &Plan) -> u64 {
    let lifetimes = options.model.with_plan().least_lifetimes(main);
    if lifetimes == options.model.lifetimes(main) {
        return plan.bound;
    }
    scheduling::schedule(&bridge::problem(main, &lifetimes), &search_for(main, options)).bound
}

/// The plan, or the model's own order, with the plan of the arena that it was `given`, if that needs no more.
fn or_as_it_was(graphs: &[Graph], mut plan: Plan, given: Option<&Offsets>) -> Result<Plan, Error> {
    if !plan.is_no_gain() {
        return verified(graphs, plan, None);
    }
    plan.keep_own_order(graphs);
    // Its sub-graphs may need more in their own orders.
    let own = main_graph(graphs, &plan.bodies, plan.model);
    plan.after.peak = plan.model.lifetimes(&own).profile(&plan.order).peak();
    plan.settle_proof();
    verified(graphs, plan, given)
}

/// Orders `graph` with exactly the algorithm asked for, better or worse than the model's own order.
///
/// # Errors
/// Only if the result fails its own check, which would be a bug.
pub fn schedule(graph: &Graph, options: &Options) -> Result<Plan, Error> {
    let limits = options.limits.working(options.effort.states_of_an_order_alone(options.algorithm));
    let options = &Options { limits, ..options.clone() };
    verified(std::slice::from_ref(graph), unchecked(graph, options), None)
}

/// The order with the least peak, whatever a runtime makes of it.
pub(crate) fn best_by_peak(graph: &Graph, options: &Options) -> Result<Plan, Error> {
    let mut plan = unchecked(graph, options);
    if plan.after.peak >= plan.before.peak {
        plan.keep_own_order(std::slice::from_ref(graph));
    }
    verified(std::slice::from_ref(graph), plan, None)
}

/// What the search finds, not yet checked.
pub(crate) fn unchecked(graph: &Graph, options: &Options) -> Plan {
    let lifetimes = options.model.lifetimes(graph);
    let problem = bridge::problem(graph, &lifetimes);
    let found = scheduling::schedule(&problem, &search_for(graph, options));
    // Where it ends early there is nothing to prove, and no time to prove it.
    let witness = match found.proof {
        Proof::Optimal => witness(graph, options.model, &lifetimes, &problem, &found),
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
        rewrites: Vec::new(),
        choice: None,
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

/// The same within the work that one search of several gets, unless it has a limit already.
pub(crate) fn search_for(graph: &Graph, options: &Options) -> scheduling::Options {
    let work = options.effort.states_of_an_order(options.algorithm, graph.ops().len());
    let work = options.limits.work.unwrap_or(work);
    scheduling::Options { limits: options.limits.working(work), ..search(options) }
}

pub(crate) fn search(options: &Options) -> scheduling::Options {
    scheduling::Options {
        algorithm: options.algorithm,
        step_limit: options.step_limit,
        limits: options.limits.clone(),
        progress: options.progress.clone(),
        rules: options.rules.clone(),
        threads: options.threads,
        wanted_below: None,
        memo: scheduling::Memo::default(),
    }
}

/// A proof of the bound in terms of the graph, if one op alone gives it.
fn witness(
    graph: &Graph,
    model: MemoryModel,
    lifetimes: &Lifetimes,
    problem: &Problem,
    found: &Schedule,
) -> Option<Witness> {
    let proof = scheduling::witness(problem, &bridge::buffers(lifetimes), &found.order, found.bound)?;
    let op = OpId(proof.op.0);
    let buffer = |b: usize| &lifetimes.buffers()[b];
    let mut chains = Vec::new();
    for chain in &proof.chains {
        // The checker counts the scratch of the op itself.
        if chain.buffers.iter().all(|&b| buffer(b).is_scratch() && buffer(b).writers == [op]) {
            continue;
        }
        if chain.buffers.iter().any(|&b| buffer(b).is_scratch()) {
            return None;
        }
        let tensors: Vec<TensorId> =
            chain.buffers.iter().flat_map(|&b| in_turn(graph, model, buffer(b))).collect();
        // Bytes that the op itself hands over are in use on both sides while it runs; the checker counts what that saves.
        let handed_over = tensors.iter().position(|&t| graph.producer(t) == Some(op)).filter(|&at| at > 0);
        let (before, after) = tensors.split_at(handed_over.unwrap_or(tensors.len()));
        for part in [before, after] {
            if !part.is_empty() {
                chains.push(WitnessChain { bytes: chain.bytes, tensors: part.to_vec() });
            }
        }
    }
    Some(Witness { op, chains })
}

/// The tensors of a buffer that take over from each other; the one that names it where others only share it.
fn in_turn(graph: &Graph, model: MemoryModel, buffer: &serenity_ir::Buffer) -> Vec<TensorId> {
    if !model.is_planned() {
        return buffer.tensors[..1].to_vec();
    }
    // What is handed over under a plan is read by one op alone, which writes what comes next: in any order that can run they come in turn.
    let mut tensors = buffer.tensors.clone();
    let order = graph.file_order();
    tensors.sort_by_key(|&t| graph.producer(t).and_then(|op| order.iter().position(|&o| o == op)));
    tensors
}

/// Nothing leaves this crate that the independent checker does not accept. `given` is the plan of the arena that the model came with, if that is kept.
pub(crate) fn verified(graphs: &[Graph], plan: Plan, given: Option<&Offsets>) -> Result<Plan, Error> {
    let faults = plan_faults(&graphs.iter().collect::<Vec<_>>(), &plan, given);
    if faults.is_empty() { Ok(plan) } else { Err(Error::CheckFailed { graph: plan.graph, faults }) }
}
