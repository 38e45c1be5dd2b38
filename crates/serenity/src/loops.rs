//! Windows of a planned model as loops.

use crate::by_kernels::{mean_need, needs_by_kernels, needs_no_more};
use crate::effort::SHARE_OF_A_SET;
use crate::need::whole_need;
use crate::order::unchecked;
use crate::plan_check::plan_faults;
use crate::{Error, Footprint, Input, Need, Optimized, Options, Plan};
use serenity_check::Fault;
use serenity_check::loops::{self as loop_check, LoopFault};
use serenity_formats::{FileError, Problem};
use serenity_ir::{Graph, OpId};
use serenity_loops::{Choice, Clusters, Floor, Joined, Loop, LoopCost, Looped, Spread, Windows, time_of};
use serenity_runtimes::{Kernels, MemoryModel, TflmFacts, main_graph, plans_of_arena};
use serenity_search::{Limits, Proof, StopReason, Watch};

/// Whether windows of operators may become loops over a few rows at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loops {
    /// How many multiplications more they may take, as a share of those that there are.
    pub most_extra_macs: f64,
    /// What a device has. With loops that fit it there is no need for others that multiply more, nor for any if the model fits without.
    pub enough: Option<u64>,
}

impl Default for Loops {
    /// A tenth more multiplications, for the least memory.
    fn default() -> Self {
        Self { most_extra_macs: 0.1, enough: None }
    }
}

/// The loops of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct AppliedLoops {
    /// The order of the model before.
    pub order: Vec<OpId>,
    /// Did every reader of a padding get one of its own in that order first? Then ops and tensors are numbered as they are in [`Spread`].
    pub spread: bool,
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
    /// What a run takes without loops, by estimate: in multiplications of portable kernels.
    pub time: u64,
    /// What the loops add to it.
    pub extra_time: u64,
    /// What no loops of this model get below.
    pub floor: Floor,
}

/// What loops would make of a model, by estimate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoopsEstimate {
    /// The arena.
    pub arena: u64,
    /// Multiplications more, as a share of those that there are.
    pub extra_macs: f64,
}

/// What loops would make of a model that was planned without; `None` if nothing. Nothing is placed, so it is quick, and a few per cent off.
pub fn estimate_loops(found: &Optimized, loops: Loops, options: &Options) -> Option<LoopsEstimate> {
    let kernels = options.model.kernels().filter(|_| options.plan_arena && found.plan.loops.is_none())?;
    let grounds = grounds(found, std::slice::from_ref(&found.plan.order));
    let looked = look(&grounds, kernels, loops, options);
    let all =
        looked.iter().flat_map(|(_, windows, choices)| choices.iter().map(move |choice| (windows, choice)));
    let (windows, best) = all.min_by_key(|(_, choice)| choice.bytes + choice.tail)?;
    let tail = whole_need(&found.model, &found.plan) - found.plan.after.needs();
    (best.bytes + best.tail + tail < whole_need(&found.model, &found.plan)).then(|| LoopsEstimate {
        arena: best.bytes,
        extra_macs: best.extra_macs as f64 / windows.macs().max(1) as f64,
    })
}

/// The same model with its widest parts as loops, if it then needs less, and no more than the one that came whichever kernels run it; otherwise as it is. Loops are chosen by the kernels
/// of `options`, and placed in the end for those of `target`, which allow as much or more.
pub(crate) fn with_loops(
    found: Optimized,
    came: &Input,
    loops: Loops,
    options: &Options,
    target: &Options,
) -> Result<Optimized, Error> {
    let Some(kernels) = options.model.kernels().filter(|_| options.plan_arena) else { return Ok(found) };
    if loops.are_enough(&found) {
        return Ok(found);
    }
    let grounds = grounds(&found, &orders_to_try(&found, options));
    let (some, all) = (options.effort.placement_of_some_loops(), options.effort.placement_of_loops());
    // What is enough for all kernels grows by no more than ports differ anyway.
    let most = whole_need(&found.model, &found.plan);
    let most = most + most / 100;
    let serves_all = |Candidate { placed: Optimized { model, plan }, .. }: &Candidate| {
        whole_need(model, plan) <= most && needs_no_more(model, plan, came, options)
    };
    // Each is better than those before it.
    let mut better: Vec<Candidate> = Vec::new();
    let mut tried: Vec<AppliedLoops> = Vec::new();
    let mut watch = Watch::new(&options.limits, options.progress.as_ref());
    (watch.of, watch.bound) = ("loops tried", Floor::of(found.model.graph()).bytes);
    for view in views(kernels) {
        let looked = look(&grounds, view, loops, options);
        for (ground, windows, choice) in worth_planning(&looked, &found, loops) {
            let Some(applied) = applied(ground, windows.loops(choice), windows.macs()) else { continue };
            if tried.contains(&applied) {
                continue;
            }
            tried.push(applied.clone());
            let best = better.last().map_or(&found, |candidate| &candidate.placed);
            (watch.best, watch.states) = (best.plan.after.needs(), tried.len() as u64);
            watch.report();
            let Some(candidate) = Candidate::new(&found, ground, applied, some, options)? else { continue };
            if loops.prefer(&candidate.placed, best) && serves_all(&candidate) {
                if loops.are_enough(&candidate.placed) && candidate.is_right(&found) {
                    return candidate.settled(&found, came, loops, target);
                }
                better.push(candidate);
            }
        }
    }
    while let Some(candidate) = better.pop() {
        // What is chosen is placed with all the care there is.
        let applied = candidate.applied.clone();
        let careful = Candidate::new(&found, candidate.ground, applied, all, options)?
            .filter(|careful| loops.prefer(&careful.placed, &candidate.placed) && serves_all(careful));
        for one in careful.into_iter().chain([candidate]) {
            if one.is_right(&found) {
                return one.settled(&found, came, loops, target);
            }
        }
    }
    Ok(found)
}

