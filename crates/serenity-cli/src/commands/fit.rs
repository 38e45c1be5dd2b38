//! `serenity fit`: all ways to run a model in the memory of a device.

use super::emit::Code;
use super::{as_typed, for_shell, title, with_search};
use crate::args::FitArgs;
use crate::outputs::OutputFile;
use crate::progress::{ProgressLine, thousands};
use crate::screen::layout::HANG;
use crate::screen::style::{BAD, GOOD, TITLE, paint};
use crate::signals::cancel_on_signal;
use crate::size::Size;
use crate::{Failure, Outcome, json};
use schemars::JsonSchema;
use serde::Serialize;
use serenity::pipeline::{Target, planned_model, reordered_graph};
use serenity::runtimes::{Kernels, MemoryModel};
use serenity::{Input, Options};
use serenity_fit::{Fit, Made, Question, Row, Way, fit};
use std::io::Write;
use std::path::Path;

pub(crate) fn run(args: &FitArgs, out: &mut impl Write) -> Result<Outcome, Failure> {
    let wanted = Wanted::new(args)?;
    let input = args.read.load(&args.input, args.runtime.runtime)?;
    let target = Target { budget: Some(args.budget.0), ..args.runtime.target() };
    let options = target.options(&input, target.model(&input)?)?;
    let cancel = cancel_on_signal();
    let (line, progress) = ProgressLine::new(&title(input.graph(), &args.input), args.talk.quiet);
    let options = Options { progress, plan_arena: true, ..with_search(options, &args.search, &cancel)? };
    let question = Question {
        budget: args.budget.0,
        typed: as_typed(&args.input, &args.read, &args.runtime),
        allowed: args.allowed(),
        names_kernels: args.runtime.kernels.is_some(),
    };
    let found = fit(&input, &options, &question)?;
    drop(line);
    let first = found.first(|way| wanted.can_be(*way));
    let written = match first {
        Some(row) => wanted.write(row, &input)?,
        None => Vec::new(),
    };
    if args.talk.json {
        let stated = Stated::new(args, options.model, &found, first, &written);
        writeln!(out, "{}", json::object("fit", Some(&args.input), stated))?;
    } else {
        print(args, &input, &found, first, &written, out)?;
    }
    Ok(if first.is_some() { Outcome::Done } else { Outcome::ConditionNotMet })
}

