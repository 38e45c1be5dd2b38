//! Turns windows of operators of a planned model into loops over a few rows at a time.

mod applied;
#[cfg(test)]
mod tests;

pub use applied::{AppliedLoop, AppliedLoops};

use applied::applied;

use crate::by_kernels::{needs_by_kernels, needs_no_more};
use crate::checked::plan_faults;
use crate::effort::SHARE_OF_A_SET;
use crate::need::whole_need;
use crate::peak;
use crate::score::{Cost, Trade};
use crate::stages::order::unchecked;
use crate::stages::place::bound_with_loops;
use crate::variant::Changes;
use crate::{Error, Footprint, Input, Need, Optimized, Options, Plan};
use serenity_check::Fault;
use serenity_check::loops::{self as loop_check, LoopFault};
use serenity_formats::{FileError, Problem};
use serenity_ir::{Graph, OpId};
use serenity_loops::{
    Choice, Clusters, Counted, Floor, Joined, Loop, Looped, Spread, Windows, instructions_of,
};
use serenity_runtimes::{Kernels, MemoryModel, TflmFacts, live_peak, main_graph, plans_of_arena};
use serenity_search::{Limits, Proof, StopReason, Watch};

/// Whether windows of operators may become loops over a few rows at a time, and at what cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loops {
    /// How many multiplications the loops may add, as a share of those of the model.
    pub most_extra_macs: f64,
    /// The memory of the device in bytes. If the model fits without loops, it gets none; otherwise the loops that fit
    /// with the fewest multiplications are taken.
    pub enough: Option<u64>,
}

impl Default for Loops {
    /// A tenth more multiplications, for the least memory.
    fn default() -> Self {
        Self { most_extra_macs: 0.1, enough: None }
    }
}

/// An estimate of the effect of loops on a model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoopsEstimate {
    /// The arena in bytes.
    pub arena: u64,
    /// Multiplications added, as a share of those of the model.
    pub extra_macs: f64,
}

/// Estimates the effect of loops on a model that was planned without; `None` if no loops help. No tensor is placed, so
/// this is quick, and a few percent off.
pub fn estimate_loops(found: &Optimized, loops: Loops, options: &Options) -> Option<LoopsEstimate> {
    let kernels = options.model.kernels().filter(|_| options.plan_arena && found.plan.loops.is_none())?;
    let grounds = grounds(found, std::slice::from_ref(&found.plan.order));
    let looked: Vec<Looked> = look(&grounds, &[kernels], loops, options).into_iter().flatten().collect();
    let trade = Trade::new(loops, found);
    let whole = whole_need(&found.model, &found.plan);
    let tail = whole - found.plan.after.needs();
    let without = instructions_of(found.model.graph());
    let needs = |choice: &Choice| choice.bytes + choice.tail + tail;
    let takes = |choice: &Choice| without + choice.extra_instructions;
    let all =
        looked.iter().flat_map(|(_, windows, choices)| choices.iter().map(move |choice| (windows, choice)));
    let are_worth_it = |(_, choice): &(&Windows, &Choice)| {
        needs(choice) < whole && trade.are_worth_it(needs(choice), takes(choice))
    };
    let (windows, best) =
        all.filter(are_worth_it).min_by_key(|(_, choice)| (needs(choice), takes(choice)))?;
    Some(LoopsEstimate {
        arena: best.bytes,
        extra_macs: best.extra_macs as f64 / windows.macs().max(1) as f64,
    })
}

/// The kernels and rules by which loops are searched for and judged.
pub(crate) struct AskedLoops<'a> {
    /// The model as it came: with loops, no set of kernels that may run it may need more.
    pub(crate) came: &'a Input,
    pub(crate) trade: &'a Trade,
    /// The options, with the kernels that loops are chosen for.
    pub(crate) options: &'a Options,
    /// The options, with the kernels that loops are placed for in the end, which allow as much or more.
    pub(crate) target: &'a Options,
    /// The need of the best plan so far. Loops that must need more are not placed.
    pub(crate) need_so_far: u64,
}