impl Loops {
    /// Does a model fit what a device has?
    pub(crate) fn are_enough(&self, optimized: &Optimized) -> bool {
        self.enough.is_some_and(|enough| Need::of(&optimized.model, &optimized.plan).to_be_safe() <= enough)
    }

    /// Is one better than another? If both fit, the one that multiplies less; otherwise the one that needs less on a device, in the mean of the kernels that may run it. What a
    /// runtime keeps besides the arena differs from port to port by more than a hundredth: within that, the smaller arena, which for loops must be smaller by more than a hundredth than without.
    pub(crate) fn prefer(&self, one: &Optimized, other: &Optimized) -> bool {
        match (self.are_enough(one), self.are_enough(other)) {
            (true, true) => return extra_macs(one) < extra_macs(other),
            (false, false) => {}
            (fits, _) => return fits,
        }
        let (need_one, arena) = mean_need(one);
        let (need_other, other_arena) = mean_need(other);
        if need_one.abs_diff(need_other) > need_other / 100 {
            return need_one < need_other;
        }
        match (one.plan.loops.is_some(), other.plan.loops.is_some()) {
            (true, false) => arena < other_arena - other_arena / 100,
            (false, true) => arena - arena / 100 <= other_arena,
            _ => (arena, need_one) < (other_arena, need_other),
        }
    }
}

/// Multiplications that the loops of a model add.
pub(crate) fn extra_macs(optimized: &Optimized) -> u64 {
    optimized.plan.loops.as_ref().map_or(0, |loops| loops.extra_macs)
}

/// A ground, its windows, and what can be chosen among them.
type Looked<'g> = (&'g Ground, Windows<'g>, Vec<Choice>);

fn look<'g>(grounds: &'g [Ground], kernels: Kernels, loops: Loops, options: &Options) -> Vec<Looked<'g>> {
    let is_over = || options.limits.are_over();
    let looked = grounds.iter().filter_map(|ground| {
        let windows = Windows::new(&ground.graphs, &ground.order, kernels, is_over)?;
        let choices = windows.choices((windows.macs() as f64 * loops.most_extra_macs) as u64);
        Some((ground, windows, choices))
    });
    looked.collect()
}

/// Kernels as which windows are looked at. What those save that write over their inputs is seldom all to be had in one plan: windows that seem to gain nothing with
/// them may gain much.
fn views(kernels: Kernels) -> Vec<Kernels> {
    if kernels == Kernels::Any { vec![kernels] } else { vec![kernels, Kernels::Any] }
}

/// Choices in the order in which they are planned: those that may be enough by their multiplications, then by what a device needs in all. The one with the least
/// memory in use is always among them.
fn worth_planning<'l, 'g>(
    looked: &'l [Looked<'g>],
    found: &Optimized,
    loops: Loops,
) -> Vec<(&'g Ground, &'l Windows<'g>, &'l Choice)> {
    let tail = Need::of(&found.model, &found.plan).to_be_safe() - found.plan.after.needs();
    let mut all: Vec<_> = looked
        .iter()
        .flat_map(|(ground, windows, choices)| choices.iter().map(move |choice| (*ground, windows, choice)))
        .collect();
    all.sort_by_key(|(.., choice)| {
        let need = choice.bytes + choice.tail;
        let may_be_enough =
            loops.enough.is_some_and(|enough| need + tail <= enough + enough / ESTIMATES_ARE_WITHIN);
        if may_be_enough { (false, choice.extra_macs, need) } else { (true, need, choice.extra_macs) }
    });
    let lowest = all.iter().copied().min_by_key(|(.., choice)| choice.bytes);
    let (first, rest) = all.split_at(all.len().min(MOST_PLANNED));
    let mut chosen = first.to_vec();
    chosen
        .extend(lowest.filter(|(.., lowest)| rest.iter().any(|(.., choice)| std::ptr::eq(*choice, *lowest))));
    chosen
}

