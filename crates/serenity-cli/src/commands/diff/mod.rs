//! `serenity diff`: what changed between two models.

mod markdown;
mod print;
mod rows;

use crate::args::DiffArgs;
use crate::{Failure, Outcome, json};
use schemars::JsonSchema;
use serde::Serialize;
use serenity::diff::{Diff, diff};
use std::io::Write;

pub(crate) fn run(args: &DiffArgs, out: &mut impl Write) -> Result<Outcome, Failure> {
    let old = args.read.load_any(&args.old, args.runtime.runtime)?;
    let new = args.read.load_any(&args.new, args.runtime.runtime)?;
    let found = diff(&old, &new, &args.runtime.target(), &args.limits())?;
    let passed = found.limits.passed;
    if args.talk.json {
        let stated = Stated { other: &args.new, diff: &found };
        writeln!(out, "{}", json::object("diff", Some(&args.old), stated))?;
    } else if args.markdown {
        write!(out, "{}", markdown::text(args, &found))?;
    } else {
        print::print(args, &found, out)?;
    }
    Ok(if passed { Outcome::Done } else { Outcome::ConditionNotMet })
}

/// `serenity diff`: what changed between two models.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Stated<'a> {
    /// The second model, as given.
    other: &'a str,
    #[serde(flatten)]
    diff: &'a Diff,
}
