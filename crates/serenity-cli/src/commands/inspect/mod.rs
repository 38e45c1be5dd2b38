//! `serenity inspect`: what a model needs as it is.

mod print;

use super::several::{self, Done, Several};
use super::title;
use crate::args::InspectArgs;
use crate::failure::refuse;
use crate::outputs::OutputFile;
use crate::progress::ProgressLine;
use crate::signals::cancel_on_signal;
use crate::{Failure, Outcome, json};
use serenity::Options;
use serenity::inspect::Inspected;
use serenity::pipeline::Need;
use serenity::schedule::Limits;
use serenity::search::CancelFlag;
use serenity::write::write_atomically;
use std::io::Write;

pub(crate) fn run(args: &InspectArgs, out: &mut impl Write) -> Result<Outcome, Failure> {
    let targets = match &args.output_dir {
        Some(folder) => Some(several::targets(folder, &args.inputs, |name| format!("{name}.json"))?),
        None => None,
    };
    if let (Some(_), 2..) = (&args.dot, args.inputs.len()) {
        let message = format!("--dot names one file for {} models", args.inputs.len());
        return refuse(message, "run the command for each");
    }
    let dot = args.dot.as_deref().map(OutputFile::dot).transpose()?;
    let cancel = cancel_on_signal();
    let several = Several {
        inputs: &args.inputs,
        talk: args.talk,
        is_verbose: args.verbose,
        headings: ["now", "best order"],
    };
    let budget = args.budget.map(|budget| budget.bytes);
    several.each(&cancel, out, |at, input, out| {
        let seen = look(args, input, &cancel)?;
        if let Some(dot) = &dot {
            dot.write(dot.content.graph_text(seen.input.graph()).unwrap_or_default().as_bytes())?;
        }
        let object = || json::object("inspect", Some(input), seen.stated(budget));
        if let Some(targets) = &targets {
            write_atomically(&targets[at], format!("{}\n", object()).as_bytes())?;
        }
        if args.talk.json {
            writeln!(out, "{}", object())?;
        } else {
            print::print(args, input, &seen, out)?;
        }
        Ok(done(args, &seen))
    })
}

fn look(args: &InspectArgs, source: &str, cancel: &CancelFlag) -> Result<Inspected, Failure> {
    let input = args.read.load_any(source, args.runtime.runtime)?;
    let model = args.runtime.model(&input)?;
    let (_line, progress) = ProgressLine::new(&title(input.graph(), source), args.talk.quiet);
    let limits = Limits {
        memory: Some(args.memory_limit.0),
        cancel: cancel.clone(),
        ..Limits::lasting(args.time_limit)
    };
    let options = Options { model, limits, progress, ..Options::for_input(&input) };
    Ok(Inspected::new(input, &options)?)
}

/// The row of this model in the table of several models.
fn done(args: &InspectArgs, seen: &Inspected) -> Done {
    let proof = if seen.best.is_optimal() { "proved" } else { "not proved" };
    let fits = args.budget.map(|budget| seen.fits(budget.bytes));
    let fit = match fits {
        Some(true) => ", fits",
        Some(false) if seen.plan_fault().is_some() => ", planned for other kernels",
        Some(false) => ", too large",
        None => "",
    };
    Done {
        outcome: if fits == Some(false) { Outcome::ConditionNotMet } else { Outcome::Done },
        before: seen.need().bytes,
        after: Need::of(&seen.input, &seen.best).bytes,
        counts_everything: seen.counts_everything(),
        remark: format!("{proof}{fit}"),
    }
}
