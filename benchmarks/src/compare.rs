//! The exact engine against the three algorithms of the paper, and the optimum against the orders of others.

use crate::Network;
use crate::measure::{self, Run, in_words};
use crate::peer::{self, Numbering, PeerOrder};
use crate::table::Table;
use serenity::ir::OpId;
use serenity::schedule::{Algorithm, Options, Proof};
use std::error::Error;
use std::time::Duration;

const PAPER: [Algorithm; 3] = [Algorithm::Dp, Algorithm::DpDivide, Algorithm::DpDivideBudget];

/// Measures all graphs, then prints the tables.
pub(crate) fn run(sources: &[String], cap: Duration) -> Result<(), Box<dyn Error>> {
    let mut times = Table::new([
        "graph",
        "ops",
        "peak",
        "states",
        "exact",
        "states",
        "dp",
        "states",
        "dp+dc",
        "states",
        "dp+dc+asb",
        "ratio",
    ]);
    let mut orders = Table::new(["graph", "ops", "best", "file order", "tract", "tract, compact"]);
    let mut excesses = Excesses::default();
    for (done, source) in sources.iter().enumerate() {
        let network = Network::load(source)?;
        eprintln!("{}/{} {}", done + 1, sources.len(), network.name);
        let searches = Searches::of(&network, cap)?;
        times.push(searches.row(&network));
        orders.push(excesses.row(&network, &searches)?);
    }
    println!("Searches, CPU time each at most {}, memory model `plain`\n", in_words(cap));
    times.print();
    println!(
        "\n`> 20 s`: not finished by then. `(+5 %)`: so far above the best peak known is the best order it had."
    );
    println!("`M`: stopped at 8 GiB of tables. `>= x`: the peak is not proved, the bound is x.");
    println!("ratio: time of the fastest of dp, dp+dc, dp+dc+asb over that of exact.\n");
    println!("Orders of others: peak above the best known\n");
    orders.push(excesses.mean());
    orders.print();
    println!("\n`*`: the best known is not proved optimal.");
    if excesses.appended > 0 {
        println!(
            "tract leaves out ops that no output needs ({} in all); here they run as soon as they can.",
            excesses.appended
        );
    }
    Ok(())
}

/// All searches on one graph.
struct Searches {
    exact: Run,
    paper: [Run; 3],
    /// The best peak that any of them found.
    best: u64,
}

impl Searches {
    fn of(network: &Network, cap: Duration) -> Result<Self, Box<dyn Error>> {
        let search = |algorithm: Algorithm| {
            let run = measure::steady(&network.problem, &Options { algorithm, ..Options::default() }, cap);
            eprintln!("    {algorithm}: peak {}, {}", run.found.peak, run.time_in_words());
            run
        };
        let exact = search(Algorithm::Exact);
        let paper = PAPER.map(search);
        let runs = || paper.iter().chain([&exact]);
        let best = runs().map(|run| run.found.peak).min().unwrap_or(0);
        // Whoever proves an optimum must find the same.
        if runs().any(|run| run.is_proved() && run.found.peak != best) {
            return Err(format!("`{}`: the algorithms disagree on the optimum", network.name).into());
        }
        Ok(Self { exact, paper, best })
    }

    fn is_proved(&self) -> bool {
        self.paper.iter().chain([&self.exact]).any(Run::is_proved)
    }

    fn row(&self, network: &Network) -> [String; 12] {
        let states = |run: &Run| run.found.stats.states.to_string();
        let [dp, divide, budget] = &self.paper;
        let peak = match self.exact.found.proof {
            Proof::Gap { .. } if !self.is_proved() => format!("{} >= {}", self.best, self.exact.found.bound),
            _ => self.best.to_string(),
        };
        [
            network.name.clone(),
            network.graph.ops().len().to_string(),
            peak,
            states(&self.exact),
            self.time(&self.exact),
            states(dp),
            self.time(dp),
            states(divide),
            self.time(divide),
            states(budget),
            self.time(budget),
            self.ratio(),
        ]
    }

    fn time(&self, run: &Run) -> String {
        let memory = if run.is_out_of_memory() { " M" } else { "" };
        let excess = match percent_above(run.found.peak, self.best) {
            above if above > 0.0 => format!(" (+{above:.0} %)"),
            _ => String::new(),
        };
        format!("{}{memory}{excess}", run.time_in_words())
    }

    /// How many times longer the fastest algorithm of the paper takes: a bound only where one side was stopped.
    fn ratio(&self) -> String {
        let finished = self.paper.iter().filter(|run| run.has_finished()).map(|run| run.time).min();
        let given_up = self.paper.iter().map(|run| run.time).min().unwrap_or_default();
        let over_exact = |time: Duration| time.as_secs_f64() / self.exact.time.as_secs_f64();
        match (finished, self.exact.has_finished()) {
            (Some(time), true) => number(over_exact(time)),
            (None, true) => format!("> {}", number(over_exact(given_up))),
            (Some(time), false) => format!("< {}", number(over_exact(time))),
            (None, false) => "?".to_owned(),
        }
    }
}

/// Two digits are enough for a ratio, and all there is to say.
fn number(ratio: f64) -> String {
    if ratio < 10.0 { format!("{ratio:.1}") } else { format!("{ratio:.0}") }
}

fn percent_above(peak: u64, best: u64) -> f64 {
    100.0 * (peak as f64 / best as f64 - 1.0)
}

/// How far above the best the orders of others are: file order, tract, tract with its own numbering.
#[derive(Default)]
struct Excesses {
    graphs: usize,
    /// Sums of the logarithms of peak over best.
    logs: [f64; 3],
    appended: usize,
}

impl Excesses {
    fn row(&mut self, network: &Network, searches: &Searches) -> Result<[String; 6], Box<dyn Error>> {
        let graph = &network.graph;
        let [plain, compact]: [PeerOrder; 2] =
            [peer::order(graph, Numbering::File)?, peer::order(graph, Numbering::Compact)?];
        let peak = |order: &[OpId]| network.peak(order);
        let peaks = [peak(&graph.file_order()), peak(&plain.order), peak(&compact.order)];
        self.graphs += 1;
        self.appended += plain.appended;
        for (log, &peak) in self.logs.iter_mut().zip(&peaks) {
            *log += (peak as f64 / searches.best as f64).ln();
        }
        let [file, plain, compact] = peaks.map(|peak| in_percent(percent_above(peak, searches.best)));
        let mark = if searches.is_proved() { "" } else { "*" };
        let ops = graph.ops().len().to_string();
        Ok([network.name.clone(), ops, format!("{}{mark}", searches.best), file, plain, compact])
    }

    /// Geometric means, the way to average ratios.
    fn mean(&self) -> [String; 6] {
        let mean = |log: f64| in_percent(100.0 * ((log / self.graphs.max(1) as f64).exp() - 1.0));
        let [file, plain, compact] = self.logs.map(mean);
        let none = String::new;
        ["geometric mean".to_owned(), none(), none(), file, plain, compact]
    }
}

fn in_percent(percent: f64) -> String {
    format!("+{percent:.1} %")
}
