//! `serenity traffic`: bytes moved between on-chip and off-chip memory.

use super::{count, limits, op_name, title, unknown, verdict};
use crate::args::{Baseline, TrafficArgs};
use crate::progress::ProgressLine;
use crate::screen::layout::HANG;
use crate::signals::cancel_on_signal;
use crate::size::Size;
use crate::{Failure, Outcome, json};
use schemars::JsonSchema;
use serde::Serialize;
use serenity::ir::Graph;
use serenity::memories::{Compared, Objective, StatedTraffic, TrafficOptions, TrafficPlan};
use serenity::runtimes::{MemoryModel, MemoryModelExt};
use serenity::schedule::Algorithm;
use serenity::traffic::{Bytes, Grain};
use serenity::{Input, Options, Rewrites};
use std::io::{self, Write};

/// Columns of the picture.
const WIDTH: u64 = 48;

/// Ops that are too large are named up to here: the rest is counted.
const MOST_NAMED: usize = 4;

pub(crate) fn run(args: &TrafficArgs, out: &mut impl Write) -> Result<Outcome, Failure> {
    let input = args.read.load(&args.input, args.runtime.runtime)?;
    let model = args.runtime.model(&input)?;
    let title = title(input.graph(), &args.input);
    let own = serenity::runtimes::main_graph(input.graphs(), &[], model);
    let sizes: Vec<u64> = args.on_chip.iter().map(|size| size.0).collect();
    let (line, progress) = ProgressLine::new(&title, args.talk.quiet);
    let mut options = TrafficOptions {
        model,
        grain: args.grain,
        objective: args.objective,
        effort: args.limits.effort,
        limits: limits(&args.limits, &cancel_on_signal()),
        progress,
        before: None,
    };
    let graph = match args.rewrite.filter(|&rewrites| rewrites != Rewrites::None) {
        Some(rewrites) => rewritten(&input, rewrites, &options)?,
        None => own.clone(),
    };
    if args.before == Baseline::Tflite || graph != own {
        options.before = Some(compared_with(args.before, own, model)?);
    }
    let plan = serenity::memories::least_traffic(&graph, &sizes, &options).map_err(serenity::Error::from)?;
    drop(line);
    if args.talk.json {
        let (traffic, rewrite) = (plan.stated(&graph, &options), args.rewrite.unwrap_or(Rewrites::None));
        let moved = MovedBytes { traffic, rewrite, baseline: args.before };
        writeln!(out, "{}", json::object("traffic", Some(&args.input), moved))?;
    } else {
        print(args, model, &title, &graph, &plan, out)?;
    }
    Ok(Outcome::Done)
}

/// `serenity traffic`: bytes moved between on-chip and off-chip memory.
#[derive(Serialize, JsonSchema)]
pub(crate) struct MovedBytes<'a> {
    #[serde(flatten)]
    traffic: StatedTraffic<'a>,
    /// The rewrites that were allowed. If the model was rewritten, all but `before` is about the rewritten model.
    rewrite: Rewrites,
    /// What `before` is: the model in its own order; or Kahn's order with concatenations that copy, as the SERENITY
    /// paper counts TensorFlow Lite.
    baseline: Baseline,
}

/// The model after rewriting, where it then needs less memory.
fn rewritten(input: &Input, rewrites: Rewrites, traffic: &TrafficOptions) -> Result<Graph, Failure> {
    let TrafficOptions { model, effort, ref limits, ref progress, .. } = *traffic;
    let (limits, progress) = (limits.clone(), progress.clone());
    let options = Options { model, rewrites, effort, limits, progress, ..Options::for_input(input) };
    let planned = serenity::optimize(input, &options)?.model;
    Ok(serenity::runtimes::main_graph(planned.graphs(), &[], model))
}

/// What `before` is: the model in the order of Kahn with copies, as TensorFlow Lite is counted in the paper, or as it came.
fn compared_with(before: Baseline, graph: Graph, model: MemoryModel) -> Result<Compared, Failure> {
    let (model, order) = match before {
        Baseline::File => (model, model.execution_order(&graph, &graph.file_order())),
        Baseline::Tflite => {
            let kahn = Options { algorithm: Algorithm::Kahn, ..Options::default() };
            (MemoryModel::Plain, serenity::schedule(&graph, &kahn)?.order)
        }
    };
    Ok(Compared { graph, model, order })
}

