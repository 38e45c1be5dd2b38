//! `serenity check`: the independent proof check.

use super::count;
use crate::args::CheckArgs;
use crate::printable::printable;
use crate::progress::{cancel_on_ctrl_c, thousands};
use crate::{Failure, Outcome, json};
use serde_json::{Value, json};
use serenity::check::{Claim, Fault, Report, Reproved, check, order_faults, placement_faults, reprove};
use serenity::ir::{Graph, MemoryModel, OpId};
use serenity::{Input, PlanFile};
use std::io::Write;
use std::time::Instant;

pub(crate) fn run(args: &CheckArgs, out: &mut impl Write) -> Result<Outcome, Failure> {
    if args.plan == "-" && args.input == "-" {
        return Err(Failure::request(
            "both the plan and the model are `-`",
            "give at least one of them as a file",
        ));
    }
    let plan = PlanFile::load(&args.plan)?;
    let input = args.read.load(&args.input, args.runtime.runtime.or(plan.model))?;
    let input = if plan.rewrites.is_empty() { input } else { rewritten(args, &plan, &input)? };
    let named = args.runtime.runtime.or(plan.model).unwrap_or(input.default_model);
    let model = match args.runtime.kernels {
        Some(kernels) => named.with_kernels(kernels),
        None if args.runtime.runtime.is_some() => args.runtime.model(named),
        None => named,
    };
    let claim = Claim {
        model,
        order: &plan.order,
        peak: plan.peak,
        bound: plan.bound,
        // Said of the arena where there is one.
        optimal: plan.optimal && (plan.arena.is_none() || plan.peak == plan.bound),
        witness: plan.witness.as_ref(),
    };
    let body_faults: Vec<Fault> = input.graphs[1..]
        .iter()
        .zip(&plan.bodies)
        .flat_map(|(graph, order)| order_faults(graph, order))
        .map(Fault::Order)
        .collect();
    let bodies = if body_faults.is_empty() { &plan.bodies[..] } else { &[] };
    let graph = serenity::main_graph(&input.graphs, bodies, model);
    let mut report = check(&graph, &claim);
    report.faults.extend(body_faults);
    let placement = placement(&plan, &input, model, &mut report);
    let deep =
        (args.deep && report.is_valid() && !report.bound_verified).then(|| prove_again(args, &graph, &claim));
    if deep == Some(Reproved::No) {
        report.faults.push(Fault::BoundRefuted { bound: claim.bound });
    }
    if args.json.json {
        let mut object = to_json(&claim, &report, deep, placement);
        object["plan"] = args.plan.as_str().into();
        writeln!(out, "{}", json::object("check", Some(&args.input), object))?;
    } else if report.is_valid() {
        if !plan.rewrites.is_empty() {
            let places = count(plan.rewrites.len() as u64, "place");
            writeln!(
                out,
                "rewritten first: {places}, as the plan says; `serenity verify` runs both models and compares"
            )?;
        }
        print_verified(&claim, &report, deep, out)?;
        if let Some(arena) = placement {
            writeln!(
                out,
                "placement verified: in an arena of {} bytes nothing is written over while it is needed",
                thousands(arena)
            )?;
        }
    } else {
        for fault in &report.faults {
            writeln!(out, "invalid: {}", printable(&fault.to_string()))?;
        }
    }
    Ok(if report.is_valid() { Outcome::Done } else { Outcome::ConditionNotMet })
}

/// The model that the plan speaks of: a plan for a rewritten model says what was rewritten, and the same is done again here.
fn rewritten(args: &CheckArgs, plan: &PlanFile, input: &Input) -> Result<Input, Failure> {
    let model = args.runtime.runtime.or(plan.model).unwrap_or(input.default_model);
    if let Some(again) = serenity::rewrite_again(input, &plan.rewrites, model)? {
        return Ok(again);
    }
    Err(Failure::request(
        format!(
            "the plan `{}` is for a model that was rewritten in {}, and `{}` cannot be rewritten in the same",
            args.plan,
            count(plan.rewrites.len() as u64, "place"),
            args.input
        ),
        "give the model that was optimised, not the file that was written: this check rewrites it again",
    ))
}

