//! Orders and places a model without changing its operators.

use crate::by_kernels::{are_no_larger, heads, own_heads};
use crate::peak::{self, own_peak};
use crate::stages::judge::{self, BestPlanned, Bounds, Judge, Seed};
use crate::stages::order::{search_for, unchecked, verified};
use crate::stages::problem::problem;
use crate::stages::{nested, ort};
use crate::{Error, Footprint, Options, Plan};
use serenity_check::placement_faults;
use serenity_ir::{Graph, Op, OpId, Operator, TensorId};
use serenity_runtimes::{Kernels, MemoryModelExt, Offsets, TflmFacts, main_graph};
use serenity_schedule::{self as scheduling, OpIndex};
use serenity_search::{Instant, Proof};

/// The order and the offsets with which a model of several graphs (the main one first) needs the least. Each graph is
/// ordered, and an op that runs others (its attribute `bodies`) is counted with their memory. For a runtime with a
/// planner of its own, orders are judged by the arena which that planner makes of them.
///
/// # Errors
/// Only if the result fails its own check, which would be a bug.
///
/// # Panics
/// If there is no graph.
pub fn plan_graphs(graphs: &[Graph], options: &Options) -> Result<Plan, Error> {
    no_worse_than(graphs, options, &[])
}

/// Like [`plan_graphs`], but starts from `known` plans of the model and never returns a worse one.
pub(crate) fn no_worse_than(graphs: &[Graph], options: &Options, known: &[Seed]) -> Result<Plan, Error> {
    let wanted = planned(graphs, options, known, None)?;
    Ok(wanted.unwrap_or_else(|_| unreachable!("every size is below the largest number")))
}

/// Like [`plan_graphs`] if the model could need less than `below`; otherwise returns the lower bound that says it
/// cannot. Only the arena that is enough for all sets of kernels counts, not the arena of each.
pub(crate) fn if_below(graphs: &[Graph], options: &Options, below: u64) -> Result<Result<Plan, u64>, Error> {
    planned(graphs, options, &[], Some(below))
}

