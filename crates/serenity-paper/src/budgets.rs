//! What a budget and a step limit do to a search: the paper's figure 8b and its Algorithm 2; and its appendix D on
//! complexity, with the graph of figure 16.

use crate::cells::FITTED;
use crate::effort::SWIFTNET;
use crate::page::{Part, Section};
use crate::rewriting::rewritten;
use crate::semantics::{COPIES, Run, VIEWS, build};
use serenity::ir::Graph;
use serenity::memories;
use serenity::runtimes::MemoryModelExt;
use serenity::schedule::within::orders_within;
use serenity::schedule::{Algorithm, BudgetResult, Limits, SoftBudget, StepLimit};
use serenity::{Error, schedule};
use serenity_report::{Axis, Colour, Line, LineChart, Mark, Shape, Table, grouped};

/// Budgets between the optimum and Kahn's peak, both included.
const BUDGETS: u64 = 12;

/// Step limits, in states of one step.
const STEP_LIMITS: [u64; 6] = [100, 500, 2_000, 10_000, 50_000, 250_000];

/// Branches of the graph that the paper's appendix invents.
const BRANCHES: [u64; 4] = [4, 8, 12, 16];

/// The states of a search under some budgets, with and without a solution.
struct Explored {
    optimum: u64,
    kahn: u64,
    /// A budget, and the states visited under it.
    points: Vec<(u64, u64)>,
}

pub(crate) fn section() -> Result<Section, Error> {
    let graph = rewritten(&build(SWIFTNET)?)?;
    let explored = explored(&graph)?;
    Ok(Section {
        title: "Budgets and step limits (figure 8b, algorithm 2, appendix D)",
        headlines: Vec::new(),
        parts: vec![
            Part::text(
                "The whole of SwiftNet (reconstruction, cell A in the wiring `fitted`), rewritten by the paper's rules. How many partial schedules the dynamic programming keeps under a budget, which the paper sketches: too small a \
                 budget leaves no schedule, the optimum is the cheapest one that does, and a looser one costs more.",
            ),
            Part::Table("states-over-budget", over_budgets(&explored)),
            Part::Figure("states-over-budget", "States explored over the budget", chart(&explored)),
            Part::text(
                "Algorithm 2 looks for a good budget: it calls one too loose when a step takes longer than T. Here T counts states, so that every machine does the same. With \
                 a small T it tries several budgets and visits fewer states in the end than `dp`; with the default (250,000) none is too loose, and nothing is gained. The paper gives no T. \
                 The rule `adaptive` is ours and always ends; `printed` is the paper's, which tries the same budgets again and again where T is small for the graph: the peak is then the best of \
                 simple orders, from the first piece on that has no solution.",
            ),
            Part::Table("step-limits", over_step_limits(&graph)?),
            Part::text(
                "The graph of figure 16, which appendix D invents for the worst case: an entry, independent branches, an exit (`zoo:branches`). Its orders, (|V| - 2)!; the states of the dynamic programming; its steps, which the \
                 appendix derives as 2 + (|V| - 2) 2^(|V| - 3) and bounds by |V| 2^|V|; and the states of the exact engine, which sees that the branches are alike:",
            ),
            Part::Table("branches", branches()?),
        ],
    })
}

fn explored(graph: &Graph) -> Result<Explored, Error> {
    let (optimum, kahn) = (Run::best(graph, VIEWS)?.live_sum(), Run::kahn(graph, VIEWS)?.live_sum());
    let problem = serenity::pipeline::problem(graph, &VIEWS.lifetimes(graph));
    let below = optimum - optimum / 20;
    let steps = (0..BUDGETS).map(|i| optimum + (kahn - optimum) * i / (BUDGETS - 1));
    let states = |budget: u64| {
        let found = orders_within(&problem, budget, 0, 0, &Limits::default());
        found
            .map(|found| (budget, found.states))
            .map_err(|_| Error::from(memories::Error::NoArena { graph: graph.name().to_owned() }))
    };
    let points = [below].into_iter().chain(steps).map(states).collect::<Result<_, _>>()?;
    Ok(Explored { optimum, kahn, points })
}

