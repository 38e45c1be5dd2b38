//! The evaluation of the paper, recomputed from the zoo.
//!
//! Takes the number of random networks and random orders to draw ([`Options`]). Returns an [`Evaluation`]: every table
//! and figure of the evaluation in "Ordering Chaos: Memory-Aware Scheduling of Irregularly Wired Neural Networks for
//! Edge Devices" (Ahn et al., `MLSys` 2020) as Markdown, CSV and SVG, each figure beside the one that the paper
//! published.
//!
//! Guarantees: equal options give equal bytes on every machine; what is measured with a clock is in separate files,
//! whose names begin with `times`. Where a network of the paper is not public, the row says `reconstruction`. Factors
//! compare like with like; where the paper's own factor does not, its parts are shown beside it.

mod beyond;
mod budgets;
mod cells;
mod effort;
mod footprints;
mod gains;
mod networks;
mod optimal_orders;
mod over_time;
mod page;
mod parallel;
mod peaks;
mod random_orders;
mod randwire;
mod rewriting;
mod runtimes;
mod semantics;
mod statistics;
mod times;
mod traffic;
mod wirings;

pub use page::File;

use cells::CELLS;
use footprints::Footprints;
use peaks::Peaks;
use serenity::Error;
use serenity_report::Table;

/// How much to draw. The defaults take some minutes on two cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Random networks for every `RandWire` cell.
    pub seeds: u64,
    /// Random orders of `SwiftNet` cell A.
    pub orders: u64,
    /// Threads; the result does not depend on it.
    pub threads: usize,
    /// Plan the cells for today's runtimes too, which takes longest.
    pub runtimes: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { seeds: 200, orders: 100_000, threads: 1, runtimes: true }
    }
}

/// Everything that was computed.
#[derive(Clone, Debug)]
pub struct Evaluation {
    /// The files to write: `README.md`, a CSV for each table, an SVG for each figure, and separate ones for all that
    /// was measured with a clock.
    pub files: Vec<File>,
    /// The figures of the paper's text beside ours: what, the paper's, ours, whose network.
    pub at_a_glance: Table,
    /// The factor by which scheduling alone reduces peak memory in the paper's sense, as geometric mean over all cells
    /// (the paper: 1.68).
    pub scheduled: f64,
    /// The factor by which scheduling and graph rewriting together reduce peak memory, as geometric mean over all cells
    /// (the paper: 1.86).
    pub rewritten: f64,
}

/// Where the section about today's runtimes comes: behind what it is compared with.
const BEFORE_RANDWIRE: usize = 3;

/// What is being computed, for whoever waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Steps that are done.
    pub done: usize,
    /// Steps in all.
    pub steps: usize,
    /// What comes now.
    pub now: &'static str,
}

/// Computes all tables and figures.
///
/// # Errors
/// Only if a plan fails its own check, which would be a bug.
pub fn evaluate(options: &Options, progress: &dyn Fn(&Progress)) -> Result<Evaluation, Error> {
    let step = |done, now| progress(&Progress { done, steps: 13, now });
    step(0, "peak memory of every cell");
    let cells: Vec<Footprints> =
        CELLS.iter().map(|cell| Footprints::measure(cell, options)).collect::<Result<_, _>>()?;
    let peaks = Peaks::of(&cells);
    step(1, "RandWire over seeds");
    let randwire = randwire::section(options)?;
    step(2, "off-chip traffic");
    let traffic = traffic::section(options)?;
    step(3, "memory over time");
    let over_time = over_time::section()?;
    step(4, "random orders");
    let random_orders = random_orders::section(options)?;
    step(5, "networks");
    let networks = networks::section(options)?;
    step(6, "search effort");
    let efforts = effort::measure()?;
    step(7, "rewriting beyond the paper");
    let beyond = beyond::section(options)?;
    step(8, "SwiftNet A");
    let wirings = wirings::section()?;
    step(9, "equally optimal orders");
    let optimal_orders = optimal_orders::section(options)?;
    step(10, "budgets and step limits");
    let budgets = budgets::section()?;
    step(11, "today's runtimes");
    let runtimes = options.runtimes.then(|| runtimes::section(options)).transpose()?;
    step(12, "scheduling times");
    let times = times::section(options, &efforts)?;
    let mut sections = vec![
        peaks.section(options),
        gains::section(&cells, options),
        beyond,
        randwire,
        wirings,
        optimal_orders,
        traffic,
        over_time,
        random_orders,
        effort::section(&efforts),
        budgets,
        networks,
    ];
    if let Some(runtimes) = runtimes {
        sections.insert(BEFORE_RANDWIRE, runtimes);
    }
    let mut files = page::evaluation(&sections);
    files.extend(page::times(&times));
    Ok(Evaluation {
        files,
        at_a_glance: page::at_a_glance(&sections),
        scheduled: peaks.scheduled(),
        rewritten: peaks.rewritten(),
    })
}
