//! Judges orders by the arena that the runtime will use.

use crate::effort::{MOST_ORDERS, SHARE_OF_A_SET};
use crate::stages::refine::{self, Cost, Judged};
use crate::{Options, Plan};
use serenity_ir::{Graph, Lifetimes, OpId};
use serenity_runtimes::{
    MemoryModel, MemoryModelExt, Offsets, Planned, TflmFacts, live_by_step, live_peak, plans_of_arena,
};
use serenity_schedule::Algorithm;
use serenity_search::{Limits, StopReason};
use std::collections::BTreeSet;

/// Compares orders of one model.
pub(crate) struct Judge<'a> {
    graphs: Vec<&'a Graph>,
    /// The main graph, whose ops include the memory of their sub-graphs.
    main: &'a Graph,
    /// The orders of the sub-graphs.
    bodies: &'a [Vec<OpId>],
    options: &'a Options,
    lifetimes: Lifetimes,
}

impl<'a> Judge<'a> {
    pub(crate) fn new(
        graphs: &'a [Graph],
        main: &'a Graph,
        bodies: &'a [Vec<OpId>],
        options: &'a Options,
    ) -> Self {
        let lifetimes = options.model.lifetimes(main);
        Self { graphs: graphs.iter().collect(), main, bodies, options, lifetimes }
    }

    fn orders<'b>(&'b self, main: &'b [OpId]) -> Vec<&'b [OpId]> {
        std::iter::once(main).chain(self.bodies.iter().map(Vec::as_slice)).collect()
    }

    /// The arena that the runtime's own planner makes of an order.
    pub(crate) fn arena(&self, order: &[OpId]) -> Option<u64> {
        Some(self.options.model.arena(&self.graphs, &self.orders(order), None)?.bytes)
    }

    /// The order with the smallest arena under the runtime's own planner, with its arena and peak: the best that is
    /// reached from `starts` by moving ops. `bound` is a lower bound on every arena.
    pub(crate) fn best_for_planner(&self, starts: &[Vec<OpId>], bound: u64) -> Option<(Vec<OpId>, u64, u64)> {
        let judge = |order: &[OpId], _: Option<&Cost>| {
            let (peak, spread) = refine::spread(&self.lifetimes, order);
            Some(Judged::of((self.arena(order).unwrap_or(u64::MAX), peak, spread)))
        };
        let refined = starts.iter().map(|start| self.refine(start, bound, judge));
        let (order, (arena, peak, _)) = refined.min_by_key(|(_, cost)| *cost)?;
        (arena < u64::MAX).then_some((order, arena, peak))
    }

    /// The order and placement with the smallest arena, and a lower bound for all orders and placements. `known` are
    /// plans for this model that were made in another way. A plan that does not serve all kernels which may run the
    /// model is taken only if no other is found.
    ///
    /// Where there are few orders, all of them are tried, which proves the result.
    pub(crate) fn best_planned(
        &self,
        starts: &[Vec<OpId>],
        known: &[Seed],
        facts: &TflmFacts,
        bounds: Bounds,
        serves_all: &dyn Fn(&[Vec<OpId>], &Offsets) -> bool,
    ) -> Option<BestPlanned> {
        let by_set = &if bounds.of_all_sets.is_some() { facts.by_set() } else { Vec::new() };
        let judge = |order: &[OpId], to_beat: Option<&Cost>| self.live(order, facts, to_beat);
        // If the model's own order is asked for, it is kept and only placed.
        let keeps_order = self.options.algorithm == Algorithm::File;
        let mut best = BestSoFar { found: None, bounds, serves_all };
        for seed in known {
            let orders: Vec<&[OpId]> = seed.orders.iter().map(Vec::as_slice).collect();
            let planned = Planned::at(facts, &orders, seed.offsets.clone(), 0, Some(StopReason::Heuristic));
            if let Some(planned) = planned {
                best.offer(&seed.orders, planned);
            }
        }
        let seeds = known.iter().filter(|seed| seed.orders[1..] == *self.bodies);
        let starts = starts.iter().chain(seeds.map(|seed| &seed.orders[0]));
        let mut tried = BTreeSet::new();
        for start in starts {
            if !best.is_settled() && tried.insert(start.clone()) {
                self.try_order(start, facts, by_set, &mut best);
            }
            if !best.is_settled() && !keeps_order {
                let refined = self.refine(start, bounds.arena, judge).0;
                if tried.insert(refined.clone()) {
                    self.try_order(&refined, facts, by_set, &mut best);
                }
            }
        }
        if !best.is_settled()
            && !keeps_order
            && let Some(orders) = all_orders(self.main, MOST_ORDERS)
        {
            let of_orders = orders.iter().map(|order| self.try_order(order, facts, by_set, &mut best));
            let least = of_orders.min().unwrap_or(0);
            // Only one order of each sub-graph was tried: another might need less.
            if self.graphs[1..].iter().all(|body| all_orders(body, 1).is_some()) {
                best.bounds.arena = bounds.arena.max(least);
            }
        }
        let Candidate { orders, planned, .. } = best.found?;
        Some(BestPlanned { orders, planned, bound: best.bounds.arena })
    }

