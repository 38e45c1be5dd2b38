//! What a search takes: the paper's table 2, as far as no clock is needed.

use crate::cells::FITTED;
use crate::page::{Part, Section};
use crate::rewriting::{nodes, rewritten};
use crate::semantics::{VIEWS, build};
use serenity::ir::Graph;
use serenity::schedule::{Algorithm, Limits};
use serenity::{Error, Plan, schedule};
use serenity_report::{Table, grouped};
use std::time::Duration;

/// The algorithms with what the paper says they take, without and with rewriting.
const ALGORITHMS: [(Algorithm, [&str; 2]); 5] = [
    (Algorithm::Dp, ["N/A", "N/A"]),
    (Algorithm::DpDivide, ["56.5 s", "7.2 hours"]),
    (Algorithm::DpDivideBudget, ["37.9 s", "111.9 s"]),
    (Algorithm::DpBudget, ["", ""]),
    (Algorithm::Exact, ["", ""]),
];

/// Where a search gives up. Unlike time, memory ends it at the same point on every machine.
const MEMORY_LIMIT: u64 = 1 << 30;

/// A short search is repeated so often for its time, a long one is not.
const RUNS: usize = 5;
const LONG: Duration = Duration::from_secs(1);

/// The whole of it, with the cell A that has the paper's figures after rewriting too.
pub(crate) const SWIFTNET: &str = "swiftnet?wiring=fitted";

pub(crate) struct TimedSearch {
    pub(crate) is_rewritten: bool,
    /// Nodes as the paper counts them.
    nodes: usize,
    pub(crate) algorithm: Algorithm,
    pub(crate) plan: Plan,
    pub(crate) time: Duration,
    /// What the paper reports.
    pub(crate) paper: &'static str,
}

impl TimedSearch {
    /// The number of operators and of those in each piece, as the paper writes it; `4x1` stands for four pieces of one.
    pub(crate) fn operators(&self) -> String {
        let pieces = &self.plan.stats.pieces;
        let mut parts: Vec<String> =
            pieces.iter().filter(|&&size| size > 1).map(ToString::to_string).collect();
        let single = pieces.len() - parts.len();
        if single > 0 {
            parts.push(format!("{single}x1"));
        }
        format!("{}={{{}}}", self.plan.order.len(), parts.join(","))
    }
}

/// Every algorithm on the whole of `SwiftNet`, without and with rewriting.
pub(crate) fn measure() -> Result<Vec<TimedSearch>, Error> {
    let graph = build(SWIFTNET)?;
    let rewritten = rewritten(&graph)?;
    let mut efforts = Vec::new();
    for (index, graph) in [&graph, &rewritten].into_iter().enumerate() {
        for (algorithm, paper) in ALGORITHMS {
            let (plan, time) = timed(graph, algorithm)?;
            let (is_rewritten, paper) = (index == 1, paper[index]);
            efforts.push(TimedSearch { is_rewritten, nodes: nodes(graph), algorithm, plan, time, paper });
        }
    }
    Ok(efforts)
}

/// A plan, and the median of the times to find it.
pub(crate) fn timed(graph: &Graph, algorithm: Algorithm) -> Result<(Plan, Duration), Error> {
    let limits = Limits { memory: Some(MEMORY_LIMIT), ..Limits::default() };
    let options = serenity::Options { model: VIEWS, algorithm, limits, ..serenity::Options::default() };
    let mut times = Vec::new();
    loop {
        let plan = schedule(graph, &options)?;
        times.push(plan.stats.elapsed);
        if times.len() == RUNS || plan.stats.elapsed > LONG {
            times.sort_unstable();
            return Ok((plan, times[times.len() / 2]));
        }
    }
}

pub(crate) fn section(efforts: &[TimedSearch]) -> Section {
    let mut table = Table::titled(
        "rewriting | algorithm | network | #nodes | in the paper | operators and partitions \
| #states | #peak, bytes | result",
    );
    for effort in efforts {
        let paper = match (effort.algorithm, effort.is_rewritten) {
            (Algorithm::Exact | Algorithm::DpBudget, _) => "",
            (Algorithm::Dp, false) => "62={62}",
            (Algorithm::Dp, true) => "92={92}",
            (_, false) => "62={21,19,22}",
            (_, true) => "92={33,28,29}",
        };
        table.push([
            if effort.is_rewritten { "yes" } else { "no" },
            &effort.algorithm.to_string(),
            FITTED,
            &effort.nodes.to_string(),
            paper,
            &effort.operators(),
            &grouped(effort.plan.stats.states.into()),
            &effort.plan.after.peak.to_string(),
            if effort.plan.is_optimal() { "optimal" } else { "stopped at 1 GiB of tables" },
        ]);
    }
    Section {
        title: "Search effort (table 2)",
        headlines: Vec::new(),
        parts: vec![
            Part::text(
                "The paper's algorithms and our exact engine on the whole of SwiftNet (reconstruction, cell A in the wiring `fitted`): states visited, which no clock \
                 disturbs. The paper numbers them 1 (`dp`), 1+2 (`dp+dc`) and 1+2+3 (`dp+dc+asb`); `dp+asb` is 1+3, which it leaves out. `9x1` stands for nine pieces of one operator: we cut at every operator that all paths pass, the paper between cells. The end \
                 of an accumulation is an operator here and no node in the paper. The paper prints 92 rewritten nodes; its own partitions add up to 90. Times \
                 are in [times.md](times.md).",
            ),
            Part::Table("search-effort", table),
        ],
    }
}
