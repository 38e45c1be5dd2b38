//! `serenity optimize`: the main job.

use super::{as_typed, count, duration, factor, missing, search_options, title, verdict};
use crate::args::OptimizeArgs;
use crate::outputs::GraphFile;
use crate::progress::{ProgressLine, cancel_on_ctrl_c, thousands};
use crate::size::Size;
use crate::{Failure, Outcome, picture};
use serde_json::{Value, json};
use serenity::ir::Graph;
use serenity::scheduling::Algorithm;
use serenity::{NewFile, Options, Plan};
use std::io::Write;

pub(crate) fn run(args: &OptimizeArgs, out: &mut impl Write) -> Result<Outcome, Failure> {
    let output = args.output.as_deref().map(GraphFile::new).transpose()?;
    check_plan_target(args)?;
    let input = serenity::load(&args.input)?;
    let (line, progress) = ProgressLine::new(&title(&input.graph, &args.input));
    let mut options = Options {
        model: args.runtime.runtime.unwrap_or(input.default_model),
        progress,
        ..search_options(&args.search, &cancel_on_ctrl_c())
    };
    if args.no_reorder {
        options.algorithm = Algorithm::File;
    }
    let plan = serenity::optimize(&input.graph, &options)?;
    drop(line);

    // What is said of the files is true when it is said: nothing is printed before they are written, and nothing can fail in between.
    let mut said = Vec::new();
    if args.json.json {
        writeln!(said, "{}", to_json(args, &plan))?;
    } else {
        print(args, &input.graph, &plan, &mut said)?;
    }
    write_files(args, &input.graph, &plan, output.as_ref())?;
    out.write_all(&said)?;
    match args.budget {
        Some(budget) if missing(plan.after.peak, budget) > 0 => Ok(Outcome::ConditionNotMet),
        _ => Ok(Outcome::Done),
    }
}

fn check_plan_target(args: &OptimizeArgs) -> Result<(), Failure> {
    let Some(plan) = &args.plan else { return Ok(()) };
    serenity::check_target(plan)?;
    match &args.output {
        Some(output) if serenity::is_same_file(output, plan) => Err(Failure::request(
            format!("the graph and the plan would both be written to `{plan}`"),
            "give -o and --plan different names",
        )),
        _ => Ok(()),
    }
}

fn write_files(
    args: &OptimizeArgs,
    graph: &Graph,
    plan: &Plan,
    output: Option<&GraphFile>,
) -> Result<(), Failure> {
    let plan_text = format!("{}\n", plan.to_json());
    let graph_text;
    let mut files = Vec::new();
    if let Some(output) = output {
        let reordered = graph.reordered(&plan.order).map_err(|fault| {
            Failure::request(fault.to_string(), "this is a bug in Serenity; please report it with the model")
        })?;
        graph_text = output.text(&reordered);
        files.push(output.with(&graph_text));
    }
    if let Some(path) = &args.plan {
        files.push(NewFile { path, bytes: plan_text.as_bytes() });
    }
    Ok(serenity::write_together(&files)?)
}

fn to_json(args: &OptimizeArgs, plan: &Plan) -> Value {
    let mut object = plan.to_json();
    let footprint = |f: serenity::Footprint| json!({"peak": f.peak, "arena": null, "ops": f.ops});
    object["before"] = footprint(plan.before);
    object["after"] = footprint(plan.after);
    object["rewrites"] = json!([]);
    object["offsets"] = Value::Null;
    object["output"] = args.output.clone().into();
    object["fits"] = args.budget.map(|budget| missing(plan.after.peak, budget) == 0).into();
    object["missing"] = args.budget.map(|budget| missing(plan.after.peak, budget)).into();
    object
}

fn print(args: &OptimizeArgs, graph: &Graph, plan: &Plan, out: &mut impl Write) -> Result<(), Failure> {
    let (before, after) = (plan.before.peak, plan.after.peak);
    writeln!(
        out,
        "{}: {}, memory model `{}`\n",
        title(graph, &args.input),
        count(plan.after.ops as u64, "op"),
        plan.model
    )?;
    writeln!(out, "  {:<14} {:>12} {:>14}", "", "peak", "bytes")?;
    writeln!(
        out,
        "  {:<14} {:>12} {:>14}   the order of the model",
        "before",
        Size(before),
        thousands(before)
    )?;
    let kahn = serenity::schedule(
        graph,
        &Options { model: plan.model, algorithm: Algorithm::Kahn, ..Options::default() },
    )?;
    let kahn = kahn.after.peak;
    writeln!(
        out,
        "  {:<14} {:>12} {:>14}   breadth first, the paper's baseline",
        "Kahn's order",
        Size(kahn),
        thousands(kahn)
    )?;
    let gain = if after < before {
        format!(
            "   {:.2}x less ({:.1} % saved)",
            factor(before, after),
            (1.0 - after as f64 / before as f64) * 100.0
        )
    } else {
        "   the model's own order is kept".to_owned()
    };
    writeln!(out, "  {:<14} {:>12} {:>14}{gain}", "after", Size(after), thousands(after))?;
    writeln!(
        out,
        "  {:<14} {:>12} {:>14}   {}",
        "lower bound",
        Size(plan.bound),
        thousands(plan.bound),
        verdict(plan)
    )?;
    writeln!(
        out,
        "\n  {} {}, {}, {}\n",
        if plan.algorithm == Algorithm::File {
            "searched for".to_owned()
        } else {
            format!("found by {} in", plan.algorithm)
        },
        duration(plan.stats.elapsed),
        count(plan.stats.states, "state"),
        count(plan.stats.pieces.len() as u64, "piece")
    )?;

    let lifetimes = plan.model.lifetimes(graph);
    let (old, new) = (lifetimes.profile(&graph.file_order()), lifetimes.profile(&plan.order));
    let width = terminal_size::terminal_size().map_or(100, |(width, _)| usize::from(width.0));
    let legend = if after < before { "█ after  ░ before" } else { "█ bytes in use" };
    writeln!(out, "memory over time, op by op   {legend}")?;
    for row in picture::memory_over_time(&old, &new, width) {
        writeln!(out, "{row}")?;
    }
    if let Some(budget) = args.budget {
        match missing(after, budget) {
            0 => writeln!(out, "\nfits {budget} with {} bytes to spare", thousands(budget.0 - after))?,
            bytes => writeln!(out, "\ndoes not fit {budget}: {} bytes are missing", thousands(bytes))?,
        }
    }
    print_next_steps(args, plan, out)
}

fn print_next_steps(args: &OptimizeArgs, plan: &Plan, out: &mut impl Write) -> Result<(), Failure> {
    let input = as_typed(&args.input, &args.runtime);
    writeln!(out)?;
    match (&args.output, &args.plan) {
        (None, _) if plan.reorders() => {
            writeln!(out, "write it:    serenity optimize {input} -o smaller.json --plan plan.json")?;
        }
        (Some(path), None) => writeln!(out, "written to `{path}`")?,
        (Some(path), Some(plan)) => {
            writeln!(out, "written to `{path}`; prove it:  serenity check {plan} {input}")?;
        }
        (None, Some(plan)) => writeln!(out, "prove it:    serenity check {plan} {input}")?,
        (None, None) => {}
    }
    writeln!(out, "look closer: serenity inspect {input}   who is alive at the peak")?;
    writeln!(out, "compare:     serenity sample {input}   how good are random orders?")?;
    if args.budget.is_none() {
        writeln!(out, "must fit:    serenity optimize {input} --budget 250KB   exit code 1 if it does not")?;
    }
    Ok(())
}