fn planned(
    graphs: &[Graph],
    options: &Options,
    known: &[Seed],
    below: Option<u64>,
) -> Result<Result<Plan, u64>, Error> {
    let mut plan = match (options.model.kernels(), options.model.ort()) {
        (Some(kernels), _) if options.plan_arena => {
            match with_plan(graphs, kernels, options, known, below)? {
                Ok(plan) => plan,
                Err(bound) => return Ok(Err(bound)),
            }
        }
        (_, Some(setup)) => ort::best(graphs, setup, options)?,
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
        // In the model as it came, sub-graphs run in their own orders.
        plan.before.peak = own_peak(graphs, options.model, options.given_plan.as_ref());
    }
    if options.given_plan.is_some() && options.model.kernels().is_some() {
        // The stored plan may share memory that the runtime by itself does not.
        plan.bound = least_of_all_plans(&settled.main, options, &plan).bound.min(bound_with_loops(graphs));
        // It may also share memory in ways that we cannot show to be safe, as between sub-graphs: then nothing is
        // proved.
        if plan.before.arena.is_some_and(|arena| arena.min(plan.before.peak) < plan.bound) {
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

/// The best order for TFLM and the offsets for it, to be stored in the model.
fn with_plan(
    graphs: &[Graph],
    kernels: Kernels,
    options: &Options,
    known: &[Seed],
    below: Option<u64>,
) -> Result<Result<Plan, u64>, Error> {
    let started = Instant::now();
    // A stored plan that is not safe with these kernels must not be kept.
    let given = safe_plan(graphs, options);
    let planned = &Options { model: options.model.with_plan(), ..options.clone() };
    let settled = nested::settle(graphs, planned)?;
    let main = &settled.main;
    let mut plan = unchecked(main, planned);
    plan.bodies.clone_from(&settled.orders);
    let least = least_of_all_plans(main, planned, &plan);
    plan.bound = least.bound;
    let with_loops = bound_with_loops(graphs);
    if with_loops < plan.bound {
        plan.bound = with_loops;
        plan.witness = None;
        plan.settle_proof();
    }
    if below.is_some_and(|below| plan.bound >= below) {
        return Ok(Err(plan.bound));
    }
    plan.before = as_it_came(graphs, options);
    let facts = &TflmFacts::new(&graphs.iter().collect::<Vec<_>>(), kernels);
    let mut starts = vec![plan.order.clone()];
    let mut bounds = Bounds { arena: plan.bound, of_all_sets: None };
    if options.algorithm.is_exact() {
        starts.extend(least.order);
        starts.push(main.file_order());
    }
    if below.is_none() && facts.sets().count() > 1 {
        let (orders, least) = by_sets(graphs, &settled.orders, facts, planned, with_loops);
        starts.extend(orders.into_iter().filter(|_| options.algorithm.is_exact()));
        bounds.of_all_sets = Some(least);
    }
    let judge = Judge::new(graphs, main, &settled.orders, planned);
    let own = own_heads(graphs, options.model, given);
    // Without places, a model that carries something would need less, and lose it.
    let carries = !graphs[0].carried().is_empty();
    let serves_all = |orders: &[Vec<OpId>], offsets: &Offsets| {
        if carries {
            return true;
        }
        let orders: Vec<&[OpId]> = orders.iter().map(Vec::as_slice).collect();
        are_no_larger(&heads(graphs, options.model, &orders, Some(offsets)), &own)
    };
    if let Some(best) = judge.best_planned(&starts, known, facts, bounds, &serves_all) {
        take_offsets(&mut plan, graphs, best, with_loops);
    }
    plan.stats.elapsed = started.elapsed();
    if options.given_plan.is_some() && given.is_none() && plan.offsets.is_some() {
        return verified(graphs, plan, None).map(Ok);
    }
    or_as_it_was(graphs, plan, given).map(Ok)
}

/// Takes the best orders and their offsets into a plan; `limit` is the most that may be claimed as a lower bound.
fn take_offsets(plan: &mut Plan, graphs: &[Graph], best: BestPlanned, limit: u64) {
    let BestPlanned { orders, planned, bound } = best;
    let mut orders = orders.into_iter();
    let order = orders.next().unwrap_or_default();
    plan.bodies = orders.collect();
    let peak = peak::profile(graphs, (&order, &plan.bodies), plan.model, Some(&planned.offsets)).peak();
    let after = Footprint { peak, arena: Some(planned.arena.bytes), ops: plan.after.ops };
    plan.arena_bound = Some(bound.min(limit));
    let places = Proof::of(planned.arena.bytes, planned.bound, planned.stopped);
    plan.offsets = Some(planned.offsets).filter(|offsets| !offsets.is_empty());
    plan.places = plan.offsets.as_ref().map(|_| places);
    plan.take_order(order, after);
}

/// Good orders for each set of kernels that may run a model, and a lower bound on the sum of what each needs; no more
/// than `limit` may be claimed for one of them.
fn by_sets(
    graphs: &[Graph],
    bodies: &[Vec<OpId>],
    facts: &TflmFacts,
    planned: &Options,
    limit: u64,
) -> (Vec<Vec<OpId>>, u64) {
    let (mut orders, mut least) = (Vec::new(), 0);
    for set in facts.sets() {
        let (order, of_set) = order_for_set(graphs, bodies, set, planned);
        least += of_set.bound.min(limit);
        orders.push(order);
        orders.extend(of_set.order);
    }
    (orders, least)
}

/// The best order for one of several sets of kernels, and a lower bound for all orders and placements with them.
fn order_for_set(
    graphs: &[Graph],
    bodies: &[Vec<OpId>],
    set: Kernels,
    planned: &Options,
) -> (Vec<OpId>, Least) {
    let options = &Options { model: planned.model.with_kernels(set), ..planned.clone() };
    let main = &main_graph(graphs, bodies, options.model);
    let plan = unchecked(main, options);
    let least = least_of_all_plans(main, options, &plan);
    (plan.order, least)
}

/// The memory of a model as it came: in its own order, with its stored memory plan if that is safe.
pub(crate) fn as_it_came(graphs: &[Graph], options: &Options) -> Footprint {
    let (model, given) = (options.model.without_plan(), safe_plan(graphs, options));
    Footprint {
        peak: own_peak(graphs, model, given),
        arena: judge::own_arena(graphs, model, given),
        ops: graphs[0].ops().len(),
    }
}

/// The memory plan stored in a model, unless the arena is to be planned and the stored plan is not safe.
pub(crate) fn safe_plan<'o>(graphs: &[Graph], options: &'o Options) -> Option<&'o Offsets> {
    let kernels = options.model.kernels().filter(|_| options.plan_arena);
    let is_kept = |plan: &&Offsets| kernels.is_none_or(|kernels| is_safe(graphs, plan, kernels));
    options.given_plan.as_ref().filter(is_kept)
}

/// Does the checker accept the memory plan stored in a model for these kernels?
pub fn is_safe(graphs: &[Graph], plan: &Offsets, kernels: Kernels) -> bool {
    let own: Vec<Vec<OpId>> = graphs.iter().map(Graph::file_order).collect();
    let orders: Vec<&[OpId]> = own.iter().map(Vec::as_slice).collect();
    placement_faults(&graphs.iter().collect::<Vec<_>>(), &orders, kernels, plan, u64::MAX).is_empty()
}

/// A lower bound for all orders and placements, and an order that might come close.
struct Least {
    bound: u64,
    order: Option<Vec<OpId>>,
}

/// A lower bound for all orders and placements. The search treats a tensor as handed over only where a single op reads
/// it.
fn least_of_all_plans(main: &Graph, options: &Options, plan: &Plan) -> Least {
    let model = options.model.with_plan();
    let lifetimes = model.least_lifetimes(main);
    if lifetimes == options.model.lifetimes(main) {
        return Least { bound: plan.bound, order: None };
    }
    let least = scheduling::schedule(&problem(main, &lifetimes), &search_for(main, options)).bound;
    let is_close = least >= plan.bound || !options.algorithm.is_exact();
    let Some(best) = model.at_best(main).filter(|_| !is_close) else {
        return Least { bound: least.min(plan.bound), order: None };
    };
    let savings: Vec<(OpIndex, u64)> =
        best.savings.iter().map(|&(op, bytes)| (OpIndex(op.0), bytes)).collect();
    let at_best = problem(main, &best.lifetimes);
    let most_moves = options.effort.moves_with_savings();
    // A plan without savings has an order already, and more than its bound would not count.
    let bounds = (least, plan.bound);
    let found =
        scheduling::with_savings(&at_best, &savings, bounds, most_moves, &options.limits, &options.memo);
    let order = found.order.map(|order| order.iter().map(|op| OpId(op.0)).collect());
    Least { bound: found.at_least.min(plan.bound), order }
}

/// A lower bound for all orders and placements of a model with loops, or of one that carries something from run to run;
/// the largest number without, where better bounds hold. Tensors that are handed on may share bytes, so what an op
/// reads and writes does not add up: all that is sure is that each tensor needs room, and all inputs at once.
pub(crate) fn bound_with_loops(graphs: &[Graph]) -> u64 {
    let is_loop = |op: &Op| op.kind.operator() == Operator::WHILE;
    if !graphs.iter().flat_map(Graph::ops).any(is_loop) && graphs[0].carried().is_empty() {
        return u64::MAX;
    }
    let main = &graphs[0];
    let is_used = |t: &TensorId| main.producer(*t).is_some() || !main.consumers(*t).is_empty();
    let inputs = main.inputs().iter().map(|&t| main.tensor(t).bytes).fold(0, u64::saturating_add);
    main.tensor_ids().filter(is_used).map(|t| main.tensor(t).bytes).fold(inputs, u64::max)
}

/// The plan; or the model's own order with the memory plan that it was `given`, if that needs no more. A plan also wins
/// if it needs less with only one of the sets of kernels that may run the model.
fn or_as_it_was(graphs: &[Graph], mut plan: Plan, given: Option<&Offsets>) -> Result<Plan, Error> {
    if plan.offsets.is_some() && given.is_none() && !graphs[0].carried().is_empty() {
        // Without places nothing would be carried.
        return verified(graphs, plan, None);
    }
    let orders = plan.orders();
    let own = own_heads(graphs, plan.model, given);
    let new = heads(graphs, plan.model, &orders, plan.offsets.as_ref());
    // An equal need for the hungriest kernels may be less for others.
    let is_gain = !plan.is_no_gain() || (plan.after.needs() == plan.before.needs() && new != own);
    if is_gain && are_no_larger(&new, &own) {
        return verified(graphs, plan, None);
    }
    plan.keep_own_order(graphs);
    // Sub-graphs may need more in their own orders.
    plan.after.peak = peak::profile(graphs, (&plan.order, &plan.bodies), plan.model, given).peak();
    plan.settle_proof();
    verified(graphs, plan, given)
}
