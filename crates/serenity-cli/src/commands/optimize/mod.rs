//! `serenity optimize`: the main job.

mod attempts;
mod channels;
mod code;
mod device;
mod figures;
mod fit;
mod hop;
mod int8_io;
mod loops;
mod next_steps;
mod proofs;
mod report;
mod rewrites;

pub(super) use int8_io::changed;

use super::page::{self, PageFiles};
use super::several::{self, Done, Several};
use super::ways::{Table, print_made};
use super::{as_typed, for_shell, title, with_search};
use crate::args::OptimizeArgs;
use crate::failure::refuse;
use crate::outputs::OutputFile;
use crate::progress::ProgressLine;
use crate::screen::style::{TITLE, paint};
use crate::signals::cancel_on_signal;
use crate::size::GivenSize;
use crate::{Failure, Outcome, json};
use code::Code;
use device::{DevicePlan, StatedMemories};
use report::Report;
use schemars::JsonSchema;
use serde::Serialize;
use serenity::account::{Account, StatedAccount};
use serenity::code::StatedCode;
use serenity::hops::StatedHop;
use serenity::pipeline::{Attempt, StatedAttempt, StatedPlan, Target};
use serenity::schedule::Algorithm;
use serenity::search::CancelFlag;
use serenity::write::NewFile;
use serenity::{Format, Input, Optimized, Options, Plan, PlanFile};
use serenity_fit::{Change, Fit, Question};
use serenity_page::PageOptions;
use std::io::Write;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Instant;

/// `serenity optimize`: what the model needs before and after, and how that is reached.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Stated<'a> {
    #[serde(flatten)]
    account: StatedAccount<'a>,
    /// The file written by -o.
    output: Option<&'a str>,
    #[serde(flatten)]
    memories: Option<StatedMemories<'a>>,
    /// Windows over time, asked for by --hop: what a run takes, and how the application runs the model. Null without.
    hop: Option<StatedHop>,
    /// Every variant of the model that was tried, in this order; empty if ONNX Runtime optimised the model first.
    attempts: Vec<StatedAttempt<'a>>,
    /// The C code written by -o DIR/; null without.
    code: Option<StatedCode<'a>>,
    /// The page written by -o FILE.html.
    report: Option<&'a str>,
    /// The pictures written by --svg.
    pictures: Vec<&'a str>,
}

/// The plan that `serenity optimize --plan` writes, and `serenity check` reads.
#[derive(Serialize, JsonSchema)]
pub(crate) struct WrittenPlan<'a> {
    #[serde(flatten)]
    plan: StatedPlan<'a>,
    #[serde(flatten)]
    memories: Option<StatedMemories<'a>>,
}

/// One of the models, and where it goes.
pub(super) struct Job<'a> {
    args: &'a OptimizeArgs,
    pub(super) input: &'a str,
    pub(super) output: Option<&'a str>,
}

/// What is asked for is asked for all.
impl Deref for Job<'_> {
    type Target = OptimizeArgs;

    fn deref(&self) -> &OptimizeArgs {
        self.args
    }
}

impl Job<'_> {
    /// Is the model written over itself?
    fn overwrites(&self) -> bool {
        self.output.is_some_and(|path| serenity::write::is_read_from(self.input, path))
    }
}

pub(crate) fn run(args: &OptimizeArgs, out: &mut impl Write) -> Result<Outcome, Failure> {
    let targets = match &args.output_dir {
        Some(folder) => Some(several::targets(folder, &args.inputs, name_of_output)?),
        None => None,
    };
    check_names_of_one(args)?;
    let cancel = cancel_on_signal();
    let several = Several {
        inputs: &args.inputs,
        talk: args.talk,
        is_verbose: args.verbose,
        headings: ["before", "after"],
    };
    several.each(&cancel, out, |at, input, out| {
        let output = targets.as_ref().map(|targets| targets[at].as_str()).or(args.output.as_deref());
        one(&Job { args, input, output }, &cancel, out)
    })
}

/// Under which name a model is written into a folder: what has no weights is a graph.
fn name_of_output(name: &str) -> String {
    if Format::of_path(name).is_some() { name.to_owned() } else { format!("{name}.json") }
}

