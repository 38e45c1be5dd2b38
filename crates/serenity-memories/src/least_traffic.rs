//! Finds orders that move few bytes between on-chip and off-chip memory.
//!
//! Takes a graph and some on-chip sizes. Returns for every size the traffic of the model's own order and of a better
//! one, each with a lower bound. With [`Objective::Peak`] the better one is the order of least peak, for all sizes.
//! With [`Objective::Traffic`] it is searched for by its traffic: among all orders where there are few, otherwise from
//! the best of several, moving one op at a time.
//!
//! Guarantees: the order found by traffic never moves more than the order of least peak, the model's own, or the order
//! found for a smaller size in the same call.

mod all_orders;
mod any_order;
mod search;

use crate::Error;
use schemars::JsonSchema;
use serde::Serialize;
use serenity_ir::{Graph, OpId, Unknown};
use serenity_pipeline::stages::order::best_by_peak;
use serenity_pipeline::{Effort, Options, Plan};
use serenity_runtimes::{MemoryModel, MemoryModelExt};
use serenity_search::{Limits, ProgressFn};
use serenity_traffic::{Bytes, Grain, Touches, Traffic, TrafficError};

/// What to minimise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Objective {
    /// The peak.
    Peak,
    /// The off-chip traffic.
    #[default]
    Traffic,
}

serenity_search::named! { "objective": Objective { "peak" => Peak, "traffic" => Traffic } }

/// The options of [`least_traffic`].
#[derive(Clone, Default)]
pub struct TrafficOptions {
    /// The memory model: which tensors share a buffer, and which ops move nothing.
    pub model: MemoryModel,
    /// The unit that moves as a whole.
    pub grain: Grain,
    /// What to minimise.
    pub objective: Objective,
    /// How hard to search for the order of least peak.
    pub effort: Effort,
    /// When to give up; all searches share these limits.
    pub limits: Limits,
    /// Called a few times a second during the search for the order of least peak.
    pub progress: Option<ProgressFn>,
    /// The graph and order to compare with; by default the graph in its own order.
    pub before: Option<Compared>,
}

/// A graph in an order, to compare the traffic of another graph with.
#[derive(Clone, Debug)]
pub struct Compared {
    /// The graph.
    pub graph: Graph,
    /// The memory model: which tensors share a buffer, and which ops move nothing.
    pub model: MemoryModel,
    /// The order in which its ops run.
    pub order: Vec<OpId>,
}

/// The traffic for one on-chip size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrafficAt {
    /// The traffic of the model's own order, or of the one that it is [compared](TrafficOptions::before) with.
    pub before: Traffic,
    /// The traffic of the order of least peak.
    pub least_peak: Traffic,
    /// The traffic of the best order found.
    pub after: Traffic,
    /// The best order found.
    pub order: Vec<OpId>,
    /// A lower bound on the traffic of every order.
    pub bound_of_all_orders: u64,
}

/// Off-chip traffic before and after.
#[derive(Clone, Debug)]
pub struct TrafficPlan {
    /// The order of least peak.
    pub least_peak: Plan,
    /// The traffic for each on-chip size, in the order given.
    pub sizes: Vec<TrafficAt>,
    /// Were all orders of the graph tried?
    pub tried_all_orders: bool,
}

impl TrafficPlan {
    /// Is this traffic proved to be the least for its order? Never if the model hides bytes.
    pub fn is_optimal(&self, traffic: &Traffic) -> bool {
        traffic.is_optimal && self.least_peak.counts_everything()
    }

    /// The result as JSON states it, for the graph and the options of the search.
    pub fn stated<'a>(&'a self, graph: &'a Graph, options: &TrafficOptions) -> StatedTraffic<'a> {
        let details = |t: &Traffic, graph: &Graph| StatedOrder {
            best: t.best.into(),
            belady: t.belady.into(),
            bound: t.bound,
            optimal: self.is_optimal(t),
            oversize_ops: t
                .oversize_ops
                .iter()
                .map(|&op| OversizeOp { op, name: graph.op_label(op) })
                .collect(),
        };
        let before = options.before.as_ref().map_or(graph, |compared| &compared.graph);
        let size = |at: &'a TrafficAt| StatedSize {
            on_chip: at.after.on_chip,
            before: at.before.best.bytes(),
            after: at.after.best.bytes(),
            bound: at.after.bound,
            bound_of_all_orders: at.bound_of_all_orders,
            details: StatedDetails {
                before: details(&at.before, before),
                least_peak: details(&at.least_peak, graph),
                after: details(&at.after, graph),
            },
            order: &at.order,
        };
        StatedTraffic {
            graph: graph.name(),
            runtime: options.model,
            grain: options.grain,
            objective: options.objective,
            compulsory: self.sizes.first().map(|at| at.after.compulsory.into()),
            peak: StatedPeaks { before: self.least_peak.before.peak, least: self.least_peak.after.peak },
            tried_all_orders: self.tried_all_orders,
            unknown: graph.unknown(),
            sizes: self.sizes.iter().map(size).collect(),
        }
    }
}

