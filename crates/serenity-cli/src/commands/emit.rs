//! `serenity emit`: a model as code.

use super::budget::Question;
use super::{count, factor, for_shell, title, with_search};
use crate::args::{EmitArgs, EmitCArgs, EmitCommand};
use crate::failure::refuse;
use crate::progress::{ProgressLine, thousands};
use crate::screen::layout::COMMAND;
use crate::screen::style::{GOOD, paint};
use crate::signals::cancel_on_signal;
use crate::{Failure, Outcome, json};
use schemars::JsonSchema;
use serde::Serialize;
use serenity::code::StatedCode;
use serenity::emit::{Emitted, prefix_of};
use serenity::pipeline::Need;
use serenity::runtimes::{Kernels, MemoryModel};
use serenity::write::NewFile;
use serenity::{Input, Optimized, Options};
use std::io::Write;
use std::path::Path;

pub(crate) fn run(args: &EmitArgs, out: &mut impl Write) -> Result<Outcome, Failure> {
    let EmitCommand::C(args) = &args.command;
    let input = args.read.load(&args.input, args.runtime.runtime)?;
    serenity::code::check_whole(&input)?;
    check_folder(&args.output)?;
    let found = planned(args, &input)?;
    let prefix = prefix_of(args.name.as_deref().unwrap_or(&args.input));
    let code = Code::new(&args.output, serenity::code::emit_c(&found.model, &found.plan, &prefix)?);
    code.make_folder()?;
    serenity::write::write_together(&code.files().collect::<Vec<_>>())?;
    let fits = args.budget.map(|budget| code.emitted.ram() <= budget.bytes);
    if args.talk.json {
        let written = Written { code: code.stated(), budget: args.budget.map(|budget| budget.bytes), fits };
        writeln!(out, "{}", json::object("emit", Some(&args.input), written))?;
    } else {
        code.print(&args.input, &input, out)?;
        if let Some(budget) = args.budget {
            // Code takes what it takes: nothing is estimated, and nothing unknown.
            let need = Need { bytes: code.emitted.ram(), margin: 0 };
            let (unknown, counts_everything) = (&[][..], true);
            let (source, manner) = (args.input.as_str(), "");
            Question { budget, need, fault: None, unknown, counts_everything, source, manner }.answer(out)?;
        }
    }
    Ok(if fits == Some(false) { Outcome::ConditionNotMet } else { Outcome::Done })
}

/// The model with a plan for emitted kernels.
fn planned(args: &EmitCArgs, input: &Input) -> Result<Optimized, Failure> {
    if args.changes.no_plan {
        let message = "--no-plan: emitted C needs the places of all tensors";
        return refuse(message, "leave out --no-plan");
    }
    let target = args.changes.target(&args.runtime, args.budget);
    let model = target.with_emitted_kernels(target.model(input)?)?;
    let options = target.options(input, model)?;
    serenity::code::check_covered(input, args.changes.int8_io, model.kernels().unwrap_or_default())?;
    let cancel = cancel_on_signal();
    let (line, progress) = ProgressLine::new(&title(input.graph(), &args.input), args.talk.quiet);
    let options = Options { progress, ..with_search(options, &args.search, &cancel)? };
    let found = serenity::optimize(input, &options)?;
    drop(line);
    Ok(found)
}

/// Refuses a folder that could not be written to in the end.
pub(super) fn check_folder(folder: &str) -> Result<(), Failure> {
    if Path::new(folder).exists() && !Path::new(folder).is_dir() {
        return refuse(format!("`{folder}` is no folder"), "name a folder, which need not exist");
    }
    Ok(())
}

/// `serenity emit`: the code of a model, and what it takes.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Written<'a> {
    #[serde(flatten)]
    code: StatedCode<'a>,
    /// The budget, as given by --budget.
    budget: Option<u64>,
    /// Is the static memory within the budget? Null without one.
    fits: Option<bool>,
}

/// The whole arena that TFLM needs for a model as it came, whatever its kernels.
fn with_interpreter(came: &Input) -> u64 {
    let model = MemoryModel::Tflm(Kernels::Any);
    let plan = came.plan();
    let found = serenity::inspect(came.graphs(), model, plan.as_ref());
    let head = found.arena.map_or(found.profile.peak(), |arena| arena.bytes);
    Need::with(came.tail(model), head).bytes
}

/// Code, and the folder that it goes to.
pub(super) struct Code {
    folder: String,
    emitted: Emitted,
    paths: Vec<String>,
}

impl Code {
    pub(super) fn new(folder: &str, emitted: Emitted) -> Self {
        let path = |name: &str| Path::new(folder).join(name).to_string_lossy().into_owned();
        let paths = emitted.files.iter().map(|(name, _)| path(name)).collect();
        Self { folder: folder.to_owned(), emitted, paths }
    }

    /// The folder, if there is none yet: nothing is left then but to write.
    pub(super) fn make_folder(&self) -> Result<(), Failure> {
        let made = std::fs::create_dir_all(&self.folder);
        Ok(made.map_err(|source| serenity::Error::Write { path: self.folder.clone(), source })?)
    }

    pub(super) fn files(&self) -> impl Iterator<Item = NewFile<'_>> {
        self.paths
            .iter()
            .zip(&self.emitted.files)
            .map(|(path, (_, text))| NewFile { path, bytes: text.as_bytes() })
    }

    pub(super) fn stated(&self) -> StatedCode<'_> {
        StatedCode::of(&self.emitted, &self.paths)
    }

    /// `came` is the model that the code is made of, and `path` where it was read from.
    pub(super) fn print(&self, path: &str, came: &Input, out: &mut impl Write) -> Result<(), Failure> {
        let Emitted { prefix, state, constants, steps, instructions, .. } = &self.emitted;
        let state = match state {
            0 => String::new(),
            bytes => format!(", {} of them state", thousands(*bytes)),
        };
        let (before, after) = (with_interpreter(came), self.emitted.ram());
        let less = match factor(before, after) {
            factor if factor > 1.0 => format!("   {factor:.1}x less"),
            _ => String::new(),
        };
        writeln!(out, "C of {}, names begin with `{prefix}_`\n", count(*steps as u64, "step"))?;
        writeln!(
            out,
            "  RAM before   {:>10} bytes, TFLM's whole arena for the model as it came",
            thousands(before)
        )?;
        writeln!(
            out,
            "  RAM after    {:>10} bytes{state}, all static{}",
            thousands(after),
            paint(GOOD, less)
        )?;
        writeln!(out, "  constants    {:>10} bytes of flash, and the code", thousands(*constants))?;
        if let Some(number) = instructions {
            let millions = *number as f64 / 1e6;
            writeln!(
                out,
                "  time         {millions:>10.1} million instructions on a Cortex-M4, by estimate"
            )?;
        }
        writeln!(out)?;
        let names: Vec<&str> = self.emitted.files.iter().map(|(name, _)| *name).collect();
        let folder = for_shell(&self.folder);
        writeln!(out, "written to {folder}: {}", names.join(", "))?;
        writeln!(
            out,
            "compile:     {COMMAND}arm-none-eabi-gcc -mcpu=cortex-m4 -mthumb -O2 -c {}/*.c",
            folder.trim_end_matches('/')
        )?;
        writeln!(out, "call:        {prefix}_invoke(); see model.h")?;
        writeln!(out, "run both:    {COMMAND}serenity verify {} {folder}", for_shell(path))?;
        Ok(())
    }
}