fn print(
    args: &TrafficArgs,
    model: MemoryModel,
    title: &str,
    graph: &Graph,
    plan: &TrafficPlan,
    out: &mut impl Write,
) -> io::Result<()> {
    let grain = match args.grain {
        Grain::Tensor => "whole tensors",
        Grain::Page => "pages of 1 KiB",
    };
    let ops = count(graph.ops().len() as u64, "op");
    writeln!(out, "{title}: {ops}, memory model `{model}`, {grain}, objective `{}`", args.objective)?;
    if let Some(at) = plan.sizes.first() {
        let Bytes { reads, writes } = at.after.compulsory;
        let (in_, out_) = (Size(reads), Size(writes));
        let at_least = if plan.least_peak.counts_everything() { "" } else { ", at least" };
        writeln!(
            out,
            "compulsory: {in_} in, {out_} out{at_least}; further traffic, in and out together{at_least}:"
        )?;
    }
    let heads = ["on-chip", "before", "after", "bound", "saved", "by Belady's rule"];
    let [on_chip, before, after, bound, saved, rule] = heads;
    writeln!(out, "\n{on_chip:>12} {before:>12} {after:>12} {bound:>12} {saved:>8}   {HANG}{rule}")?;
    for at in &plan.sizes {
        let (before, after) = (at.before.best.bytes(), at.after.best.bytes());
        let saved = if before == 0 { 0.0 } else { (1.0 - after as f64 / before as f64) * 100.0 };
        let saved =
            if plan.least_peak.counts_everything() { format!("{saved:.1} %") } else { "?".to_owned() };
        let rule = [at.before.belady, at.after.belady].map(|b| Size(b.bytes()).to_string());
        let [on_chip, before, after, bound] =
            [at.after.on_chip, before, after, at.after.bound].map(|bytes| Size(bytes).to_string());
        let [rule_before, rule_after] = rule;
        writeln!(
            out,
            "{on_chip:>12} {before:>12} {after:>12} {bound:>12} {saved:>8}   {HANG}{rule_before} -> {rule_after}"
        )?;
    }
    picture(plan, out)?;
    print_oversize(args, graph, plan, out)?;
    explain(args, plan, out)
}

/// A bar a size: what must move, what moves after, and what moves before beyond it.
fn picture(plan: &TrafficPlan, out: &mut impl Write) -> io::Result<()> {
    let most =
        plan.sizes.iter().map(|at| at.before.best.bytes().max(at.after.best.bytes())).max().unwrap_or(0);
    if most == 0 {
        return Ok(());
    }
    writeln!(out)?;
    for at in &plan.sizes {
        // Rounded up, so that nothing that is there vanishes.
        let column = |bytes: u64| (u128::from(bytes) * u128::from(WIDTH)).div_ceil(u128::from(most)) as usize;
        let bound = column(at.after.bound);
        let after = column(at.after.best.bytes()).max(bound);
        let before = column(at.before.best.bytes()).max(after);
        let bar = ["█".repeat(bound), "▓".repeat(after - bound), "░".repeat(before - after)].concat();
        writeln!(out, "{:>12} ┤{bar}", Size(at.after.on_chip).to_string())?;
    }
    writeln!(out, "{:>12}  █ bound  ▓ after  ░ before", "")
}

fn print_oversize(
    args: &TrafficArgs,
    graph: &Graph,
    plan: &TrafficPlan,
    out: &mut impl Write,
) -> io::Result<()> {
    if plan.sizes.iter().all(|at| at.after.oversize_ops.is_empty()) {
        return Ok(());
    }
    writeln!(out, "\nops whose own tensors exceed the on-chip memory, so that they stream:")?;
    for at in plan.sizes.iter().filter(|at| !at.after.oversize_ops.is_empty()) {
        let ops = &at.after.oversize_ops;
        let names: Vec<String> = ops.iter().take(MOST_NAMED).map(|&op| op_name(graph, op)).collect();
        let more = match ops.len() - names.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        writeln!(out, "{:>12}  {HANG}{}{more}", Size(at.after.on_chip).to_string(), names.join(", "))?;
    }
    if args.grain == Grain::Tensor {
        writeln!(out, "{:>12}  --grain page models these in detail", "")?;
    }
    Ok(())
}

fn explain(args: &TrafficArgs, plan: &TrafficPlan, out: &mut impl Write) -> io::Result<()> {
    let after = match args.objective {
        Objective::Peak => format!("the order of least peak ({})", verdict(&plan.least_peak)),
        Objective::Traffic if plan.tried_all_orders && plan.least_peak.unknown.is_empty() => {
            "the best of all orders".to_owned()
        }
        Objective::Traffic if plan.tried_all_orders => {
            "the best of all orders, as far as the model is known".to_owned()
        }
        Objective::Traffic => "the best order found by traffic, for each size by itself".to_owned(),
    };
    let before = match args.before {
        Baseline::File => "the model's own order",
        Baseline::Tflite => "TensorFlow Lite as the paper counts it: Kahn's order, concatenations copy",
    };
    let rewritten = match args.rewrite {
        None | Some(Rewrites::None) => String::new(),
        Some(rewrites) => format!(" of the model after rewriting (`{rewrites}`)"),
    };
    writeln!(out, "\nbefore: {before}; after: {after}{rewritten};")?;
    if !plan.least_peak.counts_everything() {
        writeln!(out, "bound: of what is known")?;
        return unknown::print(&plan.least_peak.unknown, &args.input, out);
    }
    let proved = plan.sizes.iter().filter(|at| at.after.is_optimal).count();
    let total = plan.sizes.len();
    writeln!(
        out,
        "bound: for the order `after`, whatever is kept and dropped (met for {proved} of {})",
        count(total as u64, "size")
    )?;
    unknown::print(&plan.least_peak.unknown, &args.input, out)
}
