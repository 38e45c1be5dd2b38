//! Orders that move few bytes between on-chip and off-chip memory.
//!
//! In comes a graph and some on-chip sizes. Out comes for every size the traffic of the model's own order and of a better one, each with a lower
//! bound. With [`Objective::Peak`] the better one is the order of least peak, for all sizes; with [`Objective::Traffic`] it is searched for by the
//! traffic itself: all orders where there are few, otherwise from the best of several on, one op moved at a time.
//!
//! Promised: the order found by traffic never moves more than the order of least peak, nor than the model's own, nor than what is found for
//! a smaller size in the same call.

mod all_orders;
mod any_order;
mod search;

use crate::Error;
use serde_json::{Value, json};
use serenity_ir::{Graph, OpId, Unknown};
use serenity_pipeline::stages::order::best_by_peak;
use serenity_pipeline::{Effort, Options, Plan};
use serenity_runtimes::{MemoryModel, MemoryModelExt};
use serenity_search::{Limits, ProgressFn, StopReason};
use serenity_traffic::{Bytes, Grain, Touches, Traffic, TrafficError};

/// What an order is searched for by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Objective {
    /// The least peak.
    Peak,
    /// The least off-chip traffic.
    #[default]
    Traffic,
}

serenity_search::named! { "objective": Objective { "peak" => Peak, "traffic" => Traffic } }

/// Everything a caller may choose.
#[derive(Clone, Default)]
pub struct TrafficOptions {
    /// Which tensors share a buffer, and which ops move nothing.
    pub model: MemoryModel,
    /// What moves as one.
    pub grain: Grain,
    /// What orders are searched for by.
    pub objective: Objective,
    /// How hard to look for the order of least peak.
    pub effort: Effort,
    /// When to give up; the searches of peaks and orders share it.
    pub limits: Limits,
    /// Called a few times a second while the order of least peak is searched for.
    pub progress: Option<ProgressFn>,
    /// What the traffic is compared with, if that is not the graph in its own order.
    pub before: Option<Compared>,
}

/// A graph in an order, to compare the traffic of another graph with.
#[derive(Clone, Debug)]
pub struct Compared {
    /// The graph.
    pub graph: Graph,
    /// Which of its tensors share a buffer, and which ops move nothing.
    pub model: MemoryModel,
    /// The order in which its ops run.
    pub order: Vec<OpId>,
}

/// The traffic for one on-chip size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrafficAt {
    /// Of the model's own order, or of what it is [compared](TrafficOptions::before) with.
    pub before: Traffic,
    /// Of the order of least peak.
    pub least_peak: Traffic,
    /// Of the best order found.
    pub after: Traffic,
    /// That order.
    pub order: Vec<OpId>,
    /// No order moves less than this, whatever is kept and dropped.
    pub bound_of_all_orders: u64,
}

/// Off-chip traffic before and after.
#[derive(Clone, Debug)]
pub struct TrafficPlan {
    /// The order of least peak.
    pub least_peak: Plan,
    /// One entry an on-chip size, in the order given.
    pub sizes: Vec<TrafficAt>,
    /// Were all orders of the graph tried?
    pub tried_all_orders: bool,
    /// What ended the search from outside, if anything did: another run may then find something else.
    pub interrupted: Option<StopReason>,
}

impl TrafficPlan {
    /// Is it proved that this moves the least for its order? Never if anything hides bytes.
    pub fn is_optimal(&self, traffic: &Traffic) -> bool {
        traffic.is_optimal && self.least_peak.counts_everything()
    }

    /// All of it as a JSON object, for the graph and the options that it was searched with.
    pub fn to_json(&self, graph: &Graph, options: &TrafficOptions) -> Value {
        let bytes = |b: Bytes| json!({"reads": b.reads, "writes": b.writes, "bytes": b.bytes()});
        let details = |t: &Traffic, graph: &Graph| {
            let oversize = |op: &OpId| json!({"op": op.0, "name": graph.op_label(*op)});
            json!({
                "reads": t.best.reads,
                "writes": t.best.writes,
                "bytes": t.best.bytes(),
                "belady": bytes(t.belady),
                "bound": t.bound,
                "optimal": self.is_optimal(t),
                "oversize_ops": t.oversize_ops.iter().map(oversize).collect::<Vec<_>>(),
            })
        };
        let before = options.before.as_ref().map_or(graph, |compared| &compared.graph);
        let size = |at: &TrafficAt| {
            json!({
                "on_chip": at.after.on_chip,
                "before": at.before.best.bytes(),
                "after": at.after.best.bytes(),
                "bound": at.after.bound,
                "bound_of_all_orders": at.bound_of_all_orders,
                "details": {
                    "before": details(&at.before, before),
                    "least_peak": details(&at.least_peak, graph),
                    "after": details(&at.after, graph),
                },
                "order": at.order.iter().map(|op| op.0).collect::<Vec<_>>(),
            })
        };
        json!({
            "graph": graph.name(),
            "runtime": options.model.to_string(),
            "grain": options.grain.to_string(),
            "objective": options.objective.to_string(),
            "compulsory": self.sizes.first().map(|at| bytes(at.after.compulsory)),
            "peak": {"before": self.least_peak.before.peak, "least": self.least_peak.after.peak},
            "tried_all_orders": self.tried_all_orders,
            "unknown": graph.unknown().iter().map(Unknown::to_json).collect::<Vec<_>>(),
            "sizes": self.sizes.iter().map(size).collect::<Vec<_>>(),
        })
    }
}

