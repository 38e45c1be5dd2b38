//! `serenity check`: prints what became of each claim of a plan.

use super::tflm;
use crate::args::CheckArgs;
use crate::printable::printable;
use crate::progress::thousands;
use crate::signals::cancel_on_signal;
use crate::{Failure, Outcome, json};
use serenity::check::Reproved;
use serenity::{CheckOptions, Deep, PlanFile, Status, Verdict, check_plan};
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
    let named = args.runtime.runtime.or(plan.model).unwrap_or(input.default_model);
    let model = match args.runtime.kernels {
        Some(_) => args.runtime.with_kernels(named, &input)?,
        None if args.runtime.runtime.is_some() => args.runtime.model(&input)?,
        None => named,
    };
    input.can_be_counted(model)?;
    let started = Instant::now();
    let cancel = cancel_on_signal();
    let stop = || cancel.is_cancelled() || started.elapsed() >= args.time_limit;
    let deep = args.deep.then_some(Deep { memory: args.memory_limit.0, stop: &stop });
    let verdict = check_plan(&input, &plan, &CheckOptions { model: Some(model), deep });
    if args.talk.json {
        let mut object = verdict.to_json(&plan);
        object["plan"] = args.plan.as_str().into();
        object["plan_note"] = serenity::note_to_json(&input, model);
        writeln!(out, "{}", json::object("check", Some(&args.input), object))?;
    } else {
        tflm::print_note(&input, model, out)?;
        print(&plan, &verdict, args.deep, out)?;
    }
    Ok(if verdict.is_valid() { Outcome::Done } else { Outcome::ConditionNotMet })
}

/// Names of claims for people, where the field's own does not do.
const TITLES: [(&str, &str); 5] = [
    ("file_order", "order of the file"),
    ("bodies", "sub-graphs"),
    ("offsets", "placement"),
    ("peak_bound", "bound on peaks"),
    ("proof", "optimality"),
];

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
    let mut open = Vec::new();
    for claim in &verdict.claims {
        let name = claim.claim.as_str();
        let title = TITLES.iter().find(|(field, _)| *field == name).map_or(name, |(_, title)| title);
        match &claim.status {
            // Said above, said by what follows from them, or of no interest as long as they are right.
            Status::Verified { .. } if ["order", "peak", "ops", "witness", "after"].contains(&name) => {}
            Status::Verified { .. } if is_optimal && name == "bound" => {}
            Status::Verified { .. } if plan.bound == 0 && ["bound", "peak_bound"].contains(&name) => {}
            _ if name == "peak_bound" && (plan.arena.is_none() || is_optimal) => {}
            Status::NotVerified { .. } if serenity::NOT_COVERED.iter().any(|(field, _)| *field == name) => {
                open.push(name);
            }
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
            say(out, "--deep tries to prove it again, without trusting whoever claims it")?;
        }
        _ => {}
    }
    open.dedup();
    if !open.is_empty() {
        say(out, &format!("not covered by this check: {}", open.join(", ")))?;
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
