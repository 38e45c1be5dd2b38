//! `serenity schedule`: an order, nothing else.

use super::{count, duration, title, unknown, verdict, with_search};
use crate::args::ScheduleArgs;
use crate::printable::printable;
use crate::progress::{ProgressLine, cancel_on_ctrl_c, thousands};
use crate::{Failure, Outcome, json};
use serenity::scheduling::CancelFlag;
use serenity::{Options, Plan};
use std::io::Write;

pub(crate) fn run(args: &ScheduleArgs, out: &mut impl Write) -> Result<Outcome, Failure> {
    let cancel = cancel_on_ctrl_c();
    let mut failed = false;
    for (index, input) in args.inputs.iter().enumerate() {
        match plan(args, input, &cancel) {
            Ok(plan) => {
                if index > 0 && !args.json.json {
                    writeln!(out)?;
                }
                print(args, input, &plan, out)?;
                // Whoever reads along sees each result when it is there.
                out.flush()?;
            }
            // One bad file does not take the others down, but it is not forgotten.
            Err(failure) => {
                failure.report();
                if let Some(object) = failure.to_json(Some(input)).filter(|_| args.json.json) {
                    writeln!(out, "{object}")?;
                    out.flush()?;
                }
                failed = true;
            }
        }
    }
    if failed { Err(Failure::Reported) } else { Ok(Outcome::Done) }
}

fn plan(args: &ScheduleArgs, source: &str, cancel: &CancelFlag) -> Result<Plan, Failure> {
    let input = args.read.load(source, args.runtime.runtime)?;
    let (_line, progress) = ProgressLine::new(&title(input.graph(), source));
    let options = Options {
        model: args.runtime.model(input.default_model)?,
        progress,
        ..with_search(Options::for_input(&input), &args.search, cancel)
    };
    Ok(serenity::schedule(&serenity::runtimes::main_graph(input.graphs(), &[], options.model), &options)?)
}

fn print(args: &ScheduleArgs, input: &str, plan: &Plan, out: &mut impl Write) -> Result<(), Failure> {
    if args.json.json {
        writeln!(out, "{}", json::object("schedule", Some(input), plan.to_json()))?;
        return Ok(());
    }
    let name = if plan.graph.is_empty() { input } else { &plan.graph };
    let order: Vec<String> = plan.order.iter().map(ToString::to_string).collect();
    writeln!(out, "{} ({}, {})", printable(name), plan.model, plan.algorithm)?;
    let at_least = if plan.counts_everything() { "" } else { " at least" };
    writeln!(out, "  peak   {} bytes{at_least}", thousands(plan.after.peak))?;
    writeln!(out, "  bound  {} bytes, {}", thousands(plan.bound), verdict(plan))?;
    writeln!(out, "  search {}, {}", count(plan.stats.states, "state"), duration(plan.stats.elapsed))?;
    writeln!(out, "  order  {}", order.join(" "))?;
    unknown::print(&plan.unknown, input, out)?;
    Ok(())
}
