//! Orders, judged by the arena that the runtime will use.

use crate::arena::{Offsets, Planned, live_peak, plan_arena, runtime_arena};
use crate::{Options, refine};
use serenity_ir::{Graph, Kernels, MemoryModel, OpId};
use serenity_schedule::Limits;
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

    /// The order for which a plan makes the smallest arena, with that plan.
    pub(crate) fn best_planned(
        &self,
        starts: &[Vec<OpId>],
        kernels: Kernels,
        bound: u64,
    ) -> Option<(Vec<OpId>, Planned)> {
        let lifetimes = self.options.model.lifetimes(self.main);
        let evaluate = |order: &[OpId]| {
            let live = live_peak(&self.graphs, &self.orders(order), kernels).unwrap_or(u64::MAX);
            refine::cost(&lifetimes, order, live)
        };
        let mut best: Option<(Vec<OpId>, Planned)> = None;
        for start in starts {
            let refined = refine::refine(self.main, start.clone(), bound, evaluate, || self.is_over()).0;
            for order in [start.clone(), refined] {
                if best.as_ref().is_some_and(|(_, planned)| planned.arena.bytes <= bound) {
                    return best;
                }
                let planned =
                    plan_arena(&self.graphs, &self.orders(&order), kernels, self.placement_limits());
                best = match (best, planned) {
                    (Some(best), Some(new)) if new.arena.bytes >= best.1.arena.bytes => Some(best),
                    (_, Some(new)) => Some((order, new)),
                    (best, None) => best,
                };
            }
        }
        best
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
        limits
    }
}

/// The arena of a model as it came: in its own orders, with its own plan if it has one.
pub(crate) fn own_arena(graphs: &[Graph], model: MemoryModel, plan: Option<&Offsets>) -> Option<u64> {
    let own: Vec<Vec<OpId>> = graphs.iter().map(Graph::file_order).collect();
    let orders: Vec<&[OpId]> = own.iter().map(Vec::as_slice).collect();
    Some(runtime_arena(&graphs.iter().collect::<Vec<_>>(), &orders, model, plan)?.bytes)
}
