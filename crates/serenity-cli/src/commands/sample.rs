//! `serenity sample`: how good is a random order?

use super::{limits, title, unknown, verdict};
use crate::args::SampleArgs;
use crate::progress::{ProgressLine, thousands};
use crate::signals::{cancel_on_signal, end_if_told};
use crate::size::Size;
use crate::{Failure, Outcome, json};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use serenity::ErrorKind;
use serenity::ir::Unknown;
use serenity::runtimes::{MemoryModel, MemoryModelExt};
use serenity::schedule::distribution::{self, CountError, Distribution};
use serenity::schedule::{Limits, Problem, StopReason};
use serenity::search::Proved;
use serenity::{Options, Plan};
use std::collections::BTreeMap;
use std::io::Write;

const QUANTILES: [f64; 9] = [0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0];

/// What was measured.
struct Sampled {
    peaks: Distribution,
    /// Why there are fewer orders than asked for, if there are.
    stopped: Option<StopReason>,
    best: Plan,
}

impl Sampled {
    /// The share of orders that are optimal, if it is known what that means.
    fn share_optimal(&self) -> Option<f64> {
        self.best.is_optimal().then(|| self.peaks.share_within(self.best.after.peak))
    }

    /// The share of orders within the budget, if one was given and all is known that it must hold.
    fn share_within_budget(&self, args: &SampleArgs) -> Option<f64> {
        args.budget
            .filter(|_| self.best.counts_everything())
            .map(|budget| self.peaks.share_within(budget.bytes))
    }
}

pub(crate) fn run(args: &SampleArgs, out: &mut impl Write) -> Result<Outcome, Failure> {
    if args.count == 0 && !args.exact {
        return Err(Failure::request(
            "there is nothing to draw: --count is 0",
            "give a positive --count, or --exact",
        ));
    }
    let input = args.read.load(&args.input, args.runtime.runtime)?;
    let title = title(input.graph(), &args.input);
    let model = args.runtime.model(&input)?;
    let graph = serenity::runtimes::main_graph(input.graphs(), &[], model);
    let limits = limits(&args.limits, &cancel_on_signal());
    let problem = serenity::pipeline::problem(&graph, &model.lifetimes(&graph));
    let (peaks, stopped) = distribution(args, &title, &problem, &limits)?;
    let (line, progress) = ProgressLine::new(&title, args.talk.quiet);
    let best = serenity::schedule(
        &graph,
        &Options { model, limits, progress, effort: args.limits.effort, ..Options::default() },
    )?;
    drop(line);
    let sampled = Sampled { peaks, stopped, best };
    if args.talk.json {
        writeln!(out, "{}", json::object("sample", Some(&args.input), stated(args, &sampled)))?;
    } else {
        writeln!(out, "{title}, memory model `{model}`\n")?;
        print(args, &sampled, out)?;
    }
    if args.budget.is_some() && !sampled.best.counts_everything() {
        return Ok(Outcome::ConditionNotMet);
    }
    Ok(Outcome::Done)
}

fn distribution(
    args: &SampleArgs,
    title: &str,
    problem: &Problem,
    limits: &Limits,
) -> Result<(Distribution, Option<StopReason>), Failure> {
    if args.exact {
        let (_line, progress) = ProgressLine::counting(title, "sets of ops counted", args.talk.quiet);
        let peaks = distribution::count(problem, limits, progress.as_ref()).map_err(|error| {
            end_if_told();
            too_many(&args.input, error)
        })?;
        return Ok((peaks, None));
    }
    let (_line, progress) = ProgressLine::counting(title, "orders drawn", args.talk.quiet);
    let (peaks, stopped) = distribution::sample(problem, args.count, args.seed, limits, progress.as_ref());
    match stopped {
        Some(reason) if peaks.total() == 0 => {
            end_if_told();
            Err(Failure::of(ErrorKind::Limit, format!("no order was drawn: {reason}"), "give more time"))
        }
        _ => Ok((peaks, stopped)),
    }
}

/// What 'a random order' means.
fn measure(args: &SampleArgs) -> &'static str {
    if args.exact { "all orders with equal weight" } else { "uniform among the ops that can run next" }
}

fn too_many(input: &str, error: CountError) -> Failure {
    let kind = if matches!(error, CountError::Stopped(_)) { ErrorKind::Limit } else { ErrorKind::Model };
    Failure::of(
        kind,
        format!("`{input}`: the orders cannot be counted: {error}"),
        match error {
            CountError::Stopped(_) => {
                "leave out --exact to draw random orders, or raise --memory-limit or --time-limit"
            }
            _ => "leave out --exact to draw random orders",
        },
    )
}