impl AskedLoops<'_> {
    /// Are loops chosen for the kernels that they are placed for?
    fn is_for_its_target(&self) -> bool {
        self.options.model == self.target.model
    }

    /// Does every set of kernels that may run the candidate need no more than for the model as it came?
    fn serves_all(&self, candidate: &Candidate, options: &Options) -> bool {
        let Optimized { model, plan, .. } = &candidate.placed;
        needs_no_more(model, plan, self.came, options)
    }
}

/// A planned model with its widest parts as loops, if the trade accepts them and no set of kernels that may run the
/// model needs more than before.
pub(crate) fn with_loops(found: &Optimized, asked: &AskedLoops) -> Result<Option<Optimized>, Error> {
    let options = asked.options;
    let Some(kernels) = options.model.kernels().filter(|_| options.plan_arena) else { return Ok(None) };
    let grounds = grounds(found, &orders_to_try(found, options));
    let looked = look(&grounds, &views(kernels), asked.trade.loops, options);
    let mut search = Search { found, asked, tried: Vec::new(), better: Vec::new() };
    for choice in search.ladder(&looked) {
        if let Some(candidate) = search.first_that_fits(choice)? {
            return search.settled(candidate);
        }
    }
    for choice in search.worth_planning(&looked) {
        search.offer(choice)?;
    }
    while let Some(candidate) = search.better.pop() {
        if let Some(found) = search.settled(candidate)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// A choice among the windows of a ground.
type Chosen<'l, 'g> = (&'g Ground, &'l Windows<'g>, &'l Choice);

/// Plans choices of one model.
struct Search<'a> {
    found: &'a Optimized,
    asked: &'a AskedLoops<'a>,
    tried: Vec<AppliedLoops>,
    /// Each candidate is better than those before it.
    better: Vec<Candidate>,
}

impl Search<'_> {
    /// With a budget: the choices to plan until one fits, the fewest multiplications first. The budget only skips
    /// choices that cannot fit and changes nothing else, so a larger budget never ends with more multiplications.
    fn ladder<'l, 'g>(&self, looked: &'l [Vec<Looked<'g>>]) -> Vec<Chosen<'l, 'g>> {
        let Some(enough) = self.asked.trade.loops.enough else { return Vec::new() };
        let tail = Need::of(&self.found.model, &self.found.plan).to_be_safe() - self.found.plan.after.needs();
        let mut all: Vec<Chosen> = looked.iter().flatten().flat_map(steps_down).collect();
        all.retain(|(.., choice)| needs(choice) + tail <= enough + enough / ESTIMATES_ARE_WITHIN);
        all.sort_by_key(|(.., choice)| (choice.extra_macs, choice.extra_instructions, needs(choice)));
        all
    }

    /// The choices to plan if none fits a budget: the smallest of those that may be worth their time, and the one with
    /// the least memory in use.
    fn worth_planning<'l, 'g>(&self, looked: &'l [Vec<Looked<'g>>]) -> Vec<Chosen<'l, 'g>> {
        let tail = whole_need(&self.found.model, &self.found.plan) - self.found.plan.after.needs();
        let without = instructions_of(self.found.model.graph());
        let may_be_worth_it = |(.., choice): &Chosen| {
            let at_best = needs(choice) - needs(choice) / ESTIMATES_ARE_WITHIN + tail;
            self.asked.trade.are_worth_it(at_best, without + choice.extra_instructions)
        };
        let of_view = |looked: &'l Vec<Looked<'g>>| {
            let mut all: Vec<Chosen> = looked.iter().flat_map(all_of).filter(may_be_worth_it).collect();
            all.sort_by_key(|(.., choice)| (needs(choice), choice.extra_macs));
            let lowest = all.iter().copied().min_by_key(|(.., choice)| choice.bytes);
            // Choices that take fewer instructions, but more multiplications, must not crowd out the others.
            let is_smallest = |(.., choice): &Chosen| {
                let beats = |(.., other): &Chosen| {
                    (other.bytes, other.tail, other.extra_macs)
                        != (choice.bytes, choice.tail, choice.extra_macs)
                        && other.bytes <= choice.bytes
                        && other.tail <= choice.tail
                        && other.extra_macs <= choice.extra_macs
                };
                !all.iter().any(beats)
            };
            let (smallest, quicker): (Vec<Chosen>, Vec<Chosen>) = all.iter().copied().partition(is_smallest);
            let smallest = smallest.into_iter().take(MOST_PLANNED);
            smallest.chain(quicker.into_iter().take(MOST_QUICKER)).chain(lowest).collect::<Vec<_>>()
        };
        looked.iter().flat_map(of_view).collect()
    }

    /// Places a choice with little work; `None` if it was tried before, or cannot be made.
    fn placed(&mut self, (ground, windows, choice): Chosen) -> Result<Option<Candidate>, Error> {
        let Some(applied) = applied(ground, windows.loops(choice), windows.macs()) else { return Ok(None) };
        if self.tried.contains(&applied) {
            return Ok(None);
        }
        self.tried.push(applied.clone());
        self.tell();
        let work = self.asked.options.effort.placement_of_some_loops();
        let Some(made) = Made::new(self.found, ground, applied)? else { return Ok(None) };
        // With a budget, loops that need more may multiply less.
        if self.asked.trade.loops.enough.is_none() && self.cannot_win(&made) {
            return Ok(None);
        }
        let placed = Candidate::new(self.found, made, work, self.asked.trade, self.asked.options);
        Ok(placed.filter(|placed| self.asked.serves_all(placed, self.asked.options)))
    }

    /// Must these loops need more than the best plan so far, wherever their tensors lie? Judged by the memory in use at
    /// once, with the kernels of the target and with those that loops are chosen for.
    fn cannot_win(&self, made: &Made) -> bool {
        let least = |options: &Options| made.least_need(options.model).bytes;
        let best = self.better.last().map_or(u64::MAX, |best| best.cost.need);
        least(self.asked.options) > best || least(self.asked.target) > self.asked.need_so_far
    }

    fn tell(&self) {
        let mut watch = Watch::new(&self.asked.options.limits, self.asked.options.progress.as_ref());
        (watch.of, watch.bound) = ("loops tried", Floor::of(self.found.model.graph()).bytes);
        let best = self.better.last().map_or(self.found, |candidate| &candidate.placed);
        (watch.best, watch.states) = (best.plan.after.needs(), self.tried.len() as u64);
        watch.report();
    }

    /// Places the loops of a candidate again, for these kernels, with the full amount of work.
    fn with_care(&self, candidate: &Candidate, options: &Options) -> Option<Candidate> {
        let mut found = self.found.clone();
        found.plan.model = options.model.with_plan();
        let work = options.effort.placement_of_loops();
        let careful = Candidate::new(&found, candidate.made.clone(), work, self.asked.trade, options);
        careful.filter(|careful| self.asked.serves_all(careful, options))
    }

    /// Places the chosen loops with the full amount of work for the kernels of the target. `None` if the checker cannot
    /// decide that they are right, or if some kernels would need more than before.
    fn settled(&self, candidate: Candidate) -> Result<Option<Optimized>, Error> {
        let AskedLoops { options, target, .. } = *self.asked;
        let mut ways = Vec::new();
        if self.asked.is_for_its_target() {
            ways.extend(if candidate.cost.fits { None } else { self.with_care(&candidate, target) });
            ways.push(candidate);
        } else {
            ways.extend(self.with_care(&candidate, target));
            // A plan for any kernels is right for these as well. But no plan is smaller than the memory in use at once.
            let least = candidate.made.least_need(options.model).bytes;
            if !ways.iter().any(|way| way.cost.need <= least) {
                let careful = self.with_care(&candidate, options);
                let for_others = [careful, Some(candidate)].into_iter().flatten();
                let kept = for_others.map(|one| one.relabelled(target.model, self.asked.trade));
                ways.extend(kept.filter(|kept| self.asked.serves_all(kept, target)));
            }
        }
        ways.sort_by_key(|way| way.cost.score(Changes::LOOPS));
        for way in ways {
            if way.is_right(self.found)? {
                return Ok(Some(way.placed));
            }
        }
        Ok(None)
    }

    /// Places a choice briefly and then with the full amount of work; returns it if it fits the budget, otherwise keeps
    /// it as any other.
    fn first_that_fits(&mut self, choice: Chosen) -> Result<Option<Candidate>, Error> {
        let Some(brief) = self.placed(choice)? else { return Ok(None) };
        let least = brief.made.least_need(self.asked.options.model).to_be_safe();
        let may_fit = self.asked.trade.loops.enough.is_none_or(|enough| least <= enough);
        let is_settled = brief.cost.fits || !may_fit;
        let careful = if is_settled { None } else { self.with_care(&brief, self.asked.options) };
        for one in std::iter::once(brief).chain(careful) {
            if one.cost.fits && one.is_right(self.found)? {
                return Ok(Some(one));
            }
            self.keep(one);
        }
        Ok(None)
    }

    /// Plans a choice, and keeps it if it is better than those before it.
    fn offer(&mut self, choice: Chosen) -> Result<(), Error> {
        if let Some(candidate) = self.placed(choice)? {
            self.keep(candidate);
        }
        Ok(())
    }

    fn keep(&mut self, candidate: Candidate) {
        let is_beaten = |best: &Candidate| !candidate.cost.is_better_than(&best.cost);
        if self.asked.trade.accepts(&candidate.cost) && !self.better.last().is_some_and(is_beaten) {
            self.better.push(candidate);
        }
    }
}

