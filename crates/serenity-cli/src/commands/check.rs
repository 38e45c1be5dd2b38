//! `serenity check`: prints what became of each claim of a plan.

use super::tflm;
use crate::args::{Allowance, CheckArgs};
use crate::failure::refuse;
use crate::printable::printable;
use crate::progress::thousands;
use crate::signals::cancel_on_signal;
use crate::{Failure, Outcome, json};
use schemars::JsonSchema;
use serde::Serialize;
use serenity::account::StatedNote;
use serenity::check::Reproved;
use serenity::plan_check::{CheckOptions, StatedVerdict, Status, Verdict};
use serenity::search::Limits;
use serenity::{PlanFile, check_plan};
use std::io::Write;

pub(crate) fn run(args: &CheckArgs, out: &mut impl Write) -> Result<Outcome, Failure> {
    if args.plan == "-" && args.input == "-" {
        return refuse("both the plan and the model are `-`", "give at least one of them as a file");
    }
    let plan = PlanFile::load(&args.plan)?;
    let input = args.read.load(&args.input, args.runtime.runtime.or(plan.model))?;
    let named = args.runtime.runtime.or(plan.model).unwrap_or(input.default_model);
    let model = match args.runtime.kernels {
        Some(_) => args.runtime.target().with_kernels(named, &input)?,
        None if args.runtime.runtime.is_some() => args.runtime.model(&input)?,
        None => named,
    };
    input.can_be_counted(model)?;
    let limits = Limits { cancel: cancel_on_signal(), ..Limits::lasting(args.time_limit) };
    let deep = args.deep.then(|| limits.holding(args.memory_limit.0));
    let verdict = check_plan(&input, &plan, &CheckOptions { model: Some(model), deep });
    let refused = refused(&verdict, args.allow_unverified.as_ref());
    if args.talk.json {
        let (verdict, plan_note) = (verdict.stated(&plan), StatedNote::of(&input, model));
        let checked = Checked { verdict, plan: &args.plan, plan_note };
        writeln!(out, "{}", json::object("check", Some(&args.input), checked))?;
    } else {
        tflm::print_note(&input, model, out)?;
        print(&plan, &verdict, args.deep, out)?;
        if verdict.is_valid() && !refused.is_empty() {
            let names = refused.join(",");
            say(
                out,
                &format!("refused: not every claim is verified; --allow-unverified {names} accepts that"),
            )?;
        }
    }
    let is_accepted = verdict.is_valid() && refused.is_empty();
    Ok(if is_accepted { Outcome::Done } else { Outcome::ConditionNotMet })
}

/// `serenity check`: is a plan right?
#[derive(Serialize, JsonSchema)]
pub(crate) struct Checked<'a> {
    #[serde(flatten)]
    verdict: StatedVerdict<'a>,
    /// The plan, as given.
    plan: &'a str,
    /// The note in the model about the memory plan that it came with; null if there is none.
    plan_note: Option<StatedNote>,
}

/// What was not verified and is not taken on trust, by the names that --allow-unverified takes.
fn refused<'a>(verdict: &'a Verdict, allowed: Option<&Allowance>) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for claim in verdict.unverified() {
        let name = match claim {
            "proof" => "optimality",
            // Whoever trusts the one bound trusts the other.
            "peak_bound" => "bound",
            other => other,
        };
        let is_allowed = allowed.is_some_and(|allowed| allowed.covers(claim) || allowed.covers(name));
        if !is_allowed && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Names of claims for people, where the field's own does not do.
const TITLES: [(&str, &str); 5] = [
    ("file_order", "order of the file"),
    ("bodies", "sub-graphs"),
    ("offsets", "placement"),
    ("peak_bound", "bound on peaks"),
    ("proof", "optimality"),
];

/// Claims of which nothing is said as long as they are right.
const EXPECTED: [&str; 9] =
    ["order", "peak", "ops", "witness", "after", "runtime", "kernels", "ort_order", "ort_reuse"];

/// Says what was verified and, as plainly, what was not.
fn print(plan: &PlanFile, verdict: &Verdict, is_deep: bool, out: &mut impl Write) -> Result<(), Failure> {
    if !verdict.is_valid() {
        for problem in verdict.problems() {
            say(out, &format!("invalid: {problem}"))?;
        }
        return Ok(());
    }
    let (ops, peak) = (super::count(plan.order.len() as u64, "op"), thousands(plan.peak));
    say(out, &format!("order and peak verified: {ops} in an order that can run, peak {peak} bytes"))?;
    let is_optimal = verdict.is_verified("proof");
    let mut silent = Vec::new();
    for claim in &verdict.claims {
        let name = claim.claim.as_str();
        let title = TITLES.iter().find(|(field, _)| *field == name).map_or(name, |(_, title)| title);
        match &claim.status {
            // Said above, said by what follows from them, or of no interest as long as they are right.
            Status::Verified { .. } if EXPECTED.contains(&name) => {}
            Status::Verified { .. } if name == "bodies" && plan.bodies.is_empty() => {}
            Status::Verified { .. } if name == "rewrites" && plan.rewrites.is_empty() => {}
            Status::Verified { .. } if is_optimal && name == "bound" => {}
            Status::Verified { .. } if plan.bound == 0 && ["bound", "peak_bound"].contains(&name) => {}
            // Without an arena it is the bound itself.
            _ if name == "peak_bound" && (plan.arena.is_none() || is_optimal) => {}
            Status::NoClaim { .. } => silent.push(name),
            Status::Verified { how } => say(out, &format!("{title} verified: {how}"))?,
            Status::NotVerified { why } => say(out, &format!("{title} NOT verified: {why}"))?,
            Status::Refuted { .. } => {}
        }
    }
    let is_open = matches!(verdict.status("bound"), Some(Status::NotVerified { .. }));
    match verdict.deep.map(|deep| deep.1) {
        Some(Reproved::GaveUp { states }) if is_open => say(
            out,
            &format!(
                "the independent search gave up after {}; raise --time-limit or --memory-limit",
                super::count(states, "set")
            ),
        )?,
        _ if is_open && !is_deep => {
            say(out, "--deep proves it again, without trusting the plan")?;
        }
        _ => {}
    }
    if !silent.is_empty() {
        say(out, &format!("fields without a claim: {}", silent.join(", ")))?;
    }
    Ok(())
}

/// Lines of at most 80 columns; what goes on is indented.
fn say(out: &mut impl Write, text: &str) -> Result<(), Failure> {
    const WIDTH: usize = 80;
    let mut line = String::new();
    for word in printable(text).split(' ') {
        if !line.trim().is_empty() && line.chars().count() + 1 + word.chars().count() > WIDTH {
            writeln!(out, "{line}")?;
            line = format!("  {word}");
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    Ok(writeln!(out, "{line}")?)
}