/// What is to be written.
enum Wanted<'a> {
    Nothing,
    Model(OutputFile<'a>),
    Code(&'a str),
}

impl<'a> Wanted<'a> {
    fn new(args: &'a FitArgs) -> Result<Self, Failure> {
        let Some(path) = &args.output else { return Ok(Self::Nothing) };
        if path.ends_with('/') || Path::new(path).is_dir() {
            super::emit::check_folder(path)?;
            return Ok(Self::Code(path));
        }
        Ok(Self::Model(OutputFile::new(path)?))
    }

    fn can_be(&self, way: Way) -> bool {
        match self {
            Self::Nothing => true,
            Self::Model(_) => !way.is_code,
            Self::Code(_) => way.is_code,
        }
    }

    /// Writes what was made; returns the names of the files.
    fn write(&self, row: &Row, input: &Input) -> Result<Vec<String>, Failure> {
        let Ok(made) = &row.outcome else { return Ok(Vec::new()) };
        match self {
            Self::Nothing => Ok(Vec::new()),
            Self::Model(output) => {
                let bytes = match &made.found {
                    None => input.file.bytes().into_owned(),
                    Some(found) => {
                        let graph = reordered_graph(&found.model, &found.plan)?;
                        match output.content.graph_text(&graph) {
                            Some(text) => text.into_bytes(),
                            None => planned_model(&found.model, &found.plan)?,
                        }
                    }
                };
                output.write(&bytes)?;
                Ok(vec![output.path.to_owned()])
            }
            Self::Code(folder) => {
                let Some(emitted) = &made.code else { return Ok(Vec::new()) };
                let code = Code::new(folder, emitted.clone());
                code.make_folder()?;
                let files: Vec<_> = code.files().collect();
                serenity::write::write_together(&files)?;
                Ok(files.iter().map(|file| file.path.to_owned()).collect())
            }
        }
    }
}

fn print(
    args: &FitArgs,
    input: &Input,
    found: &Fit,
    first: Option<&Row>,
    written: &[String],
    out: &mut impl Write,
) -> Result<(), Failure> {
    let budget = in_units(args.budget);
    let name = paint(TITLE, title(input.graph(), &args.input));
    writeln!(out, "{name} in {budget}\n")?;
    let room = found.rows.iter().map(|row| row.way.to_string().len()).max().unwrap_or(0);
    let heading = format!("{:<room$}  {:>11}  {:>10}  {:>7}", "way", "bytes", "over by", "time");
    writeln!(out, "{}", paint(TITLE, heading.trim_end()))?;
    for row in &found.rows {
        let way = row.way.to_string();
        match &row.outcome {
            Ok(made) => {
                let (over, time) = (over(made, args.budget.0), time(made));
                let bytes = thousands(made.need.to_be_safe());
                writeln!(out, "{}", format!("{way:<room$}  {bytes:>11}  {over}  {time:>7}").trim_end())?;
                if args.verbose {
                    explain(made, "    ", out)?;
                }
            }
            Err(why) => writeln!(out, "{way:<room$}  {:>11}  {HANG}{why}", "-")?,
        }
    }
    writeln!(out)?;
    match first.and_then(|row| Some((row, row.outcome.as_ref().ok()?))) {
        Some((row, made)) => {
            let set = if row.way.is_code { "static memory" } else { "set the arena to" };
            let needs = thousands(made.need.to_be_safe());
            let fits = paint(GOOD, format!("fits {budget}"));
            writeln!(out, "{fits}: {}; {set} {needs} bytes", row.way)?;
            explain(made, "  ", out)?;
            if !written.is_empty() {
                let names: Vec<String> = written.iter().map(|path| for_shell(path)).collect();
                writeln!(out, "  written to {HANG}{}", names.join(", "))?;
            }
        }
        None if found.rows.iter().any(Row::fits) => {
            let other = if matches!(args.output.as_deref(), Some(path) if path.ends_with('/')) {
                "as a model: give -o FILE.tflite"
            } else {
                "as C code: give -o DIR/"
            };
            writeln!(out, "{}", paint(BAD, format!("fits {budget} only {other}")))?;
        }
        None => {
            writeln!(out, "{}", paint(BAD, format!("does not fit {budget} in any way")))?;
            for sentence in &found.advice {
                writeln!(out, "  {HANG}{sentence}")?;
            }
        }
    }
    Ok(())
}

/// A budget in units of 1024 if it is a whole number of them, as devices have it.
fn in_units(budget: Size) -> String {
    match budget.0 {
        bytes if bytes > 0 && bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
        bytes if bytes > 0 && bytes.is_multiple_of(1 << 10) => format!("{} KiB", bytes >> 10),
        _ => budget.to_string(),
    }
}

fn over(made: &Made, budget: u64) -> String {
    let over = made.need.to_be_safe().saturating_sub(budget);
    let text = match over {
        _ if !made.can_run => "cannot run".to_owned(),
        0 if !made.fits => "unknown".to_owned(),
        0 => return paint(GOOD, format!("{:>10}", "fits")),
        bytes => thousands(bytes),
    };
    format!("{text:>10}")
}

fn time(made: &Made) -> String {
    if made.extra_time > 0.0 { format!("+{:.1} %", 100.0 * made.extra_time) } else { String::new() }
}

/// What a way asks and costs, and the command that makes it.
fn explain(made: &Made, indent: &str, out: &mut impl Write) -> Result<(), Failure> {
    for ask in &made.asks {
        writeln!(out, "{indent}the application must {HANG}{ask}")?;
    }
    let mut costs = Vec::new();
    if made.extra_macs != 0 {
        costs.push(change(made.extra_macs, "multiplications"));
    }
    if made.extra_time > 0.0 {
        costs.push(format!("about {:.1} % more instructions", 100.0 * made.extra_time));
    }
    if made.extra_flash != 0 {
        costs.push(change(made.extra_flash, "bytes of constants"));
    }
    if !costs.is_empty() {
        writeln!(out, "{indent}it costs {HANG}{}", costs.join(", "))?;
    }
    if let Some(command) = &made.command {
        writeln!(out, "{indent}command: {HANG}{command}")?;
    }
    Ok(())
}

fn change(number: i64, what: &str) -> String {
    format!("{} {} {what}", thousands(number.unsigned_abs()), if number > 0 { "more" } else { "fewer" })
}

/// `serenity fit`: all ways to run a model in the memory of a device.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Stated<'a> {
    /// The memory model.
    runtime: MemoryModel,
    /// The kernels that TFLM is built with, as far as they are known.
    kernels: Option<Kernels>,
    /// The budget, as given by --budget.
    budget: u64,
    /// Does the model fit in one of the ways that can be written to the output?
    fits: bool,
    /// The first such way: its number in `ways`.
    first: Option<usize>,
    /// All ways that are permitted, from the one that asks least of the application to the one that asks most.
    ways: Vec<StatedWay<'a>>,
    /// If nothing fits: how far down it can go, who is in the way, and what change of the model would help.
    advice: &'a [String],
    /// The files written.
    files: &'a [String],
}