/// Estimated bytes of a choice, including what it adds to the tail.
fn needs(choice: &Choice) -> u64 {
    choice.bytes + choice.tail
}

fn all_of<'l, 'g>((ground, windows, choices): &'l Looked<'g>) -> impl Iterator<Item = Chosen<'l, 'g>> {
    choices.iter().map(move |choice| (*ground, windows, choice))
}

/// Choices with ever more multiplications, each needing less than the one before by one part in [`A_STEP_DOWN`]; and
/// the one that needs least.
fn steps_down<'l, 'g>(looked: &'l Looked<'g>) -> Vec<Chosen<'l, 'g>> {
    let mut all: Vec<Chosen> = all_of(looked).collect();
    all.sort_by_key(|(.., choice)| (choice.extra_macs, choice.extra_instructions, needs(choice)));
    let lowest = all.iter().copied().min_by_key(|(.., choice)| needs(choice));
    let mut below = u64::MAX;
    all.retain(|(.., choice)| {
        let is_step = needs(choice) < below - below / A_STEP_DOWN;
        if is_step {
            below = needs(choice);
        }
        is_step
    });
    all.into_iter().chain(lowest).collect()
}

/// How many choices of one view are planned to the end.
const MOST_PLANNED: usize = 6;
/// How many choices are planned in addition that take fewer instructions for more multiplications.
const MOST_QUICKER: usize = 2;
/// Plans differ from their estimates by at most one part in this many.
const ESTIMATES_ARE_WITHIN: u64 = 30;
/// Choices that differ by less than one part in this many are not told apart.
const A_STEP_DOWN: u64 = 100;