    /// Plans one order; returns a lower bound for all its placements. Where several sets of kernels may run it, the
    /// best placement for each of them is tried as well.
    fn try_order(
        &self,
        order: &[OpId],
        facts: &TflmFacts,
        by_set: &[TflmFacts],
        best: &mut BestSoFar,
    ) -> u64 {
        let live = live_peak(facts, &self.orders(order)).unwrap_or(0);
        if best.is_beyond(live) {
            return live;
        }
        let orders: Vec<_> = std::iter::once(order.to_vec()).chain(self.bodies.iter().cloned()).collect();
        let mut bound = None;
        for view in std::iter::once(facts).chain(by_set) {
            self.options.tell("placing the tensors");
            let limits = Limits { work: None, ..self.options.limits.clone() };
            // The search for one set among several gets a fraction of the work.
            let share = if bound.is_none() { 1 } else { SHARE_OF_A_SET };
            let limits = limits.working(self.options.effort.placement() / share);
            for planned in plans_of_arena(view, &self.orders(order), limits).unwrap_or_default() {
                bound.get_or_insert(planned.bound);
                best.offer(&orders, planned);
            }
        }
        // The runtime places tensors for each set of kernels by itself, which one plan for all cannot. But a plan
        // stored in the model would be kept, safe or not; and without a plan nothing is carried from run to run.
        let carries = !self.graphs[0].carried().is_empty();
        if !by_set.is_empty() && self.options.given_plan.is_none() && !carries {
            let stopped = Some(StopReason::Heuristic);
            let own = Planned::at(facts, &self.orders(order), Offsets::new(), 0, stopped);
            if let Some(own) = own {
                best.offer(&orders, own);
            }
        }
        bound.unwrap_or(0)
    }

    fn refine(
        &self,
        start: &[OpId],
        bound: u64,
        judge: impl Fn(&[OpId], Option<&Cost>) -> Option<Judged>,
    ) -> (Vec<OpId>, Cost) {
        let steps = self.options.effort.refined_steps();
        refine::refine(self.main, start.to_vec(), (bound, steps), judge, || self.options.limits.are_over())
    }

    /// Judges an order by the memory in use under a plan. `to_beat` is given if that cannot be less: then the order
    /// must spread better.
    fn live(&self, order: &[OpId], facts: &TflmFacts, to_beat: Option<&Cost>) -> Option<Judged> {
        let (peak, spread) = refine::spread(&self.lifetimes, order);
        if to_beat.is_some_and(|best| (peak, spread) >= (best.1, best.2)) {
            return None;
        }
        let live = live_by_step(facts, &self.orders(order))?;
        let arena = live.iter().copied().max().unwrap_or(0);
        let is_highest = |&bytes: &u64| bytes == arena;
        // Step 0 is before the first op. Ops that run sub-graphs take several steps, and moves may change any of them.
        let by_op = live.get(1..).filter(|_| self.graphs.len() == 1);
        let highest =
            by_op.and_then(|ops| ops.iter().position(is_highest).zip(ops.iter().rposition(is_highest)));
        Some(Judged { cost: (arena, peak, spread), highest })
    }
}

/// A plan that is known already: the orders of all graphs, and offsets unless the runtime finds them.
#[derive(Clone, Debug)]
pub(crate) struct Seed {
    pub(crate) orders: Vec<Vec<OpId>>,
    pub(crate) offsets: Offsets,
}