/// One way to run a model. What was made of it is null if it is not possible.
#[derive(Serialize, JsonSchema)]
pub(crate) struct StatedWay<'a> {
    /// The way, for people.
    way: String,
    /// The changes that it makes.
    changes: Vec<String>,
    /// The kernels that it is for, if none were named.
    kernels: Option<Kernels>,
    /// The memory that a device must have.
    needs: Option<u64>,
    /// Bytes to add because builds of TFLM differ.
    margin: Option<u64>,
    /// Is that within the budget, margin included?
    fits: Option<bool>,
    /// Multiplications added to the model as it came; negative if there are fewer.
    extra_macs: Option<i64>,
    /// The share of instructions that loops add, by estimate.
    extra_time: Option<f64>,
    /// Bytes of constants added to the model as it came; negative if there are fewer.
    extra_flash: Option<i64>,
    /// Is it proved that nothing made this way needs less?
    proved: Option<bool>,
    /// What the application must do.
    asks: &'a [String],
    /// The command that makes it.
    command: Option<&'a str>,
    /// Why it is not possible; null if it is.
    not_possible: Option<String>,
}

impl<'a> Stated<'a> {
    fn new(
        args: &FitArgs,
        model: MemoryModel,
        found: &'a Fit,
        first: Option<&Row>,
        files: &'a [String],
    ) -> Self {
        Self {
            runtime: model,
            kernels: model.kernels(),
            budget: args.budget.0,
            fits: first.is_some(),
            first: first.and_then(|first| found.rows.iter().position(|row| std::ptr::eq(row, first))),
            ways: found.rows.iter().map(StatedWay::of).collect(),
            advice: &found.advice,
            files,
        }
    }
}

impl<'a> StatedWay<'a> {
    fn of(row: &'a Row) -> Self {
        let made = row.outcome.as_ref().ok();
        Self {
            way: row.way.to_string(),
            changes: row.way.changes().iter().map(ToString::to_string).collect(),
            kernels: row.way.kernels,
            needs: made.map(|made| made.need.bytes),
            margin: made.map(|made| made.need.margin),
            fits: made.map(|made| made.fits),
            extra_macs: made.map(|made| made.extra_macs),
            extra_time: made.map(|made| made.extra_time),
            extra_flash: made.map(|made| made.extra_flash),
            proved: made.map(|made| made.is_proved),
            asks: made.map_or(&[], |made| &made.asks),
            command: made.and_then(|made| made.command.as_deref()),
            not_possible: row.outcome.as_ref().err().map(ToString::to_string),
        }
    }
}
