//! `serenity device`: several models in the memories of one device.

use super::emit::check_folder;
use super::{count, factor, for_shell, limits};
use crate::args::DeviceArgs;
use crate::progress::{ProgressLine, thousands};
use crate::screen::style::{GOOD, TITLE, paint};
use crate::signals::cancel_on_signal;
use crate::size::Size;
use crate::{Failure, Outcome, json};
use schemars::JsonSchema;
use serde::Serialize;
use serenity::memories::two_memories::Traffic;
use serenity::search::Proof;
use serenity::write::NewFile;
use serenity_device::{App, Device, DeviceError, Form, Handed, Kept, Search, StatedDevice, plan};
use serenity_report::Table;
use std::io::Write;
use std::iter;
use std::path::Path;

pub(crate) fn run(args: &DeviceArgs, out: &mut impl Write) -> Result<Outcome, Failure> {
    if let Some(folder) = &args.output {
        check_folder(folder)?;
    }
    let app = app(args)?;
    let cancel = cancel_on_signal();
    let (line, progress) = ProgressLine::new(&args.input, args.talk.quiet);
    let search = Search { effort: args.limits.effort, limits: limits(&args.limits, &cancel), progress };
    let device = plan(&args.input, app, &search)?;
    drop(line);
    let files = match &args.output {
        Some(folder) => write(folder, &device)?,
        None => Vec::new(),
    };
    if args.talk.json {
        let stated = Stated { device: device.stated(), files: &files };
        writeln!(out, "{}", json::object("device", Some(&args.input), stated))?;
    } else {
        print(&device, out)?;
        print_next(args, &device, out)?;
    }
    Ok(Outcome::Done)
}

/// The device of a file, or the one that the command line tells.
fn app(args: &DeviceArgs) -> Result<App, Failure> {
    let size = &|text: &str| text.parse().map(|Size(bytes)| bytes);
    let has_end = |end: &str| Path::new(&args.input).extension().is_some_and(|e| e.eq_ignore_ascii_case(end));
    if args.memory.is_empty() {
        if ["tflite", "onnx"].into_iter().any(has_end) {
            return Err(Failure::request(
                format!("`{}` is a model, and no file that describes a device", args.input),
                "name the memories: --memory dtcm=16KiB,sram=256KiB",
            ));
        }
        return Ok(App::load(&args.input, size)?);
    }
    if has_end("toml") {
        return Err(Failure::request(
            format!("--memory is for one model, and `{}` names its own memories", args.input),
            "leave out --memory, or give a model",
        ));
    }
    Ok(App::of_model(&args.input, args.memory.clone(), args.kernels.as_deref(), size)?)
}

impl From<DeviceError> for Failure {
    fn from(error: DeviceError) -> Self {
        match error {
            DeviceError::Model(error) => error.into(),
            error => Self::Other { kind: error.kind(), message: error.to_string(), help: error.help() },
        }
    }
}

/// Writes the code; returns the names of the files.
fn write(folder: &str, device: &Device) -> Result<Vec<String>, Failure> {
    let path = |name: &str| Path::new(folder).join(name).to_string_lossy().into_owned();
    let files: Vec<(String, Vec<u8>)> =
        device.files()?.into_iter().map(|(name, bytes)| (path(&name), bytes)).collect();
    for parent in files.iter().filter_map(|(path, _)| Path::new(path).parent()) {
        std::fs::create_dir_all(parent).map_err(|source| serenity::Error::Write {
            path: parent.to_string_lossy().into_owned(),
            source,
        })?;
    }
    let news: Vec<NewFile> = files.iter().map(|(path, bytes)| NewFile { path, bytes }).collect();
    serenity::write::write_together(&news)?;
    Ok(files.into_iter().map(|(path, _)| path).collect())
}

fn print(device: &Device, out: &mut impl Write) -> Result<(), Failure> {
    let app = &device.app;
    let title = format!(
        "{}: {} in {}",
        app.name,
        count(app.models.len() as u64, "model"),
        count(app.memories.len() as u64, "memory").replace("memorys", "memories")
    );
    writeln!(out, "{}\n", paint(TITLE, title))?;
    print_memories(device, out)?;
    print_models(device, out)?;
    print_ram(device, out)?;
    if app.memories.len() > 1 { print_cost(device, out) } else { print_proof(device, out) }
}

/// What lies in each memory and what that costs, for a device of which only places are asked for.
pub(super) fn print_places(device: &Device, out: &mut impl Write) -> Result<(), Failure> {
    print_memories(device, out)?;
    writeln!(out)?;
    print_cost(device, out)
}

fn print_memories(device: &Device, out: &mut impl Write) -> Result<(), Failure> {
    let Device { app, plan, .. } = device;
    writeln!(out, "  {:<14} {:>12} {:>11} {:>11} {:>11}", "memory", "size", "used", "shared", "state")?;
    for (memory, filled) in app.memories.iter().zip(&plan.memories) {
        writeln!(
            out,
            "  {:<14} {:>12} {:>11} {:>11} {:>11}",
            memory.name,
            memory.typed,
            thousands(filled.shared + filled.state),
            thousands(filled.shared),
            thousands(filled.state)
        )?;
    }
    Ok(())
}

