//! What a budget and a step limit do to a search: the paper's figure 8b and its Algorithm 2; and its appendix on complexity.

use crate::effort::SWIFTNET;
use crate::page::{Part, Section};
use crate::rewriting::rewritten;
use crate::semantics::{COPIES, Run, VIEWS, build};
use serenity::ir::Graph;
use serenity::scheduling::within::orders_within;
use serenity::scheduling::{Algorithm, Limits, StepLimit};
use serenity::{Error, schedule};
use serenity_report::{Axis, Colour, Column, Line, LineChart, Mark, Shape, Table, grouped};

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
        title: "Budgets and step limits",
        headlines: Vec::new(),
        parts: vec![
            Part::text(
                "The whole of SwiftNet (reconstruction), rewritten by the paper's rules. How many partial schedules the dynamic programming keeps under a budget, which the paper sketches: too small a \
                 budget leaves no schedule, the optimum is the cheapest one that does, and a looser one costs more.",
            ),
            Part::Table("states-over-budget", over_budgets(&explored)),
            Part::Figure("states-over-budget", "States explored over the budget", chart(&explored)),
            Part::text(
                "Algorithm 2 looks for a good budget: it calls one too loose when a step takes longer than T. Here T counts states, so that every machine does the same. With \
                 a small T it tries several budgets and visits fewer states in the end than `dp`; with the default (the last row) none is too loose, and nothing is gained.",
            ),
            Part::Table("step-limits", over_step_limits(&graph)?),
            Part::text(
                "The graph that the paper's appendix invents for the worst case: an entry, independent branches, an exit (`zoo:branches`). Its orders, the states of the dynamic programming, the paper's \
                 bound |V| 2^|V| on its steps, and the states of the exact engine, which sees that the branches are alike:",
            ),
            Part::Table("branches", branches()?),
        ],
    })
}

fn explored(graph: &Graph) -> Result<Explored, Error> {
    let (optimum, kahn) = (Run::best(graph, VIEWS)?.live_sum(), Run::kahn(graph, VIEWS)?.live_sum());
    let problem = serenity::problem(graph, &VIEWS.lifetimes(graph));
    let below = optimum - optimum / 20;
    let steps = (0..BUDGETS).map(|i| optimum + (kahn - optimum) * i / (BUDGETS - 1));
    let states = |budget: u64| {
        let found = orders_within(&problem, budget, 0, 0, &Limits::default());
        found
            .map(|found| (budget, found.states))
            .map_err(|_| Error::NoArena { graph: graph.name().to_owned() })
    };
    let points = [below].into_iter().chain(steps).map(states).collect::<Result<_, _>>()?;
    Ok(Explored { optimum, kahn, points })
}

fn over_budgets(explored: &Explored) -> Table {
    let mut table = Table::new([
        Column::number("budget, bytes"),
        Column::text("network"),
        Column::number("states"),
        Column::text("result"),
    ]);
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
        table.push([&grouped(budget.into()), "reconstruction", &grouped(states.into()), result]);
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
    let mut table = Table::new([
        Column::text("algorithm"),
        Column::text("network"),
        Column::number("T, states a step"),
        Column::number("states"),
        Column::number("peak, bytes"),
    ]);
    let mut add = |algorithm: Algorithm, limit: Option<u64>| -> Result<(), Error> {
        let step_limit = limit.map_or(StepLimit::default(), StepLimit::States);
        let options =
            serenity::Options { model: VIEWS, algorithm, step_limit, ..serenity::Options::default() };
        let plan = schedule(graph, &options)?;
        table.push([
            &algorithm.to_string(),
            "reconstruction",
            &limit.map_or(String::new(), |limit| grouped(limit.into())),
            &grouped(plan.stats.states.into()),
            &plan.after.peak.to_string(),
        ]);
        Ok(())
    };
    add(Algorithm::Dp, None)?;
    for limit in STEP_LIMITS {
        add(Algorithm::DpDivideBudget, Some(limit))?;
    }
    Ok(table)
}

fn branches() -> Result<Table, Error> {
    let mut table = Table::new([
        Column::number("nodes"),
        Column::text("network"),
        Column::number("orders"),
        Column::number("states of `dp`"),
        Column::number("the paper's bound"),
        Column::number("states of `exact`"),
    ]);
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
            grouped(u128::from(nodes) << nodes),
            grouped(states(Algorithm::Exact)?.into()),
        ]);
    }
    Ok(table)
}
