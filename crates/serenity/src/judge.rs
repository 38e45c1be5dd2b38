//! Orders, judged by the arena that the runtime will use.

use crate::effort::MOST_ORDERS;
use crate::{Options, Plan, refine};
use serenity_ir::{Graph, Lifetimes, OpId};
use serenity_runtimes::{
    Kernels, MemoryModel, Offsets, Planned, TflmFacts, live_peak, plan_arena, tflm_arena,
};
use serenity_schedule::Algorithm;
use serenity_search::{Limits, StopReason};
use std::collections::BTreeSet;

/// Looks at orders of one model.
pub(crate) struct Judge<'a> {
    graphs: Vec<&'a Graph>,
    /// The main graph with what its sub-graphs need.
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

    /// The order that gets the smallest arena from the runtime's own planner, with its arena and its peak: the best of what can be reached from
    /// `starts` by moving ops. No arena is below `bound`.
    pub(crate) fn best_for_planner(&self, starts: &[Vec<OpId>], bound: u64) -> Option<(Vec<OpId>, u64, u64)> {
        let evaluate =
            |order: &[OpId]| refine::cost(&self.lifetimes, order, self.arena(order).unwrap_or(u64::MAX));
        let refined = starts.iter().map(|start| self.refine(start, bound, evaluate));
        let (order, (arena, peak, _)) = refined.min_by_key(|(_, cost)| *cost)?;
        (arena < u64::MAX).then_some((order, arena, peak))
    }

    /// The order for which a plan makes the smallest arena, with that plan, and a bound that no order and no plan goes below. `known` are plans for this model
    /// that were made in another way. Those that do not serve all kernels which may run the model are taken only if no other is found.
    ///
    /// Where there are few orders, all of them are tried, and that settles it.
    pub(crate) fn best_planned(
        &self,
        starts: &[Vec<OpId>],
        known: &[Seed],
        kernels: Kernels,
        bound: u64,
        serves_all: &dyn Fn(&[Vec<OpId>], &Offsets) -> bool,
    ) -> Option<BestPlanned> {
        let facts = &TflmFacts::new(&self.graphs, kernels);
        let evaluate = |order: &[OpId]| {
            let live = live_peak(facts, &self.orders(order)).unwrap_or(u64::MAX);
            refine::cost(&self.lifetimes, order, live)
        };
        // Whoever asks for the model's own order gets it, placed as well as can be.
        let keeps_order = self.options.algorithm == Algorithm::File;
        let mut best = BestSoFar { found: None, bound, serves_all };
        for seed in known {
            let orders: Vec<&[OpId]> = seed.orders.iter().map(Vec::as_slice).collect();
            let arena = tflm_arena(facts, &orders, Some(&seed.offsets));
            let planned = arena.map(|arena| Planned {
                offsets: seed.offsets.clone(),
                arena,
                bound: 0,
                stopped: Some(StopReason::Heuristic),
            });
            best.offer(seed.orders.clone(), planned);
        }
        let seeds = known.iter().filter(|seed| seed.orders[1..] == *self.bodies);
        let starts = starts.iter().chain(seeds.map(|seed| &seed.orders[0]));
        let mut tried = BTreeSet::new();
        for start in starts {
            if !best.is_settled() && tried.insert(start.clone()) {
                self.try_order(start.clone(), facts, &mut best);
            }
            if !best.is_settled() && !keeps_order {
                let refined = self.refine(start, bound, evaluate).0;
                if tried.insert(refined.clone()) {
                    self.try_order(refined, facts, &mut best);
                }
            }
        }
        if !best.is_settled()
            && !keeps_order
            && let Some(orders) = all_orders(self.main, MOST_ORDERS)
        {
            let bounds = orders.into_iter().map(|order| self.try_order(order, facts, &mut best));
            let least = bounds.min().unwrap_or(0);
            // Of sub-graphs one order was tried: others might do with less.
            if self.graphs[1..].iter().all(|body| all_orders(body, 1).is_some()) {
                best.bound = bound.max(least);
            }
        }
        let Candidate { orders, planned, .. } = best.found?;
        Some(BestPlanned { orders, planned, bound: best.bound })
    }

    /// Plans one order; returns what no plan for it goes below.
    fn try_order(&self, order: Vec<OpId>, facts: &TflmFacts, best: &mut BestSoFar) -> u64 {
        let live = live_peak(facts, &self.orders(&order)).unwrap_or(0);
        if best.is_within(live) {
            return live;
        }
        let limits = Limits { work: None, ..self.options.limits.clone() };
        let limits = limits.working(self.options.effort.placement());
        let planned = plan_arena(facts, &self.orders(&order), limits);
        let bound = planned.as_ref().map_or(0, |planned| planned.bound);
        let orders = std::iter::once(order).chain(self.bodies.iter().cloned()).collect();
        best.offer(orders, planned);
        bound
    }

    fn refine(
        &self,
        start: &[OpId],
        bound: u64,
        evaluate: impl Fn(&[OpId]) -> refine::Cost,
    ) -> (Vec<OpId>, refine::Cost) {
        let steps = self.options.effort.refined_steps();
        refine::refine(self.main, start.to_vec(), (bound, steps), evaluate, || self.options.limits.are_over())
    }
}