/// A ground, its windows, and what can be chosen among them.
type Looked<'g> = (&'g Ground, Windows<'g>, Vec<Choice>);

/// What can be chosen on these grounds, for each of these kernels.
fn look<'g>(
    grounds: &'g [Ground],
    kernels: &[Kernels],
    loops: Loops,
    options: &Options,
) -> Vec<Vec<Looked<'g>>> {
    let is_over = || options.limits.are_over();
    let are_emitted = options.model.kernels().is_some_and(Kernels::are_emitted);
    let counted = if are_emitted { Counted::Multiplications } else { Counted::InstructionsToo };
    let mut looked: Vec<Vec<Looked>> = kernels.iter().map(|_| Vec::new()).collect();
    for ground in grounds {
        let windows = Windows::by_kernels(&ground.graphs, &ground.order, kernels, is_over);
        for (at, windows) in windows.into_iter().flatten().enumerate() {
            let choices = windows.choices((windows.macs() as f64 * loops.most_extra_macs) as u64, counted);
            looked[at].push((ground, windows, choices));
        }
    }
    looked
}

/// The kernels that windows are searched with. One plan can seldom use all overlaps that kernels allow: windows that
/// seem to gain nothing with them may gain much.
fn views(kernels: Kernels) -> Vec<Kernels> {
    if kernels == Kernels::Any { vec![kernels] } else { vec![kernels, Kernels::Any] }
}