/// `serenity sample`: how the peaks of random orders are distributed.
#[derive(Serialize, JsonSchema)]
pub(crate) struct StatedSample<'a> {
    /// The name of the graph; may be empty.
    graph: &'a str,
    /// The memory model.
    runtime: MemoryModel,
    /// The number of orders drawn or counted.
    count: Large,
    /// Were all orders counted (--exact), or some drawn?
    exact: bool,
    /// Why fewer orders were drawn than asked for; null if all were.
    stopped: Option<String>,
    /// What 'random' means here.
    measure: &'static str,
    /// The seed of the drawing; null with --exact.
    seed: Option<u64>,
    /// From a share (`0`, `0.01`, ... `1`) to the least peak that at least this share of orders does not exceed.
    #[schemars(with = "BTreeMap<String, u64>")]
    quantiles: Map<String, Value>,
    /// Pairs of a peak and the number of orders that have it, ascending.
    distribution: Vec<(u64, Large)>,
    /// The least peak that the search found, whether or not an order drawn has it.
    best: u64,
    /// The least peak, by its older name.
    optimum: u64,
    /// Is it proved that no order has a lower peak?
    proof: Proved,
    /// The share of orders that reach it, 0 to 1; null if it is not proved optimal.
    share_optimal: Option<f64>,
    /// What is not known of the model. If anything is, nothing is proved, and figures are minimums.
    unknown: &'a [Unknown],
    /// The budget, as given by --budget.
    budget: Option<u64>,
    /// The share of orders within the budget, 0 to 1; null without one.
    share_within_budget: Option<f64>,
}

/// A number, or a text of digits if it is 2^64 or more.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum Large {
    Exact(u64),
    Digits(String),
}

impl From<u128> for Large {
    fn from(number: u128) -> Self {
        u64::try_from(number).map_or_else(|_| Self::Digits(number.to_string()), Self::Exact)
    }
}

fn stated<'a>(args: &SampleArgs, sampled: &'a Sampled) -> StatedSample<'a> {
    let Sampled { peaks, stopped, best } = sampled;
    StatedSample {
        graph: &best.graph,
        runtime: best.model,
        count: peaks.total().into(),
        exact: args.exact,
        stopped: stopped.map(|reason| reason.to_string()),
        measure: measure(args),
        seed: (!args.exact).then_some(args.seed),
        quantiles: QUANTILES.iter().map(|&q| (q.to_string(), peaks.quantile(q).into())).collect(),
        distribution: peaks.peaks().map(|(peak, orders)| (peak, orders.into())).collect(),
        best: best.after.peak,
        optimum: best.after.peak,
        proof: Proved::if_so(best.is_optimal()),
        share_optimal: sampled.share_optimal(),
        unknown: &best.unknown,
        budget: args.budget.map(|budget| budget.bytes),
        share_within_budget: sampled.share_within_budget(args),
    }
}

fn print(args: &SampleArgs, sampled: &Sampled, out: &mut impl Write) -> Result<(), Failure> {
    let Sampled { peaks, stopped, best } = sampled;
    let total = u64::try_from(peaks.total()).map_or_else(|_| peaks.total().to_string(), thousands);
    let what = if args.exact { format!("all {total} orders") } else { format!("{total} random orders") };
    writeln!(out, "{what}, {}", measure(args))?;
    if let Some(reason) = stopped {
        writeln!(out, "stopped early: {reason}; {} were asked for", thousands(args.count))?;
    }
    writeln!(out)?;
    writeln!(out, "  share of orders with a peak of at most")?;
    for q in QUANTILES {
        let peak = peaks.quantile(q).unwrap_or(0);
        let share = peaks.share_within(peak);
        let bar = "█".repeat((share * 40.0).round() as usize);
        writeln!(out, "{}", format!("  {:>12}  {:>9.4} %  {bar}", Size(peak), share * 100.0).trim_end())?;
    }
    writeln!(out)?;
    if let Some(budget) = args.budget {
        match sampled.share_within_budget(args) {
            Some(share) => writeln!(out, "  within {budget}: {:.4} % of the orders", share * 100.0)?,
            None => writeln!(
                out,
                "  {}",
                unknown::why_no_budget(
                    &best.unknown,
                    &args.input,
                    &thousands(best.after.peak),
                    &budget.to_string()
                )
            )?,
        }
    }
    let reached = match sampled.share_optimal() {
        Some(share) => format!(": {:.4} % of the orders reach it", share * 100.0),
        None => String::new(),
    };
    let at_least = if best.counts_everything() { "" } else { "at least " };
    writeln!(out, "  best order {at_least}{} ({}){reached}", Size(best.after.peak), verdict(best))?;
    unknown::print(&best.unknown, &args.input, out)?;
    Ok(())
}