/// A plan that is known already: orders of all graphs, and places.
#[derive(Clone, Debug)]
pub(crate) struct Seed {
    pub(crate) orders: Vec<Vec<OpId>>,
    pub(crate) offsets: Offsets,
}

impl Seed {
    /// What a plan decides; `None` if it places nothing.
    pub(crate) fn of(plan: &Plan) -> Option<Self> {
        let orders = std::iter::once(&plan.order).chain(&plan.bodies).cloned().collect();
        Some(Self { orders, offsets: plan.offsets.clone()? })
    }
}

/// The best orders with their plan.
pub(crate) struct BestPlanned {
    pub(crate) orders: Vec<Vec<OpId>>,
    pub(crate) planned: Planned,
    pub(crate) bound: u64,
}

struct BestSoFar<'a> {
    found: Option<Candidate>,
    bound: u64,
    serves_all: &'a dyn Fn(&[Vec<OpId>], &Offsets) -> bool,
}

struct Candidate {
    orders: Vec<Vec<OpId>>,
    planned: Planned,
    serves_all: bool,
}

impl Candidate {
    /// The less, the better.
    fn cost(&self) -> (bool, u64) {
        (!self.serves_all, self.planned.arena.bytes)
    }
}

impl BestSoFar<'_> {
    fn offer(&mut self, orders: Vec<Vec<OpId>>, planned: Option<Planned>) {
        let Some(planned) = planned.filter(|planned| !self.is_within(planned.arena.bytes)) else { return };
        let serves_all = (self.serves_all)(&orders, &planned.offsets);
        let candidate = Candidate { orders, planned, serves_all };
        if self.found.as_ref().is_none_or(|best| candidate.cost() < best.cost()) {
            self.found = Some(candidate);
        }
    }

    fn is_settled(&self) -> bool {
        self.is_within(self.bound)
    }

    fn is_within(&self, bytes: u64) -> bool {
        self.found.as_ref().is_some_and(|best| best.cost() <= (false, bytes))
    }
}

/// All orders in which a graph can run; `None` if there are more than `most`.
fn all_orders(graph: &Graph, most: usize) -> Option<Vec<Vec<OpId>>> {
    let ops = graph.ops().len();
    let predecessors: Vec<Vec<OpId>> = graph.op_ids().map(|op| graph.predecessors(op)).collect();
    let mut orders = Vec::new();
    // Depth first; each entry is the beginning of an order, so no more are open than orders are found.
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

/// The arena of a model as it came: in its own orders, with its own plan if it has one.
pub(crate) fn own_arena(graphs: &[Graph], model: MemoryModel, plan: Option<&Offsets>) -> Option<u64> {
    let own: Vec<Vec<OpId>> = graphs.iter().map(Graph::file_order).collect();
    let orders: Vec<&[OpId]> = own.iter().map(Vec::as_slice).collect();
    Some(model.arena(&graphs.iter().collect::<Vec<_>>(), &orders, plan)?.bytes)
}
