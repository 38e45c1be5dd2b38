//! `serenity fit`: all ways to run a model in the memory of a device.

use super::emit::Code;
use super::ways::{Table, print_made};
use super::{as_typed, title, with_search};
use crate::args::FitArgs;
use crate::outputs::OutputFile;
use crate::progress::ProgressLine;
use crate::screen::Screen;
use crate::screen::style::{TITLE, paint};
use crate::signals::cancel_on_signal;
use crate::size::GivenSize;
use crate::{Failure, Outcome, json};
use schemars::JsonSchema;
use serde::Serialize;
use serenity::pipeline::{Target, planned_model, reordered_graph};
use serenity::{Input, Options};
use serenity_fit::{Change, Fit, Question, Row, StatedFit, Way, fit};
use std::io::Write;
use std::path::Path;

pub(crate) fn run(args: &FitArgs, out: &mut impl Write) -> Result<Outcome, Failure> {
    let wanted = Wanted::new(args)?;
    let input = args.read.load(&args.input, args.runtime.runtime)?;
    if let Wanted::Model(output) = &wanted {
        output.check(&input)?;
    }
    let target = Target { budget: Some(args.budget.bytes), ..args.runtime.target() };
    let options = target.options(&input, target.model(&input)?)?;
    let cancel = cancel_on_signal();
    let (line, progress) = ProgressLine::new(&title(input.graph(), &args.input), args.talk.quiet);
    let options = Options { progress, plan_arena: true, ..with_search(options, &args.search, &cancel)? };
    let question = Question {
        budget: args.budget.bytes,
        budget_typed: args.budget.as_argument(),
        typed: as_typed(&args.input, &args.read, &args.runtime),
        allowed: Change::allowed(&args.allow, &args.forbid),
        names_kernels: args.runtime.kernels.is_some(),
        name: args.name.clone(),
        hop: args.hop,
    };
    let found = fit(&input, &options, &question)?;
    drop(line);
    let first = found.first(|way| wanted.can_be(*way));
    let written = match first {
        Some(row) => wanted.write(row, &input)?,
        None => Vec::new(),
    };
    if args.talk.json {
        let stated = Stated { fit: StatedFit::new(&found, options.model, &question, first), files: &written };
        writeln!(out, "{}", json::object("fit", Some(&args.input), stated))?;
    } else {
        let table = Table { found: &found, budget: args.budget, is_verbose: args.verbose };
        print(&title(input.graph(), &args.input), &table, first, &wanted, &written, out)?;
    }
    Ok(if first.is_some() { Outcome::Done } else { Outcome::ConditionNotMet })
}

fn print(
    title: &str,
    table: &Table,
    first: Option<&Row>,
    wanted: &Wanted,
    written: &[String],
    out: &mut impl Write,
) -> Result<(), Failure> {
    writeln!(out, "{} in {}\n", paint(TITLE, title), table.budget)?;
    table.print(out)?;
    writeln!(out)?;
    match first {
        Some(row) => print_made(table.found, row, table.budget, written, out),
        None => table.print_why_not(wanted.other_kind(), out),
    }
}

/// What the command prints, without colours, for other front ends.
pub(crate) fn as_text(input: &Input, found: &Fit, budget: GivenSize) -> String {
    let mut text = Vec::new();
    let table = Table { found, budget, is_verbose: false };
    let (title, first) = (title(input.graph(), &input.name), found.first(|_| true));
    // Memory can always be written to.
    let _ = print(&title, &table, first, &Wanted::Nothing, &[], &mut Screen::plain(&mut text));
    String::from_utf8_lossy(&text).into_owned()
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

    /// The argument that would write the other kind of output.
    fn other_kind(&self) -> &'static str {
        match self {
            Self::Code(_) => "as a model: -o FILE.tflite",
            Self::Nothing | Self::Model(_) => "as C code: -o DIR/",
        }
    }

    /// Writes what was made; returns the names of the files.
    fn write(&self, row: &Row, input: &Input) -> Result<Vec<String>, Failure> {
        let Ok(made) = &row.outcome else { return Ok(Vec::new()) };
        match self {
            Self::Nothing => Ok(Vec::new()),
            Self::Model(output) => {
                let found = made.found.as_ref();
                let graph = found.map(|found| reordered_graph(&found.model, &found.plan)).transpose()?;
                let bytes = match (output.content.graph_text(graph.as_ref().unwrap_or(input.graph())), found)
                {
                    (Some(text), _) => text.into_bytes(),
                    (None, Some(found)) => planned_model(&found.model, &found.plan)?,
                    (None, None) => input.file.bytes().into_owned(),
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

/// `serenity fit`: all ways to run a model in the memory of a device.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Stated<'a> {
    #[serde(flatten)]
    fit: StatedFit<'a>,
    /// The files written.
    files: &'a [String],
}