/// A model in a certain order, in which windows are searched for.
pub struct Ground {
    /// The planned order of the model.
    before: Vec<OpId>,
    /// The graphs of the model, the main one first.
    pub graphs: Vec<Graph>,
    /// The order of the main graph.
    pub order: Vec<OpId>,
    /// If the ops differ from those of the model: the op of the model that each stands for.
    origins: Option<Vec<OpId>>,
}

impl Ground {
    /// The model in its planned order, unchanged.
    pub fn planned(graphs: &[Graph], order: &[OpId]) -> Self {
        Self { before: order.to_vec(), graphs: graphs.to_vec(), order: order.to_vec(), origins: None }
    }

    /// The model with a separate padding per reader; `None` if that is so already.
    pub fn spread(graphs: &[Graph], order: &[OpId]) -> Option<Self> {
        let spread = Spread::new(graphs, order)?;
        Some(Self {
            before: order.to_vec(),
            order: spread.graphs[0].file_order(),
            graphs: spread.graphs,
            origins: Some(spread.origins),
        })
    }

    /// The graphs with these loops; `None` if one cannot be made.
    pub fn looped(&self, loops: &[Loop]) -> Option<Looped> {
        let looped = Looped::new(&self.graphs, &self.order, loops)?;
        Some(match &self.origins {
            Some(origins) => looped.of(origins),
            None => looped,
        })
    }
}

/// The planned order, and others that keep windows together.
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

/// The model in these orders, each also with a separate padding per reader.
fn grounds(found: &Optimized, orders: &[Vec<OpId>]) -> Vec<Ground> {
    let graphs = found.model.graphs();
    let of_order = |order: &Vec<OpId>| [Some(Ground::planned(graphs, order)), Ground::spread(graphs, order)];
    orders.iter().flat_map(of_order).flatten().collect()
}

/// A model with loops, not yet placed.
#[derive(Clone)]
struct Made {
    applied: AppliedLoops,
    looped: Looped,
    model: Input,
}

impl Made {
    /// `None` if the loops cannot be made.
    fn new(found: &Optimized, ground: &Ground, applied: AppliedLoops) -> Result<Option<Self>, Error> {
        let loops: Vec<Loop> = applied.windows.iter().map(AppliedLoop::to_loop).collect();
        let Some(looped) = ground.looped(&loops) else { return Ok(None) };
        match found.model.file.looped(&looped) {
            Ok(file) => Ok(Some(Self { applied, looped, model: found.model.with_file(file) })),
            Err(FileError { problem: Problem::CannotKeep, .. }) => Ok(None),
            Err(source) => Err(Error::File { path: found.model.name.clone(), source }),
        }
    }

    /// A lower bound on what a device must have for these loops, wherever tensors lie.
    fn least_need(&self, model: MemoryModel) -> Need {
        let graphs: Vec<&Graph> = self.model.graphs().iter().collect();
        let own: Vec<Vec<OpId>> = graphs.iter().map(|graph| graph.file_order()).collect();
        let orders: Vec<&[OpId]> = own.iter().map(Vec::as_slice).collect();
        let live = model.kernels().and_then(|kernels| live_peak(&TflmFacts::new(&graphs, kernels), &orders));
        Need::with(self.model.tail(model), live.unwrap_or(0))
    }
}

/// A model with loops and their offsets, one of the choices.
struct Candidate {
    made: Made,
    placed: Optimized,
    cost: Cost,
}

impl Candidate {
    /// Places the loops with `work`; `None` if no offsets are found.
    fn new(found: &Optimized, made: Made, work: u64, trade: &Trade, options: &Options) -> Option<Self> {
        let plan = place(&made.model, found.plan.clone(), work, options)?;
        let plan = Plan { loops: Some(made.applied.clone()), ..plan };
        let placed = Optimized::new(made.model.clone(), plan);
        Some(Self { cost: trade.cost(&placed), made, placed })
    }

