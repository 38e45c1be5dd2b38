//! The command `serenity`: arguments, progress, messages, exit codes. Everything else is in the library.
//!
//! Standard output carries the result, standard error the talk. Exit codes: 0 = done, 1 = a condition the user asked for is not met,
//! 2 = error.

mod arena_picture;
mod args;
mod commands;
mod failure;
mod outputs;
mod picture;
mod printable;
mod progress;
mod size;

use args::{Cli, Command};
use clap::Parser;
use failure::Failure;
use std::io::{BufWriter, Write};
use std::process::ExitCode;

/// How a command ended, if not in an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Done,
    ConditionNotMet,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let mut out = BufWriter::new(std::io::stdout().lock());
    let result = run(&cli, &mut out).and_then(|outcome| {
        out.flush()?;
        Ok(outcome)
    });
    match result {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::ConditionNotMet) => ExitCode::from(1),
        // Whoever closed the pipe has read enough.
        Err(Failure::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(failure) => {
            failure.report();
            ExitCode::from(2)
        }
    }
}

fn run(cli: &Cli, out: &mut impl Write) -> Result<Outcome, Failure> {
    match &cli.command {
        Command::Optimize(args) => commands::optimize::run(args, out),
        Command::Inspect(args) => commands::inspect::run(args, out),
        Command::Schedule(args) => commands::schedule::run(args, out),
        Command::Place(args) => commands::place::run(args, out),
        Command::Traffic(args) => commands::traffic::run(args, out),
        Command::Sample(args) => commands::sample::run(args, out),
        Command::Check(args) => commands::check::run(args, out),
        Command::Verify(args) => commands::verify::run(args, out),
        Command::Zoo(args) => commands::zoo::run(args, out),
        Command::Completions(args) => commands::reference::completions(args, out),
        Command::Man(args) => commands::reference::man(args, out),
    }
}
