//! Orders, judged by the arena that the runtime will use.

use crate::arena::{Offsets, Planned, live_peak, plan_arena, runtime_arena};
use crate::{Options, refine};
use serenity_ir::{Graph, Kernels, MemoryModel, OpId};
use serenity_schedule::{Algorithm, Limits};
use std::time::Instant;

/// Looks at orders of one model.
pub(crate) struct Judge<'a> {
    graphs: Vec<&'a Graph>,
    /// The main graph with what its sub-graphs need.
    main: &'a Graph,
    /// The orders of the sub-graphs.
    bodies: &'a [Vec<OpId>],
    options: &'a Options,
    started: Instant,
}

impl<'a> Judge<'a> {
    pub(crate) fn new(
        graphs: &'a [Graph],
        main: &'a Graph,
        bodies: &'a [Vec<OpId>],
        options: &'a Options,
        started: Instant,
    ) -> Self {
        Self { graphs: graphs.iter().collect(), main, bodies, options, started }
    }

    fn orders<'b>(&'b self, main: &'b [OpId]) -> Vec<&'b [OpId]> {
        std::iter::once(main).chain(self.bodies.iter().map(Vec::as_slice)).collect()
    }

    /// The arena that the runtime's own planner makes of an order.
    pub(crate) fn arena(&self, order: &[OpId]) -> Option<u64> {
        Some(runtime_arena(&self.graphs, &self.orders(order), self.options.model, None)?.bytes)
    }

    /// The order that gets the smallest arena from the runtime's own planner, with its arena and its peak: the best of what can be reached from
    /// `starts` by moving ops. No arena is below `bound`.
    pub(crate) fn best_for_planner(&self, starts: &[Vec<OpId>], bound: u64) -> Option<(Vec<OpId>, u64, u64)> {
        let lifetimes = self.options.model.lifetimes(self.main);
        let evaluate =
            |order: &[OpId]| refine::cost(&lifetimes, order, self.arena(order).unwrap_or(u64::MAX));
        let refined = starts
            .iter()
            .map(|start| refine::refine(self.main, start.clone(), bound, evaluate, || self.is_over()));
        let (order, (arena, peak, _)) = refined.min_by_key(|(_, cost)| *cost)?;
        (arena < u64::MAX).then_some((order, arena, peak))
    }

    /// The order for which a plan makes the smallest arena, with that plan, and a bound that no order and no plan goes below.
    ///
    /// Where there are few orders, all of them are tried, and that settles it.
    pub(crate) fn best_planned(
        &self,
        starts: &[Vec<OpId>],
        kernels: Kernels,
        bound: u64,
    ) -> Option<BestPlanned> {
        let lifetimes = self.options.model.lifetimes(self.main);
        let evaluate = |order: &[OpId]| {
            let live = live_peak(&self.graphs, &self.orders(order), kernels).unwrap_or(u64::MAX);
            refine::cost(&lifetimes, order, live)
        };
        // Whoever asks for the model's own order gets it, placed as well as can be.
        let keeps_order = self.options.algorithm == Algorithm::File;
        let mut best = BestSoFar { found: None, bound };
        for start in starts {
            best.offer(start.clone(), self.plan(start, kernels));
            if !best.is_settled() && !keeps_order {
                let refined = refine::refine(self.main, start.clone(), bound, evaluate, || self.is_over()).0;
                let planned = self.plan(&refined, kernels);
                best.offer(refined, planned);
            }
        }
        if !best.is_settled()
            && !keeps_order
            && let Some(orders) = all_orders(self.main, MOST_ORDERS)
        {
            let mut least = u64::MAX;
            for order in orders {
                let planned = self.plan(&order, kernels);
                least = least.min(planned.as_ref().map_or(0, |planned| planned.bound));
                best.offer(order, planned);
            }
            best.bound = bound.max(least);
        }
        let (order, planned) = best.found?;
        Some(BestPlanned { order, planned, bound: best.bound })
    }

    fn plan(&self, order: &[OpId], kernels: Kernels) -> Option<Planned> {
        plan_arena(&self.graphs, &self.orders(order), kernels, self.placement_limits())
    }

    fn is_over(&self) -> bool {
        let Limits { time, cancel, .. } = &self.options.limits;
        cancel.is_cancelled() || time.is_some_and(|limit| self.started.elapsed() >= limit)
    }

    /// What is left of the limits, for one placement.
    fn placement_limits(&self) -> serenity_arena::Limits {
        let mut limits = serenity_arena::Limits::default();
        limits.time = self.options.limits.time.map(|limit| limit.saturating_sub(self.started.elapsed()));
        limits.memory = self.options.limits.memory;
        limits.work = Some(PLACEMENT_WORK);
        limits
    }
}

/// The best order with its plan.
pub(crate) struct BestPlanned {
    pub(crate) order: Vec<OpId>,
    pub(crate) planned: Planned,
    pub(crate) bound: u64,
}

struct BestSoFar {
    found: Option<(Vec<OpId>, Planned)>,
    bound: u64,
}

impl BestSoFar {
    fn offer(&mut self, order: Vec<OpId>, planned: Option<Planned>) {
        let arena = |found: &(Vec<OpId>, Planned)| found.1.arena.bytes;
        if let Some(planned) = planned
            && self.found.as_ref().is_none_or(|best| planned.arena.bytes < arena(best))
        {
            self.found = Some((order, planned));
        }
    }

    fn is_settled(&self) -> bool {
        self.found.as_ref().is_some_and(|(_, planned)| planned.arena.bytes <= self.bound)
    }
}

/// Buffers that one placement may look at, a second or two: if it has not settled by then, another order is the better bet. Counted, not timed, so that the
/// result does not depend on the clock.
const PLACEMENT_WORK: u64 = 2_000_000;

/// So many orders are tried one by one.
const MOST_ORDERS: usize = 100;

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
    Some(runtime_arena(&graphs.iter().collect::<Vec<_>>(), &orders, model, plan)?.bytes)
}
