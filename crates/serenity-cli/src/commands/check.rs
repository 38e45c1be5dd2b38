//! `serenity check`: the independent proof check.

use super::count;
use crate::args::CheckArgs;
use crate::printable::printable;
use crate::progress::thousands;
use crate::{Failure, Outcome};
use serde_json::{Value, json};
use serenity::PlanFile;
use serenity::check::{Claim, Report, check};
use std::io::Write;

pub(crate) fn run(args: &CheckArgs, out: &mut impl Write) -> Result<Outcome, Failure> {
    if args.plan == "-" && args.input == "-" {
        return Err(Failure::request(
            "both the plan and the model are `-`",
            "give at least one of them as a file",
        ));
    }
    let plan = PlanFile::load(&args.plan)?;
    let input = serenity::load(&args.input)?;
    let model = args.runtime.runtime.or(plan.model).unwrap_or(input.default_model);
    let claim =
        Claim { model, order: &plan.order, peak: plan.peak, bound: plan.bound, optimal: plan.optimal };
    let report = check(&input.graph, &claim);
    if args.json.json {
        writeln!(out, "{}", to_json(&claim, &report))?;
    } else if report.is_valid() {
        print_verified(&claim, &report, out)?;
    } else {
        for fault in &report.faults {
            writeln!(out, "invalid: {}", printable(&fault.to_string()))?;
        }
    }
    Ok(if report.is_valid() { Outcome::Done } else { Outcome::ConditionNotMet })
}

fn to_json(claim: &Claim, report: &Report) -> Value {
    json!({
        "valid": report.is_valid(),
        "problems": report.faults.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "runtime": claim.model.to_string(),
        "peak": claim.peak,
        "bound": claim.bound,
        "bound_verified": report.bound_verified,
        "optimal_claimed": claim.optimal,
        "optimal_verified": report.optimal_verified,
        "shown_bound": report.shown.bytes,
    })
}

/// Says what was verified and, as plainly, what was not.
fn print_verified(claim: &Claim, report: &Report, out: &mut impl Write) -> Result<(), Failure> {
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
    if claim.optimal {
        writeln!(
            out,
            "optimality NOT verified: the plan claims it, and nothing here confirms or refutes it"
        )?;
    }
    Ok(())
}