/// Choices of one view that are planned to the end.
const MOST_PLANNED: usize = 6;
/// Plans differ from their estimates by one part in so many, or less.
const ESTIMATES_ARE_WITHIN: u64 = 30;

/// A model in an order in which windows are looked for.
pub(crate) struct Ground {
    /// The order of the model.
    before: Vec<OpId>,
    pub(crate) graphs: Vec<Graph>,
    pub(crate) order: Vec<OpId>,
    /// If ops are not those of the model: which of its ops each is.
    origins: Option<Vec<OpId>>,
}

impl Ground {
    /// The model as it is.
    pub(crate) fn planned(graphs: &[Graph], order: &[OpId]) -> Self {
        Self { before: order.to_vec(), graphs: graphs.to_vec(), order: order.to_vec(), origins: None }
    }

    /// With one padding a reader; `None` if that is so already.
    pub(crate) fn spread(graphs: &[Graph], order: &[OpId]) -> Option<Self> {
        let spread = Spread::new(graphs, order)?;
        Some(Self {
            before: order.to_vec(),
            order: spread.graphs[0].file_order(),
            graphs: spread.graphs,
            origins: Some(spread.origins),
        })
    }

    /// Its graphs with loops; `None` if one cannot be made.
    pub(crate) fn looped(&self, loops: &[Loop]) -> Option<Looped> {
        let looped = Looped::new(&self.graphs, &self.order, loops)?;
        Some(match &self.origins {
            Some(origins) => looped.of(origins),
            None => looped,
        })
    }
}

/// The order that was planned, and others that keep windows together.
fn orders_to_try(found: &Optimized, options: &Options) -> Vec<Vec<OpId>> {
    let main = found.model.graph();
    let limits = options.limits.working(options.effort.states_of_a_set());
    let plain = Options { model: MemoryModel::Plain, limits, ..options.clone() };
    let mut orders = vec![found.plan.order.clone()];
    for joined in [Joined::Concatenations, Joined::All] {
        let Some(clusters) = Clusters::new(main, joined) else { continue };
        let order = clusters.order(&unchecked(&clusters.graph, &plain).order);
        if !orders.contains(&order) {
            orders.push(order);
        }
    }
    orders
}

/// The model in some orders, each also with one padding a reader.
fn grounds(found: &Optimized, orders: &[Vec<OpId>]) -> Vec<Ground> {
    let graphs = found.model.graphs();
    let of_order = |order: &Vec<OpId>| [Some(Ground::planned(graphs, order)), Ground::spread(graphs, order)];
    orders.iter().flat_map(of_order).flatten().collect()
}

/// Loops with all that is said of them; `None` if one cannot be made.
fn applied(ground: &Ground, loops: Vec<Loop>, macs: u64) -> Option<AppliedLoops> {
    let main = &ground.graphs[0];
    let costs: Vec<LoopCost> = loops.iter().map(|one| one.cost(main)).collect::<Option<_>>()?;
    let name = |op: Option<&OpId>| op.map_or_else(String::new, |&op| main.op_label(op));
    Some(AppliedLoops {
        order: ground.before.clone(),
        spread: ground.origins.is_some(),
        ends: loops.iter().map(|one| [name(one.ops.first()), name(one.ops.last())]).collect(),
        macs,
        extra_macs: costs.iter().map(|cost| cost.extra_macs).sum(),
        time: time_of(main),
        floor: Floor::of(main),
        extra_time: costs.iter().map(|cost| cost.extra_time).sum(),
        costs,
        loops,
    })
}

/// A model with loops that may be chosen.
struct Candidate<'g> {
    ground: &'g Ground,
    applied: AppliedLoops,
    looped: Looped,
    placed: Optimized,
}

impl<'g> Candidate<'g> {
    /// With so much work on its places; `None` if it cannot be.
    fn new(
        found: &Optimized,
        ground: &'g Ground,
        applied: AppliedLoops,
        work: u64,
        options: &Options,
    ) -> Result<Option<Self>, Error> {
        let Some(looped) = ground.looped(&applied.loops) else { return Ok(None) };
        let model = match found.model.file.looped(&looped) {
            Ok(file) => found.model.with_file(file),
            Err(FileError { problem: Problem::CannotKeep, .. }) => return Ok(None),
            Err(source) => return Err(Error::File { path: found.model.name.clone(), source }),
        };
        let Some(plan) = place(&model, found.plan.clone(), work, options) else { return Ok(None) };
        let plan = Plan { loops: Some(applied.clone()), ..plan };
        Ok(Some(Self { ground, applied, looped, placed: Optimized { model, plan } }))
    }

