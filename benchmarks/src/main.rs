//! Serenity's exact engine beside what else there is: the algorithms of the paper, and the heuristic of tract.
//!
//! A package of its own, outside the main workspace: tract is a peer to compare with, not something every build of
//! Serenity should compile. Searches are measured in one run on the same graphs under the memory model `plain`, so that
//! ratios mean something even where the machine is slow or shared. Tables go to standard output, progress to standard
//! error.

mod ablation;
mod arguments;
mod clock;
mod compare;
mod measure;
mod networks;
mod peer;
mod scoreboard;
mod table;

use arguments::{Arguments, Task};
use serenity::ir::{Graph, Lifetimes, OpId};
use serenity::runtimes::{MemoryModel, MemoryModelExt};
use serenity::schedule::Problem;
use std::error::Error;
use std::process::ExitCode;

/// A network as all benchmarks take it.
pub(crate) struct Network {
    pub(crate) name: String,
    pub(crate) graph: Graph,
    pub(crate) lifetimes: Lifetimes,
    pub(crate) problem: Problem,
}

impl Network {
    /// Reads `GRAPH.json` or builds `zoo:NAME`. Every tensor gets a buffer of its own: the only memory model that peers share.
    fn load(source: &str) -> Result<Self, Box<dyn Error>> {
        let graph = serenity::load(source)?.graph().clone();
        let lifetimes = MemoryModel::Plain.lifetimes(&graph);
        let problem = serenity::pipeline::problem(&graph, &lifetimes);
        Ok(Self { name: networks::short_name(source), graph, lifetimes, problem })
    }

    /// The most that is in use at once in this order.
    fn peak(&self, order: &[OpId]) -> u64 {
        self.lifetimes.profile(order).peak()
    }
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    match Arguments::parse(std::env::args().skip(1))? {
        Task::Help => print!("{}", arguments::HELP),
        Task::Ablation { cap } => ablation::run(cap)?,
        Task::Scoreboard { sources, cap } => scoreboard::run(&sources, cap)?,
        Task::Compare { sources, cap } => compare::run(&sources, cap)?,
    }
    Ok(())
}
