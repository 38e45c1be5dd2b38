//! The peaks of random orders: how good is an order that nobody optimised?

use crate::{ErrorKind, Options, Plan};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use serenity_ir::{Graph, Unknown};
use serenity_pipeline::problem;
use serenity_runtimes::{MemoryModel, MemoryModelExt};
use serenity_schedule::distribution::{self, CountError, Distribution};
use serenity_search::{Proved, StopReason};
use std::collections::BTreeMap;

/// The shares of orders whose peaks are stated.
pub const QUANTILES: [f64; 9] = [0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0];

/// Which orders to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Draw {
    /// All of them, counted and not listed.
    All,
    /// Random ones. The same seed draws the same orders on every machine.
    Some {
        /// How many to draw.
        count: u64,
        /// The seed.
        seed: u64,
    },
}

impl Draw {
    /// What 'a random order' means.
    pub fn measure(self) -> &'static str {
        match self {
            Self::All => "every order is equally likely",
            Self::Some { .. } => "uniform among the ops that can run next",
        }
    }
}

/// Orders that were drawn or counted.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// Which orders were asked for.
    pub draw: Draw,
    /// How their peaks are distributed.
    pub peaks: Distribution,
    /// Why there are fewer orders than asked for, if there are.
    pub stopped: Option<StopReason>,
}

/// Why there are no orders to speak of.
#[derive(Clone, Debug, thiserror::Error)]
pub enum NoOrders {
    /// A limit ended the drawing before the first order.
    #[error("no order was drawn: {0}")]
    NoneDrawn(StopReason),
    /// There are too many to count, or a limit ended the counting.
    #[error("the orders cannot be counted: {0}")]
    NotCounted(CountError),
}

impl NoOrders {
    /// The kind of error, for programs.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::NoneDrawn(_) | Self::NotCounted(CountError::Stopped(_)) => ErrorKind::Limit,
            Self::NotCounted(_) => ErrorKind::Model,
        }
    }
}

impl Drawn {
    /// Draws or counts orders of a graph, within the limits of the options.
    ///
    /// # Errors
    /// If there are no orders to speak of.
    pub fn new(graph: &Graph, draw: Draw, options: &Options) -> Result<Self, NoOrders> {
        let Options { model, limits, progress, .. } = options;
        let problem = problem(graph, &model.lifetimes(graph));
        let (peaks, stopped) = match draw {
            Draw::All => {
                let peaks = distribution::count(&problem, limits, progress.as_ref());
                (peaks.map_err(NoOrders::NotCounted)?, None)
            }
            Draw::Some { count, seed } => {
                distribution::sample(&problem, count, seed, limits, progress.as_ref())
            }
        };
        match stopped {
            Some(reason) if peaks.total() == 0 => Err(NoOrders::NoneDrawn(reason)),
            _ => Ok(Self { draw, peaks, stopped }),
        }
    }
}

/// Orders, and the best one beside them.
#[derive(Clone, Debug)]
pub struct Sampled {
    /// The orders that were drawn or counted.
    pub drawn: Drawn,
    /// The plan of the best order.
    pub best: Plan,
}

impl Sampled {
    /// The share of orders that are optimal; `None` if the best order is not proved optimal.
    pub fn share_optimal(&self) -> Option<f64> {
        self.best.is_optimal().then(|| self.drawn.peaks.share_within(self.best.after.peak))
    }

    /// The share of orders within a budget; `None` if an order may need more than is known.
    pub fn share_within(&self, budget: u64) -> Option<f64> {
        self.best.counts_everything().then(|| self.drawn.peaks.share_within(budget))
    }

    /// The distribution as JSON states it.
    pub fn stated(&self, budget: Option<u64>) -> StatedSample<'_> {
        let Self { drawn: Drawn { draw, peaks, stopped }, best } = self;
        let seed = match *draw {
            Draw::All => None,
            Draw::Some { seed, .. } => Some(seed),
        };
        StatedSample {
            graph: &best.graph,
            runtime: best.model,
            count: peaks.total().into(),
            exact: *draw == Draw::All,
            stopped: stopped.map(|reason| reason.to_string()),
            measure: draw.measure(),
            seed,
            quantiles: QUANTILES.iter().map(|&q| (q.to_string(), peaks.quantile(q).into())).collect(),
            distribution: peaks.peaks().map(|(peak, orders)| (peak, orders.into())).collect(),
            best: best.after.peak,
            optimum: best.after.peak,
            proof: Proved::if_so(best.is_optimal()),
            share_optimal: self.share_optimal(),
            unknown: &best.unknown,
            budget,
            share_within_budget: budget.and_then(|budget| self.share_within(budget)),
        }
    }
}

/// `serenity sample`: how the peaks of random orders are distributed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StatedSample<'a> {
    /// The name of the graph; may be empty.
    pub graph: &'a str,
    /// The memory model.
    pub runtime: MemoryModel,
    /// The number of orders drawn or counted.
    pub count: Large,
    /// Were all orders counted (--exact), or some drawn?
    pub exact: bool,
    /// Why fewer orders were drawn than asked for; null if all were.
    pub stopped: Option<String>,
    /// What 'random' means here.
    pub measure: &'static str,
    /// The seed of the drawing; null with --exact.
    pub seed: Option<u64>,
    /// From a share (`0`, `0.01`, ... `1`) to the least peak that at least this share of orders does not exceed.
    #[schemars(with = "BTreeMap<String, u64>")]
    pub quantiles: Map<String, Value>,
    /// Pairs of a peak and the number of orders that have it, ascending.
    pub distribution: Vec<(u64, Large)>,
    /// The least peak that the search found, whether or not an order drawn has it.
    pub best: u64,
    /// The least peak, by its older name.
    pub optimum: u64,
    /// Is it proved that no order has a lower peak?
    pub proof: Proved,
    /// The share of orders that reach it, 0 to 1; null if it is not proved optimal.
    pub share_optimal: Option<f64>,
    /// What is not known of the model. If anything is, nothing is proved, and figures are minimums.
    pub unknown: &'a [Unknown],
    /// The budget, as given by --budget.
    pub budget: Option<u64>,
    /// The share of orders within the budget, 0 to 1; null without one.
    pub share_within_budget: Option<f64>,
}

/// A number, or a text of digits if it is 2^64 or more.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Large {
    /// Less than 2^64.
    Exact(u64),
    /// 2^64 or more.
    Digits(String),
}

impl From<u128> for Large {
    fn from(number: u128) -> Self {
        u64::try_from(number).map_or_else(|_| Self::Digits(number.to_string()), Self::Exact)
    }
}
