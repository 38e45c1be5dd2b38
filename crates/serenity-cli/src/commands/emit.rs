//! `serenity emit`: a model as code.

use super::{count, for_shell, missing, title, with_search};
use crate::args::{EmitArgs, EmitCArgs, EmitCommand};
use crate::progress::{ProgressLine, cancel_on_ctrl_c, thousands};
use crate::{Failure, Outcome, json};
use serde_json::{Value, json};
use serenity::emitting::{Emitted, prefix_of};
use serenity::runtimes::{Kernels, MemoryModel};
use serenity::write::NewFile;
use serenity::{Format, Input, Optimized, Options};
use std::io::Write;
use std::path::Path;

pub(crate) fn run(args: &EmitArgs, out: &mut impl Write) -> Result<Outcome, Failure> {
    let EmitCommand::C(args) = &args.command;
    let input = args.read.load(&args.input, args.runtime.runtime)?;
    check_input(args, &input)?;
    check_folder(&args.output)?;
    let found = planned(args, &input)?;
    let prefix = prefix_of(args.name.as_deref().unwrap_or(&args.input));
    let emitted = serenity::emit_c(&found.model, &found.plan, &prefix)?;
    let files = CodeFiles::new(&args.output, &emitted)?;
    serenity::write::write_together(&files.files())?;
    let fits = args.budget.map(|budget| emitted.ram() <= budget.0);
    if args.talk.json {
        let mut object = to_json(&emitted, &files);
        object["budget"] = args.budget.map(|budget| budget.0).into();
        object["fits"] = fits.into();
        object["before"] = found.plan.before.arena.into();
        writeln!(out, "{}", json::object("emit", Some(&args.input), object))?;
    } else {
        print(&args.output, &emitted, out)?;
        let command = format!("serenity verify {} {}", for_shell(&args.input), for_shell(&args.output));
        writeln!(out, "run both:    {command}")?;
        if let (Some(budget), Some(false)) = (args.budget, fits) {
            writeln!(out, "DOES NOT FIT: {} bytes too many", thousands(missing(emitted.ram(), budget)))?;
        }
    }
    Ok(if fits == Some(false) { Outcome::ConditionNotMet } else { Outcome::Done })
}

/// The model with a plan for emitted kernels.
fn planned(args: &EmitCArgs, input: &Input) -> Result<Optimized, Failure> {
    let model = args.runtime.model(input)?;
    let model = if args.runtime.kernels.is_none() { model.with_kernels(Kernels::Emitted) } else { model };
    check_kernels(model)?;
    super::optimize::check_loops(args.changes.loops.loops, &args.input, input, model)?;
    super::optimize::check_int8_io(args.changes.int8_io, &args.input, input)?;
    let cancel = cancel_on_ctrl_c();
    let (line, progress) = ProgressLine::new(&title(input.graph(), &args.input), args.talk.quiet);
    let options = with_search(Options::for_input(input), &args.search, &cancel);
    let options = Options { progress, ..args.changes.with(options, model, &args.runtime, args.budget) };
    let found = serenity::optimize(input, &options)?;
    drop(line);
    Ok(found)
}

/// Refuses a plan that emitted kernels do not keep.
pub(super) fn check_kernels(model: MemoryModel) -> Result<(), Failure> {
    match model.kernels() {
        Some(Kernels::Emitted | Kernels::Any) => Ok(()),
        Some(kernels) => Err(Failure::request(
            format!("--kernels {kernels}: emitted C has kernels of its own"),
            "leave out --kernels, or say --kernels emitted",
        )),
        None => Err(Failure::request(
            format!("C is written from the places of a plan for TFLM, which `{model}` does not have"),
            "leave out --runtime",
        )),
    }
}

fn check_input(args: &EmitCArgs, input: &Input) -> Result<(), Failure> {
    if input.file.format() != Format::TfLite {
        return Err(Failure::request(
            format!("cannot write C from `{}`: only a .tflite model holds all that it takes", args.input),
            "convert the model to .tflite; `serenity zoo export NAME -o net.tflite --int8` makes one of a built-in network",
        ));
    }
    if args.changes.no_plan {
        return Err(Failure::request(
            "--no-plan: emitted C needs the places of all tensors",
            "leave out --no-plan",
        ));
    }
    Ok(())
}

/// Refuses a folder that could not be written to in the end.
pub(super) fn check_folder(folder: &str) -> Result<(), Failure> {
    let path = Path::new(folder);
    if path.exists() && !path.is_dir() {
        return Err(Failure::request(
            format!("`{folder}` is no folder"),
            "name a folder, which need not exist",
        ));
    }
    Ok(())
}

/// The files of emitted code in a folder.
pub(super) struct CodeFiles<'a> {
    files: Vec<(String, &'a str)>,
}

impl<'a> CodeFiles<'a> {
    /// Makes the folder if there is none: the code is there, and nothing is left but to write it.
    pub(super) fn new(folder: &str, emitted: &'a Emitted) -> Result<Self, Failure> {
        std::fs::create_dir_all(folder)
            .map_err(|source| serenity::Error::Write { path: folder.to_owned(), source })?;
        let path = |name: &str| Path::new(folder).join(name).to_string_lossy().into_owned();
        Ok(Self { files: emitted.files.iter().map(|(name, text)| (path(name), text.as_str())).collect() })
    }

    pub(super) fn files(&self) -> Vec<NewFile<'_>> {
        self.files.iter().map(|(path, text)| NewFile { path, bytes: text.as_bytes() }).collect()
    }

    pub(super) fn paths(&self) -> Vec<&str> {
        self.files.iter().map(|(path, _)| path.as_str()).collect()
    }
}

pub(super) fn to_json(emitted: &Emitted, files: &CodeFiles) -> Value {
    json!({
        "prefix": emitted.prefix,
        "ram": emitted.ram(),
        "arena": emitted.arena,
        "state": emitted.state,
        "flash": emitted.constants,
        "steps": emitted.steps,
        "files": files.paths(),
    })
}

pub(super) fn print(folder: &str, emitted: &Emitted, out: &mut impl Write) -> Result<(), Failure> {
    let state = if emitted.state == 0 {
        String::new()
    } else {
        format!(", {} of them state", thousands(emitted.state))
    };
    writeln!(out, "C of {}, names begin with `{}_`", count(emitted.steps as u64, "step"), emitted.prefix)?;
    writeln!(out, "  static RAM   {:>10} bytes{state}", thousands(emitted.ram()))?;
    writeln!(out, "  constants    {:>10} bytes of flash, without code", thousands(emitted.constants))?;
    writeln!(
        out,
        "written to {}: {}",
        for_shell(folder),
        emitted.files.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
    )?;
    Ok(())
}
