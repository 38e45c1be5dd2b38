//! The paper's table of scheduling times: dynamic programming alone, with divide-and-conquer, with adaptive soft
//! budgeting. Beside them our exact engine.
//!
//! `cargo bench --bench scheduling_time -p serenity-ml` prints the whole table; `… -- swiftnet darts` only the networks
//! whose name contains one of these words. Times are CPU time of this process, the median of several runs where one is
//! short.

#![allow(clippy::print_stdout, reason = "a benchmark prints its table")]

use serenity::load;
use serenity::runtimes::MemoryModelExt;
use serenity::schedule::{Algorithm, Limits, Options, Problem, Proof, Schedule, schedule};
use std::time::Duration;

/// The networks, those of the paper first.
const NETWORKS: &[&str] = &[
    "swiftnet",
    "swiftnet-a",
    "swiftnet-b",
    "swiftnet-c",
    "darts-cell",
    "randwire-cifar10",
    "randwire-cifar100",
    "randwire-cifar10?ops=split",
    "randwire-cifar100?ops=split",
];

/// The algorithms, with the time the paper gives for `SwiftNet` (its table 2, without graph rewriting).
const ALGORITHMS: [(Algorithm, &str); 4] = [
    (Algorithm::Dp, "N/A"),
    (Algorithm::DpDivide, "56.5 s"),
    (Algorithm::DpDivideBudget, "37.9 s"),
    (Algorithm::Exact, ""),
];

/// A run that takes longer is stopped, and says what it has proved until then.
const TIME_LIMIT: Duration = Duration::from_secs(60);
const MEMORY_LIMIT: u64 = 4 << 30;

/// A short run is repeated: at least so often, until all have taken this long together or there are so many. A long one is not.
const FEWEST_RUNS: usize = 5;
const MOST_RUNS: usize = 25;
const ENOUGH: Duration = Duration::from_millis(500);
const LONG: Duration = Duration::from_secs(10);

/// The columns, with their widths; texts to the left, numbers to the right.
const HEADER: [&str; 8] = ["network", "algorithm", "nodes", "peak", "states", "CPU time", "paper", "result"];
const WIDTHS: [usize; 8] = [28, 10, 26, 9, 10, 10, 7, 0];
const TEXTS: [usize; 4] = [0, 1, 2, 7];

fn main() {
    // Cargo itself passes `--bench`.
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    print_row(&HEADER.map(str::to_owned));
    for network in NETWORKS {
        if wanted.is_empty() || wanted.iter().any(|word| network.contains(word.as_str())) {
            measure_network(network);
        }
    }
    println!("\nMemory model `paper`. The paper's times are for its own SwiftNet (here: a reconstruction),");
    println!("another machine and another language: they stand here for reference, not as a race.");
    println!("`4x1`: four pieces of one node. 0 states: a bound met the first order, no search was needed.");
}

fn measure_network(network: &str) {
    let input = load(&format!("zoo:{network}")).expect("the networks of this table exist");
    let problem = serenity::pipeline::problem(input.graph(), &input.default_model.lifetimes(input.graph()));
    for (algorithm, published) in ALGORITHMS {
        let (found, time) = measure(&problem, algorithm);
        let result = match found.proof {
            Proof::Optimal => "optimal".to_owned(),
            Proof::Gap { stopped } => format!("at least {}: {stopped}", found.bound),
        };
        print_row(&[
            network.to_owned(),
            algorithm.to_string(),
            nodes(&found),
            found.peak.to_string(),
            found.stats.states.to_string(),
            in_words(time),
            if network == "swiftnet" { published } else { "" }.to_owned(),
            result,
        ]);
    }
}

/// One schedule, and the median CPU time to find it.
fn measure(problem: &Problem, algorithm: Algorithm) -> (Schedule, Duration) {
    let limits = Limits::lasting(TIME_LIMIT).holding(MEMORY_LIMIT);
    let options = Options { algorithm, limits, ..Options::default() };
    let mut times = Vec::new();
    loop {
        let started = clock::now();
        let found = schedule(problem, &options);
        times.push(clock::now().saturating_sub(started));
        let spent: Duration = times.iter().sum();
        let enough = times.len() >= FEWEST_RUNS && spent >= ENOUGH;
        if enough || times.len() == MOST_RUNS || spent >= LONG {
            times.sort_unstable();
            return (found, times[times.len() / 2]);
        }
    }
}

/// The number of nodes and of those in each piece, as the paper writes it; `4x1` stands for four pieces of one node.
fn nodes(found: &Schedule) -> String {
    let sizes = &found.stats.pieces;
    let mut parts: Vec<String> = sizes.iter().filter(|&&size| size > 1).map(ToString::to_string).collect();
    let single = sizes.len() - parts.len();
    if single > 0 {
        parts.push(format!("{single}x1"));
    }
    format!("{}={{{}}}", found.order.len(), parts.join(","))
}

fn in_words(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 1.0 { format!("{:.2} ms", seconds * 1e3) } else { format!("{seconds:.1} s") }
}

fn print_row(cells: &[String; 8]) {
    let mut line = String::new();
    for (column, cell) in cells.iter().enumerate() {
        let width = WIDTHS[column];
        let padded =
            if TEXTS.contains(&column) { format!("{cell:<width$}") } else { format!("{cell:>width$}") };
        line.push_str(&padded);
        line.push_str("  ");
    }
    println!("{}", line.trim_end());
}

/// The CPU time of this process: other processes do not disturb it.
#[cfg(unix)]
mod clock {
    use rustix::time::{ClockId, clock_gettime};
    use std::time::Duration;

    pub(crate) fn now() -> Duration {
        let time = clock_gettime(ClockId::ProcessCPUTime);
        Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
    }
}

/// Wall-clock time, where there is no other.
#[cfg(not(unix))]
mod clock {
    use std::sync::LazyLock;
    use std::time::{Duration, Instant};

    static START: LazyLock<Instant> = LazyLock::new(Instant::now);

    pub(crate) fn now() -> Duration {
        START.elapsed()
    }
}
