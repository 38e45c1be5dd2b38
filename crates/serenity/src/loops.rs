//! Windows of a planned model as loops.

use crate::plan_check::plan_faults;
use crate::rewrite::whole_need;
use crate::{Error, Footprint, Input, Optimized, Options, Plan};
use serenity_check::Fault;
use serenity_check::loops::{self as loop_check, LoopFault};
use serenity_formats::{FileError, Problem};
use serenity_ir::{Graph, OpId};
use serenity_loops::{Choice, Loop, Looped, Spread, Windows};
use serenity_runtimes::{Kernels, TflmFacts, main_graph, plan_arena};
use serenity_search::{Limits, Proof, StopReason};

/// Whether windows of operators may become loops over a few rows at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loops {
    /// How many multiplications more they may take, as a share of those that there are.
    pub most_extra_macs: f64,
}

impl Default for Loops {
    /// A tenth more multiplications.
    fn default() -> Self {
        Self { most_extra_macs: 0.1 }
    }
}

/// The loops of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct AppliedLoops {
    /// Did every reader of a padding get one of its own before? Then ops are numbered as they are in [`Spread`].
    pub spread: bool,
    /// The order of the model before, in which its windows are.
    pub order: Vec<OpId>,
    /// Each of them.
    pub loops: Vec<Loop>,
    /// Multiplications of the row-local operators before.
    pub macs: u64,
    /// Multiplications that the loops add.
    pub extra_macs: u64,
}

/// The same model with its widest parts as loops, if it then needs less; otherwise as it is.
pub(crate) fn with_loops(found: Optimized, loops: Loops, options: &Options) -> Result<Optimized, Error> {
    let Some(kernels) = options.model.kernels().filter(|_| options.plan_arena) else { return Ok(found) };
    let mut best = found.clone();
    for ground in grounds(&found) {
        let is_over = || options.limits.are_over();
        let windows = Windows::new(&ground.graphs, &ground.order, kernels, u64::MAX, is_over);
        let Some(windows) = windows else { continue };
        let most = (windows.macs() as f64 * loops.most_extra_macs) as u64;
        let choices = windows.choices(most);
        // The least memory in use, then what a device needs in all.
        let mut by_need: Vec<&Choice> = choices.iter().collect();
        by_need.sort_by_key(|choice| choice.bytes + choice.tail);
        let lowest = choices.iter().take(1).filter(|lowest| {
            !by_need[..by_need.len().min(MOST_PLANNED)].iter().any(|c| std::ptr::eq(*c, *lowest))
        });
        for choice in by_need.iter().take(MOST_PLANNED).copied().chain(lowest) {
            let applied = AppliedLoops {
                spread: ground.origins.is_some(),
                order: ground.order.clone(),
                loops: windows.loops(choice),
                macs: windows.macs(),
                extra_macs: choice.extra_macs,
            };
            if let Some(looped) = planned(&found, &ground, applied, kernels, options)?
                && is_better(&looped, &best)
            {
                best = looped;
            }
        }
    }
    Ok(best)
}

/// Does one need less on a device? What a runtime keeps besides the arena differs from port to port by more than a hundredth: within that, the smaller arena.
fn is_better(one: &Optimized, other: &Optimized) -> bool {
    let need = |optimized: &Optimized| whole_need(&optimized.model, &optimized.plan);
    let (need_one, need_other) = (need(one), need(other));
    if other.plan.loops.is_none() || need_one.abs_diff(need_other) > need_other / 100 {
        return need_one < need_other;
    }
    (one.plan.after.needs(), need_one) < (other.plan.after.needs(), need_other)
}

/// Choices of each ground that are planned to the end.
const MOST_PLANNED: usize = 4;

/// A model in an order in which windows are looked for.
struct Ground {
    graphs: Vec<Graph>,
    order: Vec<OpId>,
    /// If ops are not those of the model: which of its ops each is.
    origins: Option<Vec<OpId>>,
}

/// The model as it was planned, and with one padding a reader.
fn grounds(found: &Optimized) -> Vec<Ground> {
    let graphs = found.model.graphs();
    let spread = Spread::new(graphs, &found.plan.order).map(|spread| {
        let order = spread.graphs[0].file_order();
        Ground { graphs: spread.graphs, order, origins: Some(spread.origins) }
    });
    let planned = Ground { graphs: graphs.to_vec(), order: found.plan.order.clone(), origins: None };
    std::iter::once(planned).chain(spread).collect()
}

