//! `serenity verify`: do two models compute the same?

use super::count;
use super::optimize::changed;
use crate::args::VerifyArgs;
use crate::printable::printable;
use crate::{Failure, Outcome, json};
use serde_json::{Value, json};
use serenity_verify::{Compiler, OutputComparison, Verification, VerifyOptions, verify, verify_emitted};
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
    let passed = found.is_equal() || args.tolerance.is_some_and(|tolerance| found.is_within(tolerance));
    if args.talk.json {
        writeln!(out, "{}", json::object("verify", Some(&args.a), to_json(args, &found, passed)))?;
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

fn to_json(args: &VerifyArgs, found: &Verification, passed: bool) -> Value {
    let mut object = json!({"other": args.b});
    if let (Value::Object(all), Value::Object(found)) = (&mut object, found.to_json()) {
        all.extend(found);
    }
    object["passed"] = passed.into();
    object["tolerance"] = args.tolerance.into();
    object["runs"] = args.runs.into();
    object["seed"] = args.seed.into();
    object
}

fn print(args: &VerifyArgs, found: &Verification, passed: bool, out: &mut impl Write) -> Result<(), Failure> {
    let how_often = format!("{} of 2 invocations", count(u64::from(args.runs), "run"));
    let verdict = match (found.is_equal(), passed, found.max_abs_difference().map(amount)) {
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
        for one in &io.changed {
            writeln!(out, "    {}", changed(one))?;
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
        if let Some((run, invocation)) = one.first_difference {
            writeln!(out, "    first in run {}, invocation {}", run + 1, invocation + 1)?;
        }
    }
    for (engine, what) in &found.not_judged {
        writeln!(out, "  {} cannot judge {}", engine.title(), printable(what))?;
    }
    for (engine, why) in &found.skipped {
        writeln!(out, "  not asked: {} ({})", engine.title(), printable(why))?;
    }
    Ok(())
}

fn in_words(output: &OutputComparison) -> String {
    if output.incomparable > 0 {
        return format!(
            "{} (NaN, infinite, or of another shape)",
            count(output.incomparable, "incomparable value")
        );
    }
    if output.max_abs_difference == 0.0 {
        return "no value differs, but bits do (as in -0 and 0); --tolerance 0 accepts that".to_owned();
    }
    format!("values are up to {} apart", amount(output.max_abs_difference))
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
