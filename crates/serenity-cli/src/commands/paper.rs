//! `serenity paper`: the paper's evaluation, recomputed.

use super::{count, duration};
use crate::args::PaperArgs;
use crate::outputs::make_folder;
use crate::printable::printable;
use crate::progress::StepLine;
use crate::{Failure, Outcome, json};
use schemars::JsonSchema;
use serde::Serialize;
use serenity::write::NewFile;
use serenity_paper::{Evaluation, Options, evaluate};
use std::io::Write;
use std::path::Path;
use std::time::Instant;

pub(crate) fn run(args: &PaperArgs, out: &mut impl Write) -> Result<Outcome, Failure> {
    let started = Instant::now();
    // Before the work, not after it.
    make_folder(&args.out, "--out")?;
    let options =
        Options { seeds: args.seeds, orders: args.orders, threads: args.threads, ..Options::default() };
    let line = StepLine::new(args.talk.quiet);
    let evaluation = evaluate(&options, &|progress| {
        line.show(&format!("[{}/{}] {}", progress.done + 1, progress.steps, progress.now));
    })?;
    drop(line);
    write(&args.out, &evaluation)?;
    let seconds = started.elapsed();
    if args.talk.json {
        let evaluated = Evaluated {
            out: &args.out,
            files: evaluation.files.iter().map(|file| file.name.as_str()).collect(),
            scheduled: evaluation.scheduled,
            rewritten: evaluation.rewritten,
            at_a_glance: evaluation.at_a_glance.rows(),
            seconds: seconds.as_secs_f64(),
        };
        writeln!(out, "{}", json::object("paper", None, evaluated))?;
    } else {
        writeln!(out, "{}", evaluation.at_a_glance.to_markdown())?;
        let files = count(evaluation.files.len() as u64, "file");
        let page = Path::new(&args.out).join("README.md");
        writeln!(out, "{files} in {}; begin with {}", duration(seconds), printable(&page.to_string_lossy()))?;
    }
    Ok(Outcome::Done)
}

/// `serenity paper`: the paper's evaluation, recomputed.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Evaluated<'a> {
    /// The folder written to.
    out: &'a str,
    /// The files in it.
    files: Vec<&'a str>,
    /// How many times less peak memory by scheduling, geometric mean.
    scheduled: f64,
    /// How many times less peak memory by scheduling and the paper's rewriting, geometric mean.
    rewritten: f64,
    /// The first table of the page: what, the paper's value, ours.
    at_a_glance: &'a [Vec<String>],
    /// Wall-clock time.
    #[schemars(range(min = 0))]
    seconds: f64,
}

/// All files or none.
fn write(folder: &str, evaluation: &Evaluation) -> Result<(), Failure> {
    let path = |name: &str| Path::new(folder).join(name).to_string_lossy().into_owned();
    let paths: Vec<String> = evaluation.files.iter().map(|file| path(&file.name)).collect();
    let files: Vec<NewFile> = paths
        .iter()
        .zip(&evaluation.files)
        .map(|(path, file)| NewFile { path, bytes: file.text.as_bytes() })
        .collect();
    Ok(serenity::write::write_together(&files)?)
}