/// An order and what it moves, by on-chip size.
struct Candidate {
    order: Vec<OpId>,
    swept: Vec<Traffic>,
}

/// Orders that were looked at, each once.
struct Candidates<'a> {
    touches: &'a Touches,
    sizes: &'a [u64],
    limits: &'a Limits,
    list: Vec<Candidate>,
}

impl Candidates<'_> {
    /// The position of an order in the list.
    fn add(&mut self, order: &[OpId]) -> usize {
        if let Some(known) = self.list.iter().position(|candidate| candidate.order == order) {
            return known;
        }
        let swept = self.touches.in_order(order).sweep_within(self.sizes, self.limits);
        self.list.push(Candidate { order: order.to_vec(), swept });
        self.list.len() - 1
    }

    /// The one that moves least with the on-chip memory at position `size`, the first of several.
    fn best(&self, size: usize) -> &Candidate {
        let moved = |candidate: &&Candidate| candidate.swept[size].best.bytes();
        self.list.iter().min_by_key(moved).unwrap_or(&self.list[0])
    }
}

/// Finds orders of `graph` that move few bytes, for every on-chip size.
///
/// # Errors
/// If the sizes of the tensors are beyond any device.
pub fn least_traffic(graph: &Graph, on_chip: &[u64], options: &TrafficOptions) -> Result<TrafficPlan, Error> {
    let refused = |source: TrafficError| Error::Traffic { graph: graph.name().to_owned(), source };
    let touches = Touches::new(graph, options.model, options.grain).map_err(refused)?;
    let scheduling = Options {
        model: options.model,
        effort: options.effort,
        limits: options.limits.clone(),
        progress: options.progress.clone(),
        ..Options::default()
    };
    let mut least_peak = best_by_peak(graph, &scheduling)?;
    let own = options.model.execution_order(graph, &graph.file_order());
    let mut candidates =
        Candidates { touches: &touches, sizes: on_chip, limits: &options.limits, list: Vec::new() };
    let peak = candidates.add(&least_peak.order);

    let least_alive = any_order::least_alive(graph, &touches, options.grain, options.limits.clone());
    let mut bounds: Vec<u64> =
        on_chip.iter().map(|&size| any_order::bound(&touches, least_alive, size)).collect();
    let mut tried_all_orders = false;
    let before = candidates.add(&own);
    if options.objective == Objective::Traffic {
        if let Some(orders) = all_orders::all_orders(graph) {
            for order in &orders {
                candidates.add(order);
            }
            for (i, bound) in bounds.iter_mut().enumerate() {
                let least = candidates.list.iter().map(|c| c.swept[i].bound).min();
                *bound = least.unwrap_or(0).max(*bound);
            }
            tried_all_orders = true;
        } else {
            let is_over = || options.limits.are_over();
            let starts = search::starts(graph, vec![least_peak.order.clone(), own], &scheduling);
            for (i, &size) in on_chip.iter().enumerate() {
                if candidates.best(i).swept[i].best.bytes() > bounds[i] {
                    candidates.add(&search::search(graph, &touches, &starts, size, &is_over));
                }
            }
        }
    }
    let compared = match &options.before {
        None => None,
        Some(Compared { graph, model, order }) => {
            least_peak.before.peak = model.lifetimes(graph).profile(order).peak();
            let touches = Touches::new(graph, *model, options.grain).map_err(refused)?;
            Some(touches.in_order(order).sweep_within(on_chip, &options.limits))
        }
    };
    let answer = |i: usize| {
        // By its peak alone an order is taken even if it moves more.
        let after = match options.objective {
            Objective::Peak => &candidates.list[peak],
            Objective::Traffic => candidates.best(i),
        };
        let with_bound = |traffic: &Traffic| {
            let bound = traffic.bound.max(bounds[i]);
            Traffic { bound, is_optimal: traffic.best.bytes() == bound, ..traffic.clone() }
        };
        TrafficAt {
            before: match &compared {
                Some(swept) => swept[i].clone(),
                None => with_bound(&candidates.list[before].swept[i]),
            },
            least_peak: with_bound(&candidates.list[peak].swept[i]),
            after: with_bound(&after.swept[i]),
            order: after.order.clone(),
            bound_of_all_orders: bounds[i],
        }
    };
    let sizes = (0..on_chip.len()).map(answer).collect();
    Ok(TrafficPlan { least_peak, sizes, tried_all_orders, interrupted: options.limits.interrupted() })
}