/// Off-chip traffic before and after, as JSON states it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StatedTraffic<'a> {
    /// The name of the graph; may be empty.
    pub graph: &'a str,
    /// The memory model.
    pub runtime: MemoryModel,
    /// The unit that moves as a whole.
    pub grain: Grain,
    /// What was minimised.
    pub objective: Objective,
    /// The first load of each input and one store of each result, which no other figure contains.
    pub compulsory: Option<Moved>,
    /// The peaks of two orders.
    pub peak: StatedPeaks,
    /// Are there so few orders that all were tried?
    pub tried_all_orders: bool,
    /// What is not known of the model. If anything is, nothing is proved, and figures are minimums.
    pub unknown: &'a [Unknown],
    /// The traffic for each on-chip size.
    pub sizes: Vec<StatedSize<'a>>,
}

/// The peaks of two orders.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct StatedPeaks {
    /// The peak of the model's own order.
    pub before: u64,
    /// The peak of the order of least peak.
    pub least: u64,
}

/// The traffic for one on-chip size.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StatedSize<'a> {
    /// The size of the on-chip memory.
    pub on_chip: u64,
    /// Bytes moved in the model's own order, by the best plan found of what to keep.
    pub before: u64,
    /// Bytes moved in the order found.
    pub after: u64,
    /// A lower bound on the traffic of the order found.
    pub bound: u64,
    /// A lower bound on the traffic of every order.
    pub bound_of_all_orders: u64,
    /// Reads and writes apart, for three orders.
    pub details: StatedDetails,
    /// The order found.
    pub order: &'a [OpId],
}

/// Reads and writes apart, for three orders.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StatedDetails {
    /// The model's own order.
    pub before: StatedOrder,
    /// The order of least peak.
    pub least_peak: StatedOrder,
    /// The order found.
    pub after: StatedOrder,
}

/// The traffic of one order.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StatedOrder {
    /// By the best plan found of what to keep.
    #[serde(flatten)]
    pub best: Moved,
    /// By Belady's rule: drop what is used again last.
    pub belady: Moved,
    /// A lower bound on the traffic of this order.
    pub bound: u64,
    /// Is that bound met?
    pub optimal: bool,
    /// Ops whose own tensors exceed the on-chip memory, and stream.
    pub oversize_ops: Vec<OversizeOp>,
}

/// An op whose own tensors exceed the on-chip memory.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct OversizeOp {
    /// The op.
    pub op: OpId,
    /// Its name.
    pub name: String,
}

/// Bytes that move.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct Moved {
    /// Bytes read from off-chip memory.
    pub reads: u64,
    /// Bytes written to off-chip memory.
    pub writes: u64,
    /// Both together.
    pub bytes: u64,
}

impl From<Bytes> for Moved {
    fn from(moved: Bytes) -> Self {
        Self { reads: moved.reads, writes: moved.writes, bytes: moved.bytes() }
    }
}

/// An order and its traffic per on-chip size.
struct SweptOrder {
    order: Vec<OpId>,
    swept: Vec<Traffic>,
}

/// Orders that were tried, each once.
struct Candidates<'a> {
    touches: &'a Touches,
    sizes: &'a [u64],
    limits: &'a Limits,
    list: Vec<SweptOrder>,
}

impl Candidates<'_> {
    /// Adds an order unless it is there; returns its index.
    fn add(&mut self, order: &[OpId]) -> usize {
        if let Some(known) = self.list.iter().position(|candidate| candidate.order == order) {
            return known;
        }
        let swept = self.touches.in_order(order).sweep_within(self.sizes, self.limits);
        self.list.push(SweptOrder { order: order.to_vec(), swept });
        self.list.len() - 1
    }

    /// The first of the orders that move least with the on-chip memory at index `size`.
    fn best(&self, size: usize) -> &SweptOrder {
        let moved = |candidate: &&SweptOrder| candidate.swept[size].best.bytes();
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
        // The order of least peak is taken even if it moves more.
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
    Ok(TrafficPlan { least_peak, sizes, tried_all_orders })
}
