//! `serenity emit`: a model as code.

use super::budget::Question;
use super::{count, factor, for_shell, title, with_search};
use crate::args::{EmitArgs, EmitCArgs, EmitCommand, Streaming};
use crate::failure::refuse;
use crate::progress::{ProgressLine, thousands};
use crate::screen::layout::COMMAND;
use crate::screen::style::{GOOD, paint};
use crate::signals::cancel_on_signal;
use crate::{Failure, Outcome, json};
use schemars::JsonSchema;
use serde::Serialize;
use serenity::code::StatedCode;
use serenity::coming::{Coming, code_for};
use serenity::emit::{Emitted, Hop, Library, Pushes, prefix_of};
use serenity::layout::Layout;
use serenity::pipeline::Need;
use serenity::pipeline::target::KernelsName;
use serenity::runtimes::{Kernels, MemoryModel};
use serenity::write::NewFile;
use serenity::{Input, Options};
use std::io::Write;
use std::path::Path;

pub(crate) fn run(args: &EmitArgs, out: &mut impl Write) -> Result<Outcome, Failure> {
    let EmitCommand::C(args) = &args.command;
    let input = args.read.load(&args.input, args.runtime.runtime)?;
    serenity::code::check_whole(&input)?;
    check_folder(&args.output)?;
    check_layout(args)?;
    let code = Code::new(&args.output, emitted(args, &input)?).laid_out(args.layout);
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

/// Refuses a build that would not find the library that the code calls.
fn check_layout(args: &EmitCArgs) -> Result<(), Failure> {
    if args.runtime.kernels.is_some_and(KernelsName::are_of_cmsis_nn) && !args.layout.finds_cmsis_nn() {
        let message = format!("--layout {}: it does not say where your CMSIS-NN is", args.layout);
        return refuse(message, "say --layout plain, or leave out --kernels");
    }
    Ok(())
}

/// The code of the model, planned for emitted kernels.
fn emitted(args: &EmitCArgs, input: &Input) -> Result<Emitted, Failure> {
    if args.hop.is_some() && args.stream != Some(Streaming::Time) {
        let message = "--hop: only windows over time move by rows";
        return refuse(message, "say --stream time as well");
    }
    if args.changes.no_plan {
        let message = "--no-plan: emitted C needs the places of all tensors";
        return refuse(message, "leave out --no-plan");
    }
    let target = args.changes.target(&args.runtime, args.budget);
    let model = target.with_emitted_kernels(target.model(input)?)?;
    if args.stream.is_some() && model.kernels() != Some(Kernels::Emitted) {
        let message = "--stream: the functions of CMSIS-NN want whole images, not rows that lie apart";
        return refuse(message, "leave out --kernels");
    }
    let options = target.options(input, model)?;
    serenity::code::check_covered(input, args.changes.int8_io, model.kernels().unwrap_or_default())?;
    let cancel = cancel_on_signal();
    let (line, progress) = ProgressLine::new(&title(input.graph(), &args.input), args.talk.quiet);
    let options = Options { progress, ..with_search(options, &args.search, &cancel)? };
    let prefix = prefix_of(args.name.as_deref().unwrap_or(&args.input));
    let coming = match args.stream {
        None => Coming::Whole,
        Some(Streaming::Rows) => Coming::Rows,
        Some(Streaming::Time) => {
            Coming::Time { hop: args.hop.unwrap_or(1), budget: args.budget.map(|budget| budget.bytes) }
        }
    };
    let emitted = code_for(input, &options, coming, &prefix)?.code;
    drop(line);
    Ok(emitted)
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

/// The core to compile for, where there are several.
fn core(library: Library) -> &'static str {
    match library {
        Library::Helium | Library::CmsisNnMve => "cortex-m55 -mfloat-abi=hard",
        Library::None | Library::CmsisNn => "cortex-m4",
    }
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
    layout: Layout,
    /// Names in the folder, and texts.
    contents: Vec<(String, String)>,
    paths: Vec<String>,
}

impl Code {
    pub(super) fn new(folder: &str, emitted: Emitted) -> Self {
        let (folder, layout) = (folder.to_owned(), Layout::Plain);
        Self { folder, emitted, layout, contents: Vec::new(), paths: Vec::new() }.laid_out(layout)
    }

    /// The code with what a build expects beside it.
    pub(super) fn laid_out(self, layout: Layout) -> Self {
        let path = |name: &str| Path::new(&self.folder).join(name).to_string_lossy().into_owned();
        let contents = layout.files(&self.emitted);
        let paths = contents.iter().map(|(name, _)| path(name)).collect();
        Self { layout, contents, paths, ..self }
    }

    /// The folder and those in it, if there are none yet: nothing is left then but to write.
    pub(super) fn make_folder(&self) -> Result<(), Failure> {
        let folders = self.paths.iter().filter_map(|path| Path::new(path).parent());
        for folder in folders {
            let path = || folder.to_string_lossy().into_owned();
            std::fs::create_dir_all(folder)
                .map_err(|source| serenity::Error::Write { path: path(), source })?;
        }
        Ok(())
    }

    /// The folder of the code.
    fn folder_of_code(&self) -> String {
        let folder = self.folder.trim_end_matches('/');
        match self.layout.folder_of_code() {
            "" => self.folder.clone(),
            inner => format!("{folder}/{inner}"),
        }
    }

    /// How the build takes the code.
    fn print_use(&self, out: &mut impl Write) -> Result<(), Failure> {
        let (folder, prefix) = (for_shell(self.folder.trim_end_matches('/')), &self.emitted.prefix);
        match self.layout {
            Layout::Plain => writeln!(
                out,
                "compile:     {COMMAND}arm-none-eabi-gcc -mcpu={} -mthumb -O2 -c {folder}/*.c",
                core(self.emitted.library)
            )?,
            Layout::Cmake => writeln!(
                out,
                "CMake:       add_subdirectory({folder}), then target_link_libraries(YOURS PRIVATE {prefix}_model)"
            )?,
            Layout::EspIdf => writeln!(
                out,
                "ESP-IDF:     a component: move {folder} into components/, or name it in EXTRA_COMPONENT_DIRS"
            )?,
            Layout::Zephyr => {
                writeln!(
                    out,
                    "Zephyr:      a module: name {folder}, as an absolute path, in ZEPHYR_EXTRA_MODULES"
                )?;
            }
            Layout::Arduino => {
                writeln!(out, "Arduino:     {COMMAND}arduino-cli compile --library {folder} SKETCH")?;
            }
            Layout::Platformio => writeln!(out, "PlatformIO:  move {folder} into lib/")?,
        }
        Ok(())
    }

    pub(super) fn files(&self) -> impl Iterator<Item = NewFile<'_>> {
        self.paths
            .iter()
            .zip(&self.contents)
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
        if let Some(Pushes { rows, row_bytes, mean_macs, most_macs, rest_macs, hop }) = self.emitted.pushes {
            let [mean, most, rest] = [mean_macs, most_macs, rest_macs].map(thousands);
            let rows = thousands(rows);
            if let Some(Hop { rows: frames, macs, window_macs }) = hop {
                writeln!(
                    out,
                    "  window       {rows:>10} rows of {row_bytes} bytes, the next after {frames}"
                )?;
                let (hop, whole, less) = (thousands(macs), thousands(window_macs), factor(window_macs, macs));
                writeln!(out, "  MACs         {hop:>10} per window instead of {whole}: {less:.1}x less")?;
                writeln!(
                    out,
                    "  MACs per row {most:>10} at most, and {rest} of the rest when a window is full"
                )?;
            } else {
                writeln!(
                    out,
                    "  pushes       {rows:>10} rows of {row_bytes} bytes; {mean} MACs each, {most} at most; the rest {rest}"
                )?;
            }
        }
        if let Some(number) = instructions {
            let (number, unit) = match *number {
                small @ ..1_000_000 => (small as f64 / 1e3, "thousand"),
                number => (number as f64 / 1e6, "million"),
            };
            let is_slid = self.emitted.pushes.is_some_and(|pushes| pushes.hop.is_some());
            let per_window = if is_slid { " per window" } else { "" };
            writeln!(
                out,
                "  time         {number:>10.1} {unit} instructions{per_window} on a Cortex-M4, by estimate"
            )?;
        }
        writeln!(out)?;
        let names: Vec<&str> = self.contents.iter().map(|(name, _)| name.as_str()).collect();
        writeln!(out, "written to {}: {}", for_shell(&self.folder), names.join(", "))?;
        self.print_use(out)?;
        let call = if self.emitted.pushes.is_some() { "push(row)" } else { "invoke()" };
        writeln!(out, "call:        {prefix}_{call}; see model.h")?;
        writeln!(
            out,
            "run both:    {COMMAND}serenity verify {} {}",
            for_shell(path),
            for_shell(&self.folder_of_code())
        )?;
        Ok(())
    }
}