fn print_models(device: &Device, out: &mut impl Write) -> Result<(), Failure> {
    let Device { app, models, plan, .. } = device;
    let shared: Vec<Kept> = device.kept().into_iter().filter(|kept| kept.models.len() > 1).collect();
    writeln!(out, "\n  {:<14} {:>12} {:>11}   lies in", "model", "arena", "state")?;
    for (index, ((said, model), parts)) in app.models.iter().zip(models).zip(&plan.parts).enumerate() {
        let places: Vec<String> = parts
            .iter()
            .map(|part| format!("{} at {}", app.memories[part.memory].name, thousands(part.offset)))
            .collect();
        // What models share is told once, below.
        let state = match shared.iter().any(|kept| kept.models.contains(&index)) {
            true => "shared".to_owned(),
            false => thousands(model.state()),
        };
        writeln!(
            out,
            "  {:<14} {:>12} {state:>11}   {}",
            said.name,
            thousands(parts.iter().map(|part| part.bytes).sum()),
            places.join(" and ")
        )?;
    }
    for Kept { models, memory, bytes } in &shared {
        let names: Vec<&str> = models.iter().map(|&model| app.models[model].name.as_str()).collect();
        let (memory, bytes) = (&app.memories[*memory].name, thousands(bytes.arm32));
        writeln!(out, "  {:<14} {:>12} {bytes:>11}   {memory}, for {}", "allocator", "", names.join(", "))?;
    }
    for Handed { from, output, memory, offset, bytes, .. } in &plan.handed {
        let what = format!("{}'s {output}", app.models[*from].name);
        let memory = &app.memories[*memory].name;
        writeln!(
            out,
            "  {what:<14} {:>12} {:>11}   {memory} at {}: an output that others take",
            thousands(*bytes),
            "",
            thousands(*offset)
        )?;
    }
    Ok(())
}

fn print_ram(device: &Device, out: &mut impl Write) -> Result<(), Failure> {
    let plan = &device.plan;
    let (apart, ram) = (device.apart(), plan.ram());
    let less = match factor(apart, ram) {
        factor if factor > 1.0 => format!("   {factor:.1}x less"),
        _ => String::new(),
    };
    writeln!(out, "\n  RAM apart    {:>12} bytes, each model with memory of its own", thousands(apart))?;
    writeln!(out, "  RAM          {:>12} bytes, all static{}", thousands(ram), paint(GOOD, less))?;
    Ok(())
}

/// What the bytes in several memories cost, beside obvious placements.
fn print_cost(device: &Device, out: &mut impl Write) -> Result<(), Failure> {
    let Device { app, plan, .. } = device;
    let verdict = match plan.proof {
        Proof::Optimal => "proved least for these plans".to_owned(),
        Proof::Gap { .. } => format!("at least {}", thousands(plan.bound)),
    };
    writeln!(out, "  cost         {:>12} of all bytes touched; {verdict}", thousands(plan.cost))?;
    for (memory, said) in app.memories.iter().enumerate() {
        let Traffic { read, written } = plan.traffic(memory);
        writeln!(
            out,
            "    {:<11}{:>12} bytes read, {} written",
            said.name,
            thousands(read),
            thousands(written)
        )?;
    }
    print_touched(&device.touched(), out)
}

/// How good the places in one memory are.
fn print_proof(device: &Device, out: &mut impl Write) -> Result<(), Failure> {
    let Some(filled) = device.plan.memories.first() else { return Ok(()) };
    let verdict = if filled.shared <= filled.shared_bound {
        "proved least for these plans".to_owned()
    } else {
        format!("no placement of these plans shares less than {} bytes", thousands(filled.shared_bound))
    };
    writeln!(out, "  places       {verdict}")?;
    Ok(())
}

/// What obvious placements would touch beside the plan.
fn print_touched(table: &Table, out: &mut impl Write) -> Result<(), Failure> {
    writeln!(out)?;
    let names: Vec<String> = table.names().map(str::to_owned).collect();
    for row in iter::once(&names).chain(table.rows()) {
        let cells: Vec<String> = row.iter().skip(1).map(|cell| format!("{cell:>12}")).collect();
        writeln!(out, "{}", format!("  {:<13} {}", row[0], cells.join(" ")).trim_end())?;
    }
    Ok(())
}

fn print_next(args: &DeviceArgs, device: &Device, out: &mut impl Write) -> Result<(), Failure> {
    let Device { app, .. } = device;
    writeln!(out)?;
    let Some(folder) = &args.output else {
        let memories: Vec<String> = args.memory.iter().map(|m| format!("{}={}", m.name, m.size)).collect();
        let memory =
            if memories.is_empty() { String::new() } else { format!(" --memory {}", memories.join(",")) };
        let kernels =
            args.kernels.as_ref().map_or_else(String::new, |kernels| format!(" --kernels {kernels}"));
        writeln!(
            out,
            "write the files: serenity device {}{memory}{kernels} -o DIR/",
            for_shell(&args.input)
        )?;
        return Ok(());
    };
    let folder = for_shell(folder.trim_end_matches('/'));
    let first = |is_code: bool| app.models.iter().find(|model| (model.form == Form::Code) == is_code);
    let (code, tflm) = (first(true), first(false));
    let header = if tflm.is_some() { ", tflm.h" } else { "" };
    writeln!(
        out,
        "written to {folder}: device.html, device.h, device.c, memories.h{header},\n             and a folder for each model"
    )?;
    let models = code.map_or_else(String::new, |_| format!(" {folder}/*/*.c"));
    writeln!(out, "compile:     {folder}/device.c{models}")?;
    if let Some(model) = code {
        writeln!(out, "call:        {}_run_{}() …; see device.h", app.name, model.name)?;
    }
    if let Some(model) = tflm {
        let (app, name) = (&app.name, &model.name);
        writeln!(out, "with TFLM:   give {app}::{name}_allocator() to the interpreter of")?;
        writeln!(out, "               {name}/model.tflite; see tflm.h")?;
    }
    Ok(())
}

/// `serenity device`: the plan of a device.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Stated<'a> {
    #[serde(flatten)]
    device: StatedDevice<'a>,
    /// The files written.
    files: &'a [String],
}