/// What names one file is for one model.
fn check_names_of_one(args: &OptimizeArgs) -> Result<(), Failure> {
    if args.inputs.len() == 1 {
        return Ok(());
    }
    let asked = [
        ("-o", &args.output),
        ("--plan", &args.plan),
        ("-o FILE.h", &args.emit_header),
        ("-o DIR/", &args.emit_c),
        ("-o FILE.html", &args.page.report),
        ("--svg", &args.page.svg),
    ];
    match asked.iter().find(|(_, path)| path.is_some()) {
        None => Ok(()),
        Some((option @ "-o", _)) => refuse(
            format!("{option} names one file for {} models", args.inputs.len()),
            "write all of them into a folder: --output-dir DIR",
        ),
        Some((option, _)) => refuse(
            format!("{option} is for one model, and there are {}", args.inputs.len()),
            "run the command for each",
        ),
    }
}

fn one(job: &Job, cancel: &CancelFlag, out: &mut dyn Write) -> Result<Done, Failure> {
    let started = Instant::now();
    let output = job.output.map(OutputFile::new).transpose()?;
    check_plan_target(job)?;
    device::check_target(job)?;
    check_page_targets(job)?;
    let input = job.read.load_any(job.input, job.runtime.runtime)?;
    let target = job.changes.target(&job.runtime, job.budget);
    let model = code::kernels(job, &target, &input)?;
    let options = target.options(&input, model)?;
    output.as_ref().map_or(Ok(()), |output| output.check(&input))?;
    device::check_runtime(job, model)?;
    let (line, progress) = ProgressLine::new(&title(input.graph(), job.input), job.talk.quiet);
    let mut options =
        Options { progress, plan_arena: !job.changes.no_plan, ..with_search(options, &job.search, cancel)? };
    if job.no_reorder {
        options.algorithm = Algorithm::File;
    }
    let (found, hop) = hop::optimized(job, &input, &options)?;
    let ways = if hop.is_some() { None } else { ways(job, &input, &found, &options, &target)? };
    let hint =
        if ways.is_some() || hop.is_some() { String::new() } else { loops::hint(job, &found, &options) };
    let drawn = draw(job, &input, &found, &options, ways.clone());
    let Optimized { model: planned, plan, attempts } = found;
    drop(line);
    let device = DevicePlan::new(job, &planned, &plan, &options.limits)?;
    let code = code::emitted(job, &planned, &plan)?;

    // What is said of the files is true when it is said: nothing is printed before they are written, and nothing can fail in between.
    let report = Report::new(job, &input, &planned, &plan, &attempts, started.elapsed());
    let mut said = Vec::new();
    if job.talk.json {
        let object = Stated {
            account: report.stated(),
            output: job.output,
            memories: device.stated(&planned),
            hop,
            attempts: attempts.iter().map(Attempt::stated).collect(),
            code: code.as_ref().map(Code::stated),
            report: job.page.report.as_deref(),
            pictures: drawn.pictures(),
        };
        writeln!(said, "{}", json::object("optimize", Some(job.input), object))?;
    } else {
        report.print(&mut said)?;
        if let Some(hop) = hop {
            hop::print(hop, job, &input, &planned, &mut said)?;
        }
        said.extend(hint.into_bytes());
        if let (Some(ways), Some(budget)) = (&ways, job.budget) {
            print_ways(ways, budget, &mut said)?;
        }
        device.print(job, &mut said)?;
        if let Some(code) = &code {
            code.print(job.input, &input, &mut said)?;
        }
        if let Some(path) = &job.page.report {
            writeln!(said, "page:        {}", for_shell(path))?;
        }
    }
    write_files(job, &planned, &plan, &device, &drawn, code.as_ref(), output.as_ref())?;
    out.write_all(&said)?;
    Ok(report.summary())
}

