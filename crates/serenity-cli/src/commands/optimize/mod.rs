//! `serenity optimize`: the main job.

mod device;
mod int8_io;
mod loops;
mod report;

pub(super) use int8_io::{changed, check_target as check_int8_io};
pub(super) use loops::check_target as check_loops;

use super::page::{self, PageFiles};
use super::{as_typed, for_shell, title, with_search};
use crate::args::OptimizeArgs;
use crate::outputs::{Content, OutputFile};
use crate::progress::{ProgressLine, cancel_on_ctrl_c};
use crate::{Failure, Outcome, json};
use device::DevicePlan;
use report::Report;
use serenity::report::PageOptions;
use serenity::scheduling::Algorithm;
use serenity::write::NewFile;
use serenity::{Input, Optimized, Options, Plan};
use std::io::Write;
use std::time::Instant;

pub(crate) fn run(args: &OptimizeArgs, out: &mut impl Write) -> Result<Outcome, Failure> {
    let started = Instant::now();
    let output = args.output.as_deref().map(OutputFile::new).transpose()?;
    check_plan_target(args)?;
    device::check_target(args)?;
    check_page_targets(args)?;
    let input = args.read.load(&args.input, args.runtime.runtime)?;
    let model = args.runtime.model(input.default_model)?;
    check_loops(args.loops.loops, &args.input, &input, model)?;
    check_int8_io(args.int8_io, &args.input, &input)?;
    check_format(&input, output.as_ref())?;
    device::check_runtime(args, model)?;
    let cancel = cancel_on_ctrl_c();
    let (line, progress) = ProgressLine::new(&title(input.graph(), &args.input));
    let mut options = Options {
        model,
        progress,
        plan_arena: !args.no_plan,
        rewrites: args.rewrite.on(model, &args.runtime),
        int8_io: args.int8_io,
        loops: args.loops.within(args.budget),
        fast: args.runtime.fast(args.rewrite.before_fusing()),
        ..with_search(Options::for_input(&input), &args.search, &cancel)
    };
    if args.no_reorder {
        options.algorithm = Algorithm::File;
    }
    let found = serenity::optimize(&input, &options)?;
    let hint = loops::hint(args, &found, &options);
    let drawn = draw(args, &input, &found, &options);
    let Optimized { model: planned, plan } = found;
    drop(line);
    let device = DevicePlan::new(args, &planned, &plan, &options.limits)?;

    // What is said of the files is true when it is said: nothing is printed before they are written, and nothing can fail in between.
    let report = Report::new(args, &input, &planned, &plan, started.elapsed());
    let mut said = Vec::new();
    if args.json.json {
        let mut object = report.to_json();
        device.add_to(&mut object, &planned);
        object["report"] = args.page.report.clone().into();
        object["pictures"] = drawn.pictures().into();
        writeln!(said, "{}", json::object("optimize", Some(&args.input), object))?;
    } else {
        report.print(&mut said)?;
        said.extend(hint.into_bytes());
        device.print(args, &mut said)?;
        if let Some(path) = &args.page.report {
            writeln!(said, "page:        {}", for_shell(path))?;
        }
    }
    write_files(args, &planned, &plan, &device, &drawn, output.as_ref())?;
    out.write_all(&said)?;
    match report.fits() {
        Some(false) => Ok(Outcome::ConditionNotMet),
        _ => Ok(Outcome::Done),
    }
}

/// Refuses a page that could not be written in the end.
fn check_page_targets(args: &OptimizeArgs) -> Result<(), Failure> {
    let others = [("-o", &args.output), ("--plan", &args.plan), ("--emit-header", &args.emit_header)];
    let others = others.map(|(option, path)| (option, path.as_deref()));
    let report = args.page.report.as_deref().map(|path| ("--report", path));
    page::check_targets(report, args.page.svg.as_deref(), &args.input, &others)
}

/// The page and its pictures, if they were asked for.
fn draw(args: &OptimizeArgs, input: &Input, found: &Optimized, options: &Options) -> PageFiles {
    let asked = PageOptions {
        budget: args.budget.map(|budget| budget.0),
        typed: as_typed(&args.input, &args.read, &args.runtime),
        ..PageOptions::default()
    };
    PageFiles::new(args.page.report.as_deref(), args.page.svg.as_deref(), input, found, options, &asked)
}

fn check_plan_target(args: &OptimizeArgs) -> Result<(), Failure> {
    let Some(plan) = &args.plan else { return Ok(()) };
    serenity::write::check_target(plan)?;
    refuse_input(args, plan)?;
    match &args.output {
        Some(output) if serenity::write::is_same_file(output, plan) => Err(Failure::request(
            format!("the model and the plan would both be written to `{plan}`"),
            "give -o and --plan different names",
        )),
        _ => Ok(()),
    }
}

/// What is no model must not be written over the model.
fn refuse_input(args: &OptimizeArgs, target: &str) -> Result<(), Failure> {
    if serenity::write::is_same_file(&args.input, target) {
        let message = format!("`{target}` is the model itself, which would be lost");
        return Err(Failure::request(message, "give another name"));
    }
    Ok(())
}

/// A model can be written in the format it came in, and as a graph.
fn check_format(input: &Input, output: Option<&OutputFile>) -> Result<(), Failure> {
    let Some(OutputFile { path, content: Content::File(format) }) = output else { return Ok(()) };
    let own = input.file.format();
    if !format.has_weights() {
        Ok(())
    } else if !own.has_weights() {
        Err(Failure::request(
            format!("cannot write `{path}`: the input is a graph, without the weights that a model needs"),
            "give a .tflite or .onnx file as input; `serenity zoo export NAME -o net.tflite` makes one of a built-in network",
        ))
    } else if *format != own {
        Err(Failure::request(
            format!("cannot write `{path}`: a model is written in the format it came in"),
            "end the name as that of the input, or write the graph alone as .json",
        ))
    } else if !input.file.is_whole() {
        Err(Failure::request(
            format!("cannot write `{path}`: with --fold-constants some operators of the model are left out"),
            "leave out --fold-constants, or write the graph alone as .json",
        ))
    } else {
        Ok(serenity::check_side_files(input, path)?)
    }
}

fn write_files(
    args: &OptimizeArgs,
    input: &Input,
    plan: &Plan,
    device: &DevicePlan,
    drawn: &PageFiles,
    output: Option<&OutputFile>,
) -> Result<(), Failure> {
    let mut object = plan.to_json();
    device.add_to(&mut object, input);
    let plan_text = format!("{}\n", json::plan(object));
    let model;
    let mut files = Vec::new();
    if let Some(output) = output {
        model = match output.content.graph_text(&serenity::reordered_graph(input, plan)?) {
            Some(text) => text.into_bytes(),
            None => serenity::planned_model(input, plan)?,
        };
        files.push(output.with(&model));
    }
    if let Some(path) = &args.plan {
        files.push(NewFile { path, bytes: plan_text.as_bytes() });
    }
    files.extend(device.files(args));
    files.extend(drawn.files());
    Ok(serenity::write::write_together(&files)?)
}