fn over_budgets(explored: &Explored) -> Table {
    let mut table = Table::titled("#budget, bytes | network | #states | result");
    for &(budget, states) in &explored.points {
        let result = if budget < explored.optimum {
            "no solution"
        } else if budget == explored.optimum {
            "the optimum"
        } else if budget == explored.kahn {
            "a solution; Kahn's peak, the hard budget"
        } else {
            "a solution"
        };
        table.push([&grouped(budget.into()), FITTED, &grouped(states.into()), result]);
    }
    table
}

fn chart(explored: &Explored) -> String {
    let kb = |bytes: u64| bytes as f64 / 1000.0;
    let points =
        explored.points.iter().map(|&(budget, states)| (kb(budget), states as f64 / 1000.0)).collect();
    let first = explored.points.first().map_or(0.0, |point| kb(point.0));
    LineChart {
        title: "States explored over the budget".to_owned(),
        subtitle:
            "SwiftNet (reconstruction), rewritten; dynamic programming that drops what exceeds the budget"
                .to_owned(),
        bottom_axis: Axis { from: Some((first / 10.0).floor() * 10.0), ..Axis::linear("soft budget, KB") },
        value_axis: Axis::logarithmic("thousand states"),
        lines: vec![Line {
            name: "partial schedules kept".to_owned(),
            colour: Colour::Blue,
            points,
            shape: Shape::Dots,
        }],
        marks: vec![
            Mark::Upright(kb(explored.optimum), "the optimum: no solution to the left".to_owned()),
            Mark::Upright(kb(explored.kahn), "Kahn's peak, the hard budget".to_owned()),
        ],
    }
    .to_svg()
}

fn over_step_limits(graph: &Graph) -> Result<Table, Error> {
    let mut table = Table::titled(
        "algorithm | network | rule | #T, states per step | #budgets tried | #timeouts \
| #T in the end | #states | #peak, bytes | result",
    );
    let mut add = |algorithm, (rule, soft_budget): (&str, _), limit: u64| -> Result<(), Error> {
        let step_limit = StepLimit::States(limit);
        let usual = serenity::Options::default();
        let options = serenity::Options { model: VIEWS, algorithm, step_limit, soft_budget, ..usual };
        let plan = schedule(graph, &options)?;
        let tried = plan.stats.soft_budgets.iter();
        let timeouts = tried.clone().filter(|tried| tried.result == BudgetResult::Timeout).count();
        let states = |limit| if let StepLimit::States(states) = limit { states } else { 0 };
        let last = tried.clone().filter_map(|tried| tried.step_limit.map(states)).max();
        table.push([
            &algorithm.to_string(),
            FITTED,
            rule,
            &last.map_or(String::new(), |_| grouped(limit.into())),
            &tried.len().to_string(),
            &timeouts.to_string(),
            &last.map_or(String::new(), |last| grouped(last.into())),
            &grouped(plan.stats.states.into()),
            &plan.after.peak.to_string(),
            plan.stopped().as_deref().unwrap_or("optimal"),
        ]);
        Ok(())
    };
    let rules = [("adaptive", SoftBudget::Adaptive), ("printed", SoftBudget::Printed)];
    add(Algorithm::Dp, ("", SoftBudget::Adaptive), 0)?;
    for (rule, limit) in rules.into_iter().flat_map(|rule| STEP_LIMITS.map(|limit| (rule, limit))) {
        add(Algorithm::DpDivideBudget, rule, limit)?;
    }
    Ok(table)
}

fn branches() -> Result<Table, Error> {
    let mut table = Table::titled(
        "#nodes | network | #orders | #states of `dp` | #steps, as derived | #the paper's bound \
| #states of `exact`",
    );
    for count in BRANCHES {
        let graph = build(&format!("branches?branches={count}"))?;
        let states = |algorithm| -> Result<u64, Error> {
            let options = serenity::Options { model: COPIES, algorithm, ..serenity::Options::default() };
            Ok(schedule(&graph, &options)?.stats.states)
        };
        let nodes = graph.ops().len() as u32;
        table.push([
            nodes.to_string(),
            "published".to_owned(),
            grouped((1..=u128::from(count)).product()),
            grouped(states(Algorithm::Dp)?.into()),
            grouped(2 + (u128::from(nodes - 2) << (nodes - 3))),
            grouped(u128::from(nodes) << nodes),
            grouped(states(Algorithm::Exact)?.into()),
        ]);
    }
    Ok(table)
}