/// All ways to make a model fit that does not fit as it was asked for. Programs, and those who ask for silence or for
/// several models, ask for them by `serenity fit`.
fn ways(
    job: &Job,
    input: &Input,
    found: &Optimized,
    options: &Options,
    target: &Target,
) -> Result<Option<Arc<Fit>>, Failure> {
    let Some(budget) = job.budget else { return Ok(None) };
    let is_asked = !job.talk.json && !job.talk.quiet && job.inputs.len() == 1;
    let fits = Account::new(input, &found.model, &found.plan).fits(budget.bytes);
    if fits || !is_asked || !found.plan.counts_everything() {
        return Ok(None);
    }
    // The table is that of `serenity fit`, whatever changes were asked for here.
    let target = Target { rewrites: None, loops: None, int8_io: false, ..target.clone() };
    let plain = target.options(input, options.model)?;
    let options = Options { plan_arena: true, rewrites: plain.rewrites, int8_io: false, ..options.clone() };
    let question = Question {
        budget: budget.bytes,
        budget_typed: budget.as_argument(),
        typed: as_typed(job.input, &job.read, &job.runtime),
        allowed: Change::allowed(&[], &[]),
        names_kernels: job.runtime.kernels.is_some(),
        name: None,
        hop: None,
    };
    Ok(Some(Arc::new(serenity_fit::fit(input, &options, &question)?)))
}

fn print_ways(found: &Fit, budget: GivenSize, out: &mut Vec<u8>) -> Result<(), Failure> {
    writeln!(out, "\n{}\n", paint(TITLE, format!("all ways to make it fit {budget}")))?;
    let table = Table { found, budget, is_verbose: false };
    table.print(out)?;
    writeln!(out)?;
    match found.first(|_| true) {
        Some(row) => print_made(found, row, budget, &[], out),
        None => table.print_why_not("", out),
    }
}

/// Refuses a page that could not be written in the end.
fn check_page_targets(job: &Job) -> Result<(), Failure> {
    let others =
        [("-o", job.output), ("--plan", job.plan.as_deref()), ("-o FILE.h", job.emit_header.as_deref())];
    let report = job.page.report.as_deref().map(|path| ("-o FILE.html", path));
    page::check_targets(report, job.page.svg.as_deref(), job.input, &others)
}

/// The page and its pictures, if they were asked for.
fn draw(job: &Job, input: &Input, found: &Optimized, options: &Options, ways: Option<Arc<Fit>>) -> PageFiles {
    let asked = PageOptions {
        budget: job.budget.map(|budget| budget.bytes),
        budget_typed: job.budget.map_or_else(String::new, GivenSize::as_argument),
        ways,
        typed: as_typed(job.input, &job.read, &job.runtime),
        ..PageOptions::default()
    };
    PageFiles::new(job.page.report.as_deref(), job.page.svg.as_deref(), input, found, options, &asked)
}

fn check_plan_target(job: &Job) -> Result<(), Failure> {
    let Some(plan) = &job.plan else { return Ok(()) };
    serenity::write::check_target(plan)?;
    refuse_input(job, plan)?;
    match job.output {
        Some(output) if serenity::write::is_same_file(output, plan) => refuse(
            format!("the model and the plan would both be written to `{plan}`"),
            "give -o and --plan different names",
        ),
        _ => Ok(()),
    }
}

/// What is no model must not be written over the model.
fn refuse_input(job: &Job, target: &str) -> Result<(), Failure> {
    if serenity::write::is_read_from(job.input, target) {
        let message = format!("`{target}` is the model itself, which would be lost");
        return refuse(message, "give another name");
    }
    Ok(())
}

fn write_files(
    job: &Job,
    input: &Input,
    plan: &Plan,
    device: &DevicePlan,
    drawn: &PageFiles,
    code: Option<&Code>,
    output: Option<&OutputFile>,
) -> Result<(), Failure> {
    let stated = WrittenPlan { plan: StatedPlan::of(plan), memories: device.stated(input) };
    let plan_text = PlanFile::text(stated);
    let model;
    let mut files = Vec::new();
    if let Some(output) = output {
        model = match output.content.graph_text(&serenity::pipeline::reordered_graph(input, plan)?) {
            Some(text) => text.into_bytes(),
            None => serenity::pipeline::planned_model(input, plan)?,
        };
        files.push(output.with(&model));
    }
    if let Some(path) = &job.plan {
        files.push(NewFile { path, bytes: plan_text.as_bytes() });
    }
    files.extend(device.files(job));
    files.extend(drawn.files());
    if let Some(code) = code {
        code.make_folder()?;
        files.extend(code.files());
    }
    Ok(serenity::write::write_together(&files)?)
}
