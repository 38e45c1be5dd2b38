//! `serenity sample`: how good is a random order?

use super::{limits, title, unknown, verdict};
use crate::args::SampleArgs;
use crate::failure::refuse;
use crate::progress::{ProgressLine, thousands};
use crate::signals::{cancel_on_signal, end_if_told};
use crate::size::Size;
use crate::{Failure, Outcome, json};
use serenity::Options;
use serenity::ir::Graph;
use serenity::sample::{Draw, Drawn, NoOrders, QUANTILES, Sampled};
use serenity::schedule::distribution::CountError;
use std::io::Write;

pub(crate) fn run(args: &SampleArgs, out: &mut impl Write) -> Result<Outcome, Failure> {
    if args.count == 0 && !args.exact {
        return refuse("there is nothing to draw: --count is 0", "give a positive --count, or --exact");
    }
    let input = args.read.load(&args.input, args.runtime.runtime)?;
    let title = title(input.graph(), &args.input);
    let model = args.runtime.model(&input)?;
    let graph = serenity::runtimes::main_graph(input.graphs(), &[], model);
    let limits = limits(&args.limits, &cancel_on_signal());
    let options = Options { model, limits, effort: args.limits.effort, ..Options::default() };
    let drawn = drawn(args, &title, &graph, &options)?;
    let (line, progress) = ProgressLine::new(&title, args.talk.quiet);
    let best = serenity::schedule(&graph, &Options { progress, ..options })?;
    drop(line);
    let sampled = Sampled { drawn, best };
    if args.talk.json {
        writeln!(
            out,
            "{}",
            json::object("sample", Some(&args.input), sampled.stated(args.budget.map(|budget| budget.bytes)))
        )?;
    } else {
        writeln!(out, "{title}, memory model `{model}`\n")?;
        print(args, &sampled, out)?;
    }
    if args.budget.is_some() && !sampled.best.counts_everything() {
        return Ok(Outcome::ConditionNotMet);
    }
    Ok(Outcome::Done)
}

fn drawn(args: &SampleArgs, title: &str, graph: &Graph, options: &Options) -> Result<Drawn, Failure> {
    let (draw, what) = if args.exact {
        (Draw::All, "sets of ops counted")
    } else {
        (Draw::Some { count: args.count, seed: args.seed }, "orders drawn")
    };
    let (_line, progress) = ProgressLine::counting(title, what, args.talk.quiet);
    Drawn::new(graph, draw, &Options { progress, ..options.clone() }).map_err(|error| {
        end_if_told();
        let help = match error {
            NoOrders::NoneDrawn(_) => "give more time",
            NoOrders::NotCounted(CountError::Stopped(_)) => {
                "leave out --exact to draw random orders, or raise --memory-limit or --time-limit"
            }
            NoOrders::NotCounted(_) => "leave out --exact to draw random orders",
        };
        let input = &args.input;
        let message = if args.exact { format!("`{input}`: {error}") } else { error.to_string() };
        Failure::of(error.kind(), message, help)
    })
}

fn print(args: &SampleArgs, sampled: &Sampled, out: &mut impl Write) -> Result<(), Failure> {
    let Sampled { drawn: Drawn { draw, peaks, stopped }, best } = sampled;
    let total = u64::try_from(peaks.total()).map_or_else(|_| peaks.total().to_string(), thousands);
    let what = if args.exact { format!("all {total} orders") } else { format!("{total} random orders") };
    writeln!(out, "{what}, {}", draw.measure())?;
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
        match sampled.share_within(budget.bytes) {
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
