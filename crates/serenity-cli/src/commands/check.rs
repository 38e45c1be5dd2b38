//! `serenity check`: the independent proof check.

use crate::args::CheckArgs;
use crate::progress::thousands;
use crate::{Failure, Outcome};
use serde_json::json;
use serenity::PlanFile;
use serenity::check::{Claim, check};
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
    let problems: Vec<String> = report.faults.iter().map(ToString::to_string).collect();
    if args.json.json {
        let object = json!({
            "valid": report.is_valid(),
            "problems": problems,
            "runtime": model.to_string(),
            "peak": plan.peak,
            "bound": plan.bound,
            "bound_verified": report.bound_shown,
        });
        writeln!(out, "{object}")?;
    } else if report.is_valid() {
        writeln!(
            out,
            "valid: {} ops in an order that can run, peak {} bytes",
            plan.order.len(),
            thousands(plan.peak)
        )?;
        if report.bound_shown {
            writeln!(
                out,
                "the bound of {} bytes is verified: one op alone needs that much",
                thousands(plan.bound)
            )?;
        } else {
            writeln!(
                out,
                "the bound of {} bytes rests on the search; {} are shown by one op alone",
                thousands(plan.bound),
                thousands(report.shown_bound)
            )?;
        }
    } else {
        for problem in &problems {
            writeln!(out, "invalid: {problem}")?;
        }
    }
    Ok(if report.is_valid() { Outcome::Done } else { Outcome::ConditionNotMet })
}
