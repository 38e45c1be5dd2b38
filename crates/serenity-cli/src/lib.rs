//! The command `serenity`: arguments, progress, messages, exit codes. Everything else is in the library.
//!
//! Standard output carries the result, standard error the talk. Exit codes: 0 = done, 1 = a condition the user asked
//! for is not met, 2 = error. A reader that closes standard output does not change them.

mod arena_picture;
mod args;
mod commands;
mod failure;
mod json;
mod outputs;
mod picture;
mod pipe;
mod progress;
mod screen;
mod signals;

use args::{Cli, Command};
use clap::FromArgMatches;
use clap::error::ErrorKind;
use failure::Failure;
use pipe::WhileRead;
use screen::Screen;
use serenity_report::{printable, size};
use std::ffi::OsString;
use std::io::{BufWriter, Write};

/// How a command ended, if not in an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Done,
    ConditionNotMet,
}

/// A size as the command takes it: `250000`, `250KB` (1000) or `250KiB` (1024).
///
/// # Errors
/// If it is none; the text says what was expected.
pub fn parse_size(text: &str) -> Result<u64, String> {
    text.parse().map(|size::Size(bytes)| bytes)
}

/// What `serenity fit` prints for people, for a budget as the user wrote it.
///
/// # Errors
/// If the budget is not a size; the text says what was expected.
pub fn table_of_ways(
    input: &serenity::Input,
    fit: &serenity_fit::Fit,
    budget: &str,
) -> Result<String, String> {
    Ok(commands::fit::as_text(input, fit, budget.parse()?))
}

/// A word as it must be typed in a shell.
pub fn as_word(word: &str) -> String {
    commands::for_shell(word)
}

/// The JSON schema of everything that the command prints for programs, and of plans: what `serenity schema` prints.
pub fn schema() -> serde_json::Value {
    json::schema()
}

/// Runs the command with these arguments, its own name first, on the standard streams of this process: the program
/// calls it, and so does the Python package. Returns the exit code.
pub fn run(args: impl IntoIterator<Item = impl Into<OsString>>) -> u8 {
    let args: Vec<OsString> = args.into_iter().map(Into::into).collect();
    signals::listen();
    let mut cli = match parsed(&args) {
        Ok(cli) => cli,
        Err(error) => return not_understood(&error, &args),
    };
    let stdout = BufWriter::new(WhileRead::new(std::io::stdout().lock()));
    let talk = cli.command.talk();
    let mut out = match &cli.command {
        _ if talk.json => Screen::plain(stdout),
        _ if talk.quiet => Screen::quiet(stdout),
        Command::Schema(_) | Command::Completions(_) | Command::Man(_) => Screen::plain(stdout),
        _ => Screen::new(stdout),
    };
    let result = carry_out(&mut cli, &mut out).and_then(|outcome| {
        out.flush()?;
        Ok(outcome)
    });
    signals::done();
    match result {
        Ok(Outcome::Done) => 0,
        Ok(Outcome::ConditionNotMet) => 1,
        Err(failure) => {
            failure.report();
            if talk.json {
                tell_programs(&failure, cli.command.input(), &mut out);
            }
            2
        }
    }
}

fn parsed(args: &[OsString]) -> Result<Cli, clap::Error> {
    Cli::from_arg_matches(&args::command().try_get_matches_from(args)?)
}

fn carry_out(cli: &mut Cli, out: &mut impl Write) -> Result<Outcome, Failure> {
    match &mut cli.command {
        Command::Optimize(args) => {
            args.sort_outputs()?;
            commands::optimize::run(args, out)
        }
        Command::Inspect(args) => commands::inspect::run(args, out),
        Command::Diff(args) => commands::diff::run(args, out),
        Command::Schedule(args) => commands::schedule::run(args, out),
        Command::Place(args) => commands::place::run(args, out),
        Command::Traffic(args) => commands::traffic::run(args, out),
        Command::Sample(args) => commands::sample::run(args, out),
        Command::Check(args) => commands::check::run(args, out),
        Command::Verify(args) => commands::verify::run(args, out),
        Command::Fit(args) => commands::fit::run(args, out),
        Command::Report(args) => commands::report::run(args, out),
        Command::Emit(args) => commands::emit::run(args, out),
        Command::Device(args) => commands::device::run(args, out),
        Command::Zoo(args) => commands::zoo::run(args, out),
        Command::Paper(args) => commands::paper::run(args, out),
        Command::Schema(args) => commands::reference::schema(args, out),
        Command::Completions(args) => commands::reference::completions(args, out),
        Command::Man(args) => commands::reference::man(args, out),
    }
}

/// Help and version, which come this way too, or a command line that makes no sense.
fn not_understood(error: &clap::Error, args: &[OsString]) -> u8 {
    let failure = model_without_command(error, args).or_else(|| not_text(error, args));
    match &failure {
        Some(failure) => failure.report(),
        None if error.use_stderr() => screen::say(&error.render().ansi().to_string()),
        // There is nobody left to tell if this fails.
        None => drop(error.print()),
    }
    let asks_for_json = args.iter().take_while(|arg| *arg != "--").any(|arg| arg == "--json");
    if error.use_stderr() && asks_for_json {
        let failure = failure.unwrap_or_else(|| Failure::arguments(error));
        tell_programs(&failure, None, &mut std::io::stdout().lock());
    }
    u8::try_from(error.exit_code()).unwrap_or(2)
}

/// Names that are no text are refused by whoever reads arguments, but not by name.
#[allow(clippy::unnecessary_debug_formatting, reason = "what is no text is to be seen")]
fn not_text(error: &clap::Error, args: &[OsString]) -> Option<Failure> {
    let (at, arg) = args.iter().enumerate().find(|(_, arg)| arg.to_str().is_none())?;
    (error.kind() == ErrorKind::InvalidUtf8).then(|| {
        let shown = format!("{arg:?}");
        Failure::of(
            serenity::ErrorKind::Arguments,
            format!("argument {at}, `{}`, is not UTF-8 text", shown.trim_matches('"')),
            "rename the file, or give the name of a link to it",
        )
    })
}

/// Who gives a model and no command is told which there are.
fn model_without_command(error: &clap::Error, args: &[OsString]) -> Option<Failure> {
    let given = args.get(1)?.to_str()?;
    let is_model = given.starts_with("zoo:") || serenity::Format::of_path(given).is_some();
    (error.kind() == ErrorKind::InvalidSubcommand && is_model).then(|| {
        let model = as_word(given);
        Failure::request(
            format!("what shall be done with `{given}`? No command is given"),
            format!(
                "say one of\n  serenity optimize {model}   make it need less memory\n  serenity inspect {model}    what it needs now\n  serenity report {model} -o page.html   both as a page"
            ),
        )
    })
}

/// One object on standard output: programs find the error where they look for the result.
fn tell_programs(failure: &Failure, input: Option<&str>, out: &mut impl Write) {
    if let Some(object) = failure.to_json(input) {
        // Standard error has said it already.
        let _ = writeln!(out, "{object}").and_then(|()| out.flush());
    }
}