    /// The choice is made. If it was made for other kernels than those of `target`: the same loops for those, placed anew or where they are, whichever is better.
    fn settled(
        self,
        found: &Optimized,
        came: &Input,
        loops: Loops,
        target: &Options,
    ) -> Result<Optimized, Error> {
        let model = target.model.with_plan();
        if self.placed.plan.model == model {
            return Ok(self.placed);
        }
        let mut kept = self.placed.clone();
        kept.plan.model = model;
        let arena = needs_by_kernels(&kept.model, &kept.plan).first().map(|need| need.arena);
        let peak = peak_with_plan(&kept.model, model, &kept.plan.order, &kept.plan.bodies);
        kept.plan.after = Footprint { peak, arena: arena.or(kept.plan.after.arena), ..kept.plan.after };
        kept.plan.places = Some(Proof::Gap { stopped: StopReason::Heuristic });
        let mut for_target = found.clone();
        for_target.plan.model = model;
        let work = target.effort.placement_of_loops();
        let anew = Self::new(&for_target, self.ground, self.applied.clone(), work, target)?
            .filter(|anew| loops.prefer(&anew.placed, &kept));
        let kept = Self { placed: kept, ..self };
        let mut ways = anew.into_iter().chain([kept]).filter(|Self { placed, .. }| {
            // Kernels that are not counted among those of any kind may need more.
            needs_no_more(&placed.model, &placed.plan, came, target)
        });
        Ok(ways.find(|way| way.is_right(found)).map_or_else(|| found.clone(), |way| way.placed))
    }

    /// Does the independent checker find nothing wrong with it? That would be a bug, and no reason to leave somebody with nothing: other loops may do. What it cannot decide is
    /// not taken either.
    fn is_right(&self, found: &Optimized) -> bool {
        let Optimized { model, plan } = &self.placed;
        let (Some(kernels), Some(offsets)) = (plan.model.kernels(), &plan.offsets) else { return false };
        let mut found_wrong = plan_faults(&all(model.graphs()), plan, None);
        let made = Made { before: &found.model, order: &self.applied.order, looped: &self.looped, model };
        let plan = loop_check::Plan { kernels, offsets };
        let in_loops = made.faults(&orders(&self.placed.plan.order, &self.placed.plan.bodies), Some(&plan));
        if in_loops.iter().any(LoopFault::is_undecided) {
            return false;
        }
        found_wrong.extend(in_loops.into_iter().map(Fault::Loop));
        debug_assert!(found_wrong.is_empty(), "loops that fail their check: {found_wrong:?}");
        found_wrong.is_empty()
    }
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

/// What is alive at most if the arena is planned for some kernels.
fn peak_with_plan(model: &Input, kernels: MemoryModel, order: &[OpId], bodies: &[Vec<OpId>]) -> u64 {
    let main = main_graph(model.graphs(), bodies, kernels);
    kernels.lifetimes(&main).profile(order).peak()
}

/// The plan of a model with loops, in its own order.
fn place(model: &Input, plan: Plan, work: u64, options: &Options) -> Option<Plan> {
    let kernels = options.model.kernels()?;
    let graphs = model.graphs();
    let orders: Vec<Vec<OpId>> = graphs.iter().map(Graph::file_order).collect();
    let given: Vec<&[OpId]> = orders.iter().map(Vec::as_slice).collect();
    let facts = TflmFacts::new(&graphs.iter().collect::<Vec<_>>(), kernels);
    let plan_as = |facts: &TflmFacts, share: u64| {
        let limits = Limits { work: None, ..options.limits.clone() };
        plans_of_arena(facts, &given, limits.working(work / share)).unwrap_or_default()
    };
    // What is best for one of several sets of kernels may be as good for all.
    let by_set = facts.by_set();
    let others = by_set.iter().skip(1).chain((!by_set.is_empty()).then_some(&facts));
    let others = others.flat_map(|facts| plan_as(facts, SHARE_OF_A_SET));
    let all = plan_as(by_set.first().unwrap_or(&facts), 1).into_iter().chain(others);
    let planned = all.min_by_key(|planned| (planned.of_all_sets, planned.arena.bytes))?;
    let mut orders = orders.into_iter();
    let order = orders.next()?;
    let bodies: Vec<Vec<OpId>> = orders.collect();
    let peak = peak_with_plan(model, plan.model.with_plan(), &order, &bodies);
    let main = main_graph(graphs, &bodies, plan.model.with_plan());
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