    /// Keeps the offsets, for a memory model whose kernels allow as much or more.
    fn relabelled(mut self, model: MemoryModel, trade: &Trade) -> Self {
        let plan = &mut self.placed.plan;
        plan.model = model.with_plan();
        let arena = needs_by_kernels(&self.placed.model, plan).first().map(|need| need.arena);
        let Plan { order, bodies, offsets, model, .. } = &*plan;
        let peak =
            peak::profile(self.placed.model.graphs(), (order, bodies), *model, offsets.as_ref()).peak();
        plan.after = Footprint { peak, arena: arena.or(plan.after.arena), ..plan.after };
        plan.places = Some(Proof::Gap { stopped: StopReason::Heuristic });
        Self { cost: trade.cost(&self.placed), ..self }
    }

    /// Has the independent checker followed the loops and found nothing wrong? Loops that it cannot decide are not
    /// taken.
    fn is_right(&self, found: &Optimized) -> Result<bool, Error> {
        let Optimized { model, plan, .. } = &self.placed;
        let (Some(kernels), Some(offsets)) = (plan.model.kernels(), &plan.offsets) else { return Ok(false) };
        let mut faults = plan_faults(&all(model.graphs()), plan, None);
        let Made { applied, looped, .. } = &self.made;
        let made = LoopedModel { before: &found.model, order: &applied.order, looped, model };
        let arena = loop_check::Plan { kernels, offsets };
        let in_loops = made.faults(&plan.orders(), Some(&arena));
        let (undecided, wrong): (Vec<LoopFault>, Vec<LoopFault>) =
            in_loops.into_iter().partition(LoopFault::is_undecided);
        faults.extend(wrong.into_iter().map(Fault::Loop));
        if faults.is_empty() {
            Ok(undecided.is_empty())
        } else {
            Err(Error::CheckFailed { graph: plan.graph.clone(), faults })
        }
    }
}

/// A model with loops, and the model that they were made of.
pub struct LoopedModel<'a> {
    /// The model without loops.
    pub before: &'a Input,
    /// The order of the model without loops.
    pub order: &'a [OpId],
    /// The graphs with loops.
    pub looped: &'a Looped,
    /// The model with loops.
    pub model: &'a Input,
}

impl LoopedModel<'_> {
    /// The faults that the independent checker finds in the loops, followed row by row in these orders: in the arena of
    /// a plan, if there is one.
    pub fn faults(&self, orders_after: &[&[OpId]], plan: Option<&loop_check::Plan>) -> Vec<LoopFault> {
        let (before, after) = (all(self.before.graphs()), all(self.model.graphs()));
        let own: Vec<Vec<OpId>> = self.before.graphs()[1..].iter().map(Graph::file_order).collect();
        let orders_before =
            std::iter::once(self.order).chain(own.iter().map(Vec::as_slice)).collect::<Vec<_>>();
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

/// Places the tensors of a model with loops, in its own order.
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
    // The best placement for one of several sets of kernels may be as good for all.
    let by_set = facts.by_set();
    let others = by_set.iter().skip(1).chain((!by_set.is_empty()).then_some(&facts));
    let others = others.flat_map(|facts| plan_as(facts, SHARE_OF_A_SET));
    let all = plan_as(by_set.first().unwrap_or(&facts), 1).into_iter().chain(others);
    let planned = all.min_by_key(|planned| (planned.of_all_sets, planned.arena.bytes))?;
    let mut orders = orders.into_iter();
    let order = orders.next()?;
    let bodies: Vec<Vec<OpId>> = orders.collect();
    let places = Some(&planned.offsets);
    let peak = peak::profile(graphs, (&order, &bodies), plan.model.with_plan(), places).peak();
    let main = main_graph(graphs, &bodies, plan.model.with_plan());
    Some(Plan {
        model: plan.model.with_plan(),
        after: Footprint { peak, arena: Some(planned.arena.bytes), ops: graphs[0].ops().len() },
        places: Some(Proof::of(planned.arena.bytes, planned.bound, planned.stopped)),
        offsets: Some(planned.offsets),
        order,
        bodies,
        steering: None,
        bound: bound_with_loops(graphs),
        arena_bound: None,
        proof: Proof::Gap { stopped: StopReason::Heuristic },
        witness: None,
        unknown: main.unknown().to_vec(),
        ..plan
    })
}
