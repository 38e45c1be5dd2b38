//! Windows of a planned model as loops.

use crate::plan_check::plan_faults;
use crate::rewrite::whole_need;
use crate::{Error, Footprint, Input, Optimized, Options, Plan};
use serenity_check::Fault;
use serenity_check::loops::{self as loop_check, LoopFault};
use serenity_formats::{FileError, Problem};
use serenity_ir::{Graph, OpId};
use serenity_loops::{Choice, Loop, LoopCost, Looped, Windows};
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
    /// The order of the model before, in which its windows are.
    pub order: Vec<OpId>,
    /// Each of them.
    pub loops: Vec<Loop>,
    /// What each of them takes.
    pub costs: Vec<LoopCost>,
    /// The names of the first and the last op of each, for people.
    pub ends: Vec<[String; 2]>,
    /// Multiplications of the row-local operators before.
    pub macs: u64,
    /// Multiplications that the loops add.
    pub extra_macs: u64,
}

/// The same model with its widest parts as loops, if it then needs less; otherwise as it is.
pub(crate) fn with_loops(found: Optimized, loops: Loops, options: &Options) -> Result<Optimized, Error> {
    let Some(kernels) = options.model.kernels().filter(|_| options.plan_arena) else { return Ok(found) };
    let is_over = || options.limits.are_over();
    let Some(windows) = Windows::new(found.model.graphs(), &found.plan.order, kernels, u64::MAX, is_over)
    else {
        return Ok(found);
    };
    let most = (windows.macs() as f64 * loops.most_extra_macs) as u64;
    let mut choices = windows.choices(most);
    // The least memory in use comes first, then what a device needs in all.
    let lowest: Vec<Choice> = choices.iter().take(1).cloned().collect();
    choices.sort_by_key(|choice| choice.bytes + choice.tail);
    choices.truncate(MOST_PLANNED);
    let mut best = found.clone();
    for choice in lowest.iter().chain(&choices) {
        if let Some(looped) = planned(&found, &windows, choice, kernels, options)?
            && whole_need(&looped.model, &looped.plan) < whole_need(&best.model, &best.plan)
        {
            best = looped;
        }
    }
    Ok(best)
}

/// Choices that are planned to the end.
const MOST_PLANNED: usize = 4;

fn planned(
    found: &Optimized,
    windows: &Windows,
    choice: &Choice,
    kernels: Kernels,
    options: &Options,
) -> Result<Option<Optimized>, Error> {
    let loops = windows.loops(choice);
    let Some(looped) = Looped::new(found.model.graphs(), &found.plan.order, &loops) else { return Ok(None) };
    let model = match found.model.file.looped(&looped) {
        Ok(file) => found.model.with_file(file),
        Err(FileError { problem: Problem::CannotKeep, .. }) => return Ok(None),
        Err(source) => return Err(Error::File { path: found.model.name.clone(), source }),
    };
    let before = found.model.graph();
    let costs: Option<Vec<LoopCost>> = loops.iter().map(|one| one.cost(before)).collect();
    let Some(costs) = costs else { return Ok(None) };
    let name = |op: Option<&OpId>| op.map_or_else(String::new, |&op| before.op_label(op));
    let ends = loops.iter().map(|one| [name(one.ops.first()), name(one.ops.last())]);
    let loops = AppliedLoops {
        order: found.plan.order.clone(),
        ends: ends.collect(),
        macs: windows.macs(),
        extra_macs: costs.iter().map(|cost| cost.extra_macs).sum(),
        costs,
        loops,
    };
    let Some(plan) = place(&model, found.plan.clone(), kernels, options) else { return Ok(None) };
    let mut found_wrong = plan_faults(&all(model.graphs()), &plan, None);
    let made = Made { before: &found.model, order: &found.plan.order, looped: &looped, model: &model };
    let in_loops = plan.offsets.as_ref().map_or_else(Vec::new, |offsets| {
        made.faults(&orders(&plan.order, &plan.bodies), Some(&loop_check::Plan { kernels, offsets }))
    });
    if in_loops.iter().any(LoopFault::is_undecided) {
        return Ok(None);
    }
    found_wrong.extend(in_loops.into_iter().map(Fault::Loop));
    if !found_wrong.is_empty() {
        return Err(Error::CheckFailed { graph: plan.graph, faults: found_wrong });
    }
    Ok(Some(Optimized { model, plan: Plan { loops: Some(loops), ..plan } }))
}

/// Loops that were made of a model.
pub(crate) struct Made<'a> {
    /// The model before.
    pub(crate) before: &'a Input,
    /// Its order.
    pub(crate) order: &'a [OpId],
    /// Its graphs with loops.
    pub(crate) looped: &'a Looped,
    /// The model with loops.
    pub(crate) model: &'a Input,
}

impl Made<'_> {
    /// What the independent checker finds wrong with them in these orders, followed row by row: in the arena of a plan, if there is one.
    pub(crate) fn faults(&self, orders_after: &[&[OpId]], plan: Option<&loop_check::Plan>) -> Vec<LoopFault> {
        let (before, after) = (all(self.before.graphs()), all(self.model.graphs()));
        let own: Vec<Vec<OpId>> = self.before.graphs()[1..].iter().map(Graph::file_order).collect();
        let orders_before = orders(self.order, &own);
        let none = |_: usize, _: OpId, _: usize| None;
        let numbers = |graph: usize, op: OpId, position| self.looped.numbers(graph, op, position);
        let before = loop_check::Model { graphs: &before, orders: &orders_before, numbers: &none };
        let after = loop_check::Model { graphs: &after, orders: orders_after, numbers: &numbers };
        match plan {
            Some(plan) => loop_check::replay_loops(&before, &after, &self.looped.origins, plan),
            None => loop_check::equivalence_faults(&before, &after, &self.looped.origins),
        }
    }
}

fn all(graphs: &[Graph]) -> Vec<&Graph> {
    graphs.iter().collect()
}

/// All orders of a model, that of its main graph first.
pub(crate) fn orders<'a>(main: &'a [OpId], bodies: &'a [Vec<OpId>]) -> Vec<&'a [OpId]> {
    std::iter::once(main).chain(bodies.iter().map(Vec::as_slice)).collect()
}

/// The plan of a model with loops, in its own order.
fn place(model: &Input, plan: Plan, kernels: Kernels, options: &Options) -> Option<Plan> {
    let graphs = model.graphs();
    let orders: Vec<Vec<OpId>> = graphs.iter().map(Graph::file_order).collect();
    let given: Vec<&[OpId]> = orders.iter().map(Vec::as_slice).collect();
    let limits = Limits { work: None, ..options.limits.clone() };
    let limits = limits.working(options.effort.placement());
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