/// Checks the places of the tensors, if the plan has any; the arena they are in, if nothing is wrong.
fn placement(plan: &PlanFile, input: &Input, model: MemoryModel, report: &mut Report) -> Option<u64> {
    if let Some(arena) = plan.arena.filter(|&arena| plan.arena_bound > arena) {
        report.faults.push(Fault::BoundAbovePeak { bound: plan.arena_bound, peak: arena });
    }
    let (offsets, arena, kernels) = (plan.offsets.as_ref()?, plan.arena?, model.kernels()?);
    if !report.is_valid() {
        return None;
    }
    let own = input.graphs[1..].iter().map(Graph::file_order);
    let bodies: Vec<Vec<OpId>> = plan.bodies.iter().cloned().chain(own.skip(plan.bodies.len())).collect();
    let orders: Vec<&[OpId]> =
        std::iter::once(plan.order.as_slice()).chain(bodies.iter().map(Vec::as_slice)).collect();
    let graphs: Vec<&Graph> = input.graphs.iter().collect();
    let faults = placement_faults(&graphs, &orders, kernels, offsets, arena);
    report.faults.extend(faults.into_iter().map(Fault::Placement));
    report.is_valid().then_some(arena)
}

/// Proves the bound by the checker's own search, within the limits.
fn prove_again(args: &CheckArgs, graph: &Graph, claim: &Claim) -> Reproved {
    let started = Instant::now();
    let cancel = cancel_on_ctrl_c();
    // A set of executed ops takes its bits twice (to do, and done) and some bookkeeping.
    let most_states = args.memory_limit.0 / (2 * (graph.ops().len() as u64 / 8 + 1) + 64);
    let stop = || cancel.is_cancelled() || started.elapsed() >= args.time_limit;
    reprove(graph, claim.model, claim.bound, most_states, &stop)
}

fn to_json(claim: &Claim, report: &Report, deep: Option<Reproved>, placement: Option<u64>) -> Value {
    let reproved = matches!(deep, Some(Reproved::Yes { .. }));
    json!({
        "valid": report.is_valid(),
        "problems": report.faults.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "runtime": claim.model.to_string(),
        "peak": claim.peak,
        "bound": claim.bound,
        "bound_verified": report.bound_verified || reproved,
        "optimal_claimed": claim.optimal,
        "optimal_verified": report.is_valid() && claim.optimal && (report.bound_verified || reproved),
        "deep_states": match deep {
            Some(Reproved::Yes { states } | Reproved::GaveUp { states }) => Some(states),
            _ => None,
        },
        "shown_bound": report.shown.bytes,
        "placement_verified": placement.is_some(),
    })
}

/// Says what was verified and, as plainly, what was not.
fn print_verified(
    claim: &Claim,
    report: &Report,
    deep: Option<Reproved>,
    out: &mut impl Write,
) -> Result<(), Failure> {
    let (peak, bound) = (thousands(claim.peak), thousands(claim.bound));
    let reason = printable(&report.shown.place.to_string()).into_owned();
    writeln!(
        out,
        "order and peak verified: {} in an order that can run, peak {peak} bytes",
        count(claim.order.len() as u64, "op")
    )?;
    if report.optimal_verified {
        writeln!(out, "optimality verified: no order needs less, because {reason}")?;
        return Ok(());
    }
    if let Some(Reproved::Yes { states }) = deep {
        let what = if claim.optimal { "optimality" } else { "bound" };
        writeln!(
            out,
            "{what} verified: an independent search of {} found no order below {bound} bytes",
            count(states, "set")
        )?;
        return Ok(());
    }
    if report.bound_verified {
        writeln!(out, "bound verified: no order needs less than {bound} bytes, because {reason}")?;
    } else {
        writeln!(
            out,
            "bound NOT verified: the plan claims that no order needs less than {bound} bytes; by itself this check can \
             only show {} ({reason})",
            thousands(report.shown.bytes)
        )?;
    }
    if let Some(Reproved::GaveUp { states }) = deep {
        writeln!(
            out,
            "the independent search gave up after {}; raise --time-limit or --memory-limit",
            count(states, "set")
        )?;
    } else if !report.bound_verified {
        writeln!(out, "--deep tries to prove it again, without trusting whoever claims it")?;
    }
    if claim.optimal {
        writeln!(
            out,
            "optimality NOT verified: the plan claims it, and nothing here confirms or refutes it"
        )?;
    }
    Ok(())
}