fn planned(
    found: &Optimized,
    ground: &Ground,
    loops: AppliedLoops,
    kernels: Kernels,
    options: &Options,
) -> Result<Option<Optimized>, Error> {
    let Some(mut looped) = Looped::new(&ground.graphs, &ground.order, &loops.loops) else { return Ok(None) };
    if let Some(origins) = &ground.origins {
        looped = looped.of(origins);
    }
    let model = match found.model.file.looped(&looped) {
        Ok(file) => found.model.with_file(file),
        Err(FileError { problem: Problem::CannotKeep, .. }) => return Ok(None),
        Err(source) => return Err(Error::File { path: found.model.name.clone(), source }),
    };
    let Some(plan) = place(&model, found.plan.clone(), kernels, options) else { return Ok(None) };
    let mut found_wrong = plan_faults(&all(model.graphs()), &plan, None);
    let in_loops = faults(found, &looped, &model, &plan, kernels);
    if in_loops.iter().any(LoopFault::is_undecided) {
        return Ok(None);
    }
    found_wrong.extend(in_loops.into_iter().map(Fault::Loop));
    if !found_wrong.is_empty() {
        return Err(Error::CheckFailed { graph: plan.graph, faults: found_wrong });
    }
    Ok(Some(Optimized { model, plan: Plan { loops: Some(loops), ..plan } }))
}

/// What the independent checker finds wrong with loops, followed row by row in their arena.
fn faults(
    found: &Optimized,
    looped: &Looped,
    model: &Input,
    plan: &Plan,
    kernels: Kernels,
) -> Vec<LoopFault> {
    let (before, after) = (all(found.model.graphs()), all(model.graphs()));
    let own: Vec<Vec<OpId>> = found.model.graphs()[1..].iter().map(Graph::file_order).collect();
    let orders_before = orders(&found.plan.order, &own);
    let orders_after = orders(&plan.order, &plan.bodies);
    let none = |_: usize, _: OpId, _: usize| None;
    let numbers = |graph: usize, op: OpId, position| looped.numbers(graph, op, position);
    let before = loop_check::Model { graphs: &before, orders: &orders_before, numbers: &none };
    let after = loop_check::Model { graphs: &after, orders: &orders_after, numbers: &numbers };
    let Some(offsets) = &plan.offsets else { return Vec::new() };
    let plan = loop_check::Plan { kernels, offsets };
    loop_check::replay_loops(&before, &after, &looped.origins, &plan)
}

fn all(graphs: &[Graph]) -> Vec<&Graph> {
    graphs.iter().collect()
}

fn orders<'a>(main: &'a [OpId], bodies: &'a [Vec<OpId>]) -> Vec<&'a [OpId]> {
    std::iter::once(main).chain(bodies.iter().map(Vec::as_slice)).collect()
}

/// The plan of a model with loops, in its own order.
fn place(model: &Input, plan: Plan, kernels: Kernels, options: &Options) -> Option<Plan> {
    let graphs = model.graphs();
    let orders: Vec<Vec<OpId>> = graphs.iter().map(Graph::file_order).collect();
    let given: Vec<&[OpId]> = orders.iter().map(Vec::as_slice).collect();
    let limits = Limits { work: None, ..options.limits.clone() };
    let limits = limits.working(options.effort.placement_of_loops());
    let facts = TflmFacts::new(&graphs.iter().collect::<Vec<_>>(), kernels);
    let planned = plan_arena(&facts, &given, limits)?;
    let mut orders = orders.into_iter();
    let order = orders.next()?;
    let bodies: Vec<Vec<OpId>> = orders.collect();
    let main = main_graph(graphs, &bodies, plan.model.with_plan());
    let peak = plan.model.with_plan().lifetimes(&main).profile(&order).peak();
    Some(Plan {
        model: plan.model.with_plan(),
        after: Footprint { peak, arena: Some(planned.arena.bytes), ops: graphs[0].ops().len() },
        places: Some(Proof::of(planned.arena.bytes, planned.bound, planned.stopped)),
        offsets: Some(planned.offsets),
        order,
        bodies,
        steering: None,
        bound: 0,
        arena_bound: None,
        proof: Proof::Gap { stopped: StopReason::Heuristic },
        witness: None,
        unknown: main.unknown().to_vec(),
        ..plan
    })
}
