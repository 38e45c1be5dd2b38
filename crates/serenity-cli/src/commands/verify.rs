//! `serenity verify`: do two models compute the same?

use super::count;
use super::optimize::changed;
use crate::args::VerifyArgs;
use crate::printable::printable;
use crate::{Failure, Outcome, json};
use schemars::JsonSchema;
use serde::Serialize;
use serenity_verify::{
    Compiler, Invocation, NotJudged, OutputComparison, Skipped, Verification, VerifyOptions, verify,
    verify_emitted,
};
use std::io::Write;
use std::path::Path;

/// More outputs than this are summed up.
const MOST_OUTPUTS: usize = 12;

pub(crate) fn run(args: &VerifyArgs, out: &mut impl Write) -> Result<Outcome, Failure> {
    let options =
        VerifyOptions { runs: args.runs, seed: args.seed, engine: args.engine, python: args.python.clone() };
    // A folder holds the C of the first model.
    let found = if Path::new(&args.b).is_dir() {
        verify_emitted(&args.a, &args.b, &compiler(args), &options)?
    } else {
        verify(&args.a, &args.b, &options)?
    };
    let passed = found.equal || args.tolerance.is_some_and(|tolerance| found.is_within(tolerance));
    if args.talk.json {
        let (tolerance, runs, seed) = (args.tolerance, args.runs, args.seed);
        let verified = Verified { other: &args.b, found: &found, passed, tolerance, runs, seed };
        writeln!(out, "{}", json::object("verify", Some(&args.a), verified))?;
    } else {
        print(args, &found, passed, out)?;
    }
    Ok(if passed { Outcome::Done } else { Outcome::ConditionNotMet })
}

/// The compiler asked for, or that of the environment.
fn compiler(args: &VerifyArgs) -> Compiler {
    let mut compiler = Compiler::default();
    if let Some(command) = &args.cc {
        compiler.command.clone_from(command);
    }
    if let Some(flags) = &args.cflags {
        compiler.flags = flags.split_whitespace().map(str::to_owned).collect();
    }
    if let Some(runner) = &args.runner {
        compiler.runner = runner.split_whitespace().map(str::to_owned).collect();
    }
    compiler
}

/// `serenity verify`: do two models compute the same?
#[derive(Serialize, JsonSchema)]
pub(crate) struct Verified<'a> {
    /// The second model, as given.
    other: &'a str,
    #[serde(flatten)]
    found: &'a Verification,
    /// Are the models equal, or within the tolerance?
    passed: bool,
    /// The tolerance, as given by --tolerance.
    tolerance: Option<f64>,
    /// How often both ran, two invocations each time.
    #[schemars(range(min = 1))]
    runs: u32,
    /// The seed of the inputs.
    seed: u64,
}

fn print(args: &VerifyArgs, found: &Verification, passed: bool, out: &mut impl Write) -> Result<(), Failure> {
    let how_often = format!("{} of 2 invocations", count(u64::from(args.runs), "run"));
    let verdict = match (found.equal, passed, found.max_abs_difference.map(amount)) {
        (true, ..) => format!("equal: the same to the last bit in {how_often}"),
        (_, true, Some(most)) => {
            format!("within the tolerance: no value is further off than {most} in {how_often}")
        }
        (_, _, Some(most)) => format!("DIFFERENT: values are up to {most} apart"),
        (_, _, None) => "DIFFERENT".to_owned(),
    };
    writeln!(out, "{verdict}")?;
    if let Some(io) = &found.quantized {
        writeln!(
            out,
            "  interfaces differ, as --int8-io makes them; compared by real = scale * (q - zero_point):"
        )?;
        for (port, one) in io.changed() {
            writeln!(out, "    {}", changed(port, one))?;
        }
    }
    for one in &found.comparisons {
        writeln!(out, "  {} ({})", one.engine.title(), printable(&one.version))?;
        for difference in &one.signature_differences {
            writeln!(out, "    {}", printable(difference))?;
        }
        let differing: Vec<_> = one.outputs.iter().filter(|output| !output.equal).collect();
        for output in differing.iter().take(MOST_OUTPUTS) {
            writeln!(out, "    output `{}`: {}", printable(&output.name), in_words(output))?;
        }
        if let Some(rest @ 1..) = differing.len().checked_sub(MOST_OUTPUTS) {
            writeln!(out, "    and {}", count(rest as u64, "more output"))?;
        }
        if let Some(Invocation { run, invocation }) = one.first_difference {
            writeln!(out, "    first in run {}, invocation {}", run + 1, invocation + 1)?;
        }
    }
    for NotJudged { engine, what } in &found.not_judged {
        writeln!(out, "  {} cannot judge {}", engine.title(), printable(what))?;
    }
    for Skipped { engine, reason } in &found.skipped {
        writeln!(out, "  not asked: {} ({})", engine.title(), printable(reason))?;
    }
    Ok(())
}

fn in_words(output: &OutputComparison) -> String {
    match output.max_abs_difference {
        None => {
            let values = count(output.incomparable, "incomparable value");
            format!("{values} (NaN, infinite, or of another shape)")
        }
        Some(0.0) => "no value differs, but bits do (as in -0 and 0); --tolerance 0 accepts that".to_owned(),
        Some(difference) => format!("values are up to {} apart", amount(difference)),
    }
}

/// A few digits; the JSON output has them all.
fn amount(difference: f64) -> String {
    if difference == 0.0 || (1e-3..1e6).contains(&difference) {
        let digits = format!("{difference:.4}");
        digits.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        format!("{difference:.2e}")
    }
}
