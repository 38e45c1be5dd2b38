//! `serenity schedule`: an order, nothing else.

use super::several::{self, Done, Several};
use super::{count, duration, figure, soft_budgets, title, unknown, verdict, with_search};
use crate::args::ScheduleArgs;
use crate::progress::{ProgressLine, thousands};
use crate::screen::layout::HANG;
use crate::screen::style::{TITLE, paint};
use crate::signals::cancel_on_signal;
use crate::{Failure, Outcome, json};
use serenity::pipeline::StatedPlan;
use serenity::schedule::{CancelFlag, SoftBudget};
use serenity::write::write_atomically;
use serenity::{Options, Plan, PlanFile};
use std::io::Write;

pub(crate) fn run(args: &ScheduleArgs, out: &mut impl Write) -> Result<Outcome, Failure> {
    let targets = match &args.output_dir {
        Some(folder) => Some(several::targets(folder, &args.inputs, |name| format!("{name}.json"))?),
        None => None,
    };
    let cancel = cancel_on_signal();
    let several = Several {
        inputs: &args.inputs,
        talk: args.talk,
        is_verbose: args.verbose,
        headings: ["own order", "best"],
    };
    several.each(&cancel, out, |at, input, out| {
        let (title, plan) = plan(args, input, &cancel)?;
        if let Some(targets) = &targets {
            write_atomically(&targets[at], PlanFile::text(StatedPlan::of(&plan)).as_bytes())?;
        }
        print(args, input, &title, &plan, out)?;
        let proof = if plan.is_optimal() { "proved" } else { "not proved" };
        Ok(Done {
            outcome: if exceeded(args, &plan).is_some() { Outcome::ConditionNotMet } else { Outcome::Done },
            before: plan.before.needs(),
            after: plan.after.needs(),
            counts_everything: plan.counts_everything(),
            remark: proof.to_owned(),
        })
    })
}

/// The order, and what to call the model.
fn plan(args: &ScheduleArgs, source: &str, cancel: &CancelFlag) -> Result<(String, Plan), Failure> {
    let input = args.read.load(source, args.runtime.runtime)?;
    let title = title(input.graph(), source);
    let (_line, progress) = ProgressLine::new(&title, args.talk.quiet);
    let options = Options {
        model: args.runtime.model(&input)?,
        progress,
        ..with_search(Options::for_input(&input), &args.search, cancel)?
    };
    let graph = serenity::runtimes::main_graph(input.graphs(), &[], options.model);
    Ok((title, serenity::schedule(&graph, &options)?))
}

/// The soft budget that was given, if the order does not keep within it.
fn exceeded(args: &ScheduleArgs, plan: &Plan) -> Option<u64> {
    match args.search.soft_budget {
        Some(SoftBudget::Fixed(budget)) if plan.after.peak > budget => Some(budget),
        _ => None,
    }
}

fn print(
    args: &ScheduleArgs,
    input: &str,
    title: &str,
    plan: &Plan,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    if args.talk.json {
        writeln!(out, "{}", json::object("schedule", Some(input), StatedPlan::of(plan)))?;
        return Ok(());
    }
    let order: Vec<String> = plan.order.iter().map(ToString::to_string).collect();
    writeln!(out, "{} ({}, {})", paint(TITLE, title), plan.model, plan.algorithm)?;
    let known = |bytes: u64| match figure(bytes, plan.counts_everything()) {
        (shown, "") if bytes > 0 || plan.counts_everything() => format!("{shown} bytes"),
        (unknown, "") => unknown,
        (shown, _) => format!("{shown} bytes at least"),
    };
    writeln!(out, "  peak   {}", known(plan.after.peak))?;
    writeln!(out, "  bound  {HANG}{}, {}", known(plan.bound), verdict(plan))?;
    writeln!(out, "  search {HANG}{}, {}", count(plan.stats.states, "state"), duration(plan.stats.elapsed))?;
    if let Some(budget) = exceeded(args, plan) {
        let kept = if plan.bound > budget { "no order keeps" } else { "not settled whether an order keeps" };
        writeln!(out, "  budget {HANG}{kept} within {} bytes", thousands(budget))?;
    }
    writeln!(out, "  order  {HANG}{}", order.join(" "))?;
    if args.verbose {
        soft_budgets::print(plan, out)?;
    }
    unknown::print(&plan.unknown, input, out)?;
    Ok(())
}