impl Seed {
    /// The decisions of a plan; `None` if it changes nothing.
    pub(crate) fn of(plan: &Plan) -> Option<Self> {
        let orders = plan.orders().into_iter().map(<[OpId]>::to_vec).collect();
        let decides = plan.offsets.is_some() || plan.reorders();
        decides.then(|| Self { orders, offsets: plan.offsets.clone().unwrap_or_default() })
    }
}

/// The best orders with their offsets, which may be left to the runtime.
pub(crate) struct BestPlanned {
    pub(crate) orders: Vec<Vec<OpId>>,
    pub(crate) planned: Planned,
    pub(crate) bound: u64,
}

/// Lower bounds for all orders and placements.
#[derive(Clone, Copy)]
pub(crate) struct Bounds {
    /// On the arena that is enough for each set of kernels.
    pub(crate) arena: u64,
    /// On the sum of the arenas with each set of kernels; `None` if they do not count one by one.
    pub(crate) of_all_sets: Option<u64>,
}

struct BestSoFar<'a> {
    found: Option<Candidate>,
    bounds: Bounds,
    serves_all: &'a dyn Fn(&[Vec<OpId>], &Offsets) -> bool,
}

struct Candidate {
    orders: Vec<Vec<OpId>>,
    planned: Planned,
    serves_all: bool,
}

impl Candidate {
    fn cost(&self) -> (bool, (u64, u64)) {
        (!self.serves_all, self.planned.cost())
    }
}

impl BestSoFar<'_> {
    fn offer(&mut self, orders: &[Vec<OpId>], planned: Planned) {
        let is_beaten = |best: &Candidate| best.cost() <= (false, planned.cost());
        if self.found.as_ref().is_some_and(is_beaten) {
            return;
        }
        let serves_all = (self.serves_all)(orders, &planned.offsets);
        let candidate = Candidate { orders: orders.to_vec(), planned, serves_all };
        if self.found.as_ref().is_none_or(|best| candidate.cost() < best.cost()) {
            self.found = Some(candidate);
        }
    }

    /// Is no better plan possible?
    fn is_settled(&self) -> bool {
        let Bounds { arena, of_all_sets } = self.bounds;
        self.found.as_ref().is_some_and(|best| {
            let (needs, sum) = best.planned.cost();
            best.serves_all && needs <= arena && of_all_sets.is_none_or(|least| sum <= least)
        })
    }

    /// Can no plan be better that needs at least `live` bytes? One that needs as much may be, if sets of kernels count
    /// one by one.
    fn is_beyond(&self, live: u64) -> bool {
        self.is_settled()
            || self.found.as_ref().is_some_and(|best| {
                let needs = best.planned.arena.bytes;
                best.serves_all && (needs < live || (needs == live && self.bounds.of_all_sets.is_none()))
            })
    }
}

/// All orders in which a graph can run; `None` if there are more than `most`.
fn all_orders(graph: &Graph, most: usize) -> Option<Vec<Vec<OpId>>> {
    let ops = graph.ops().len();
    let predecessors: Vec<Vec<OpId>> = graph.op_ids().map(|op| graph.predecessors(op)).collect();
    let mut orders = Vec::new();
    // Depth first; each entry is a prefix of an order, so there are never more entries than orders.
    let mut open = vec![Vec::new()];
    while let Some(mut order) = open.pop() {
        loop {
            let mut has_run = vec![false; ops];
            for op in &order {
                let op: &OpId = op;
                has_run[op.index()] = true;
            }
            let is_ready = |op: &OpId| {
                !has_run[op.index()] && predecessors[op.index()].iter().all(|p| has_run[p.index()])
            };
            let ready: Vec<OpId> = graph.op_ids().filter(is_ready).collect();
            let Some((&first, others)) = ready.split_first() else { break };
            for &other in others {
                let mut branch = order.clone();
                branch.push(other);
                open.push(branch);
            }
            if open.len() + orders.len() > most {
                return None;
            }
            order.push(first);
        }
        orders.push(order);
    }
    (orders.len() <= most).then_some(orders)
}

/// The arena of a model as it came: in its original orders, with its stored memory plan if it has one.
pub(crate) fn own_arena(graphs: &[Graph], model: MemoryModel, plan: Option<&Offsets>) -> Option<u64> {
    let own: Vec<Vec<OpId>> = graphs.iter().map(Graph::file_order).collect();
    let orders: Vec<&[OpId]> = own.iter().map(Vec::as_slice).collect();
    Some(model.arena(&graphs.iter().collect::<Vec<_>>(), &orders, plan)?.bytes)
}
