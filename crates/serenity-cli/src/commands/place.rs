//! `serenity place`: offsets, for a model in its own order or for a table of buffers.

use super::{count, duration, limits, missing, title, unknown};
use crate::arena_picture::{arena_over_time, lettered};
use crate::args::PlaceArgs;
use crate::failure::refuse;
use crate::printable::printable;
use crate::progress::{ProgressLine, thousands};
use crate::screen::layout::HANG;
use crate::screen::style::{TITLE, paint};
use crate::signals::cancel_on_signal;
use crate::size::GivenSize;
use crate::{Failure, Outcome, json};
use schemars::JsonSchema;
use serde::Serialize;
use serenity::ErrorKind;
use serenity::account::StatedVerdict;
use serenity::arena::csv::{self, Table};
use serenity::arena::{Buffer, Options, Placement, Planner, Problem, Proof, place};
use serenity::ir::{Graph, OpId, Unknown};
use serenity::memories::two_memories::clash;
use serenity::runtimes::{Kernels, MemoryModel, MemoryModelExt};
use serenity::search::Proved;
use std::io::Write;
use std::path::Path;

/// The rest is in the table that -o writes.
const MOST_LISTED: usize = 12;
/// The longest that names get.
const LONGEST_NAME: usize = 48;

/// What is to be placed.
struct Job {
    name: String,
    /// The name in the file; a table has none.
    graph: Option<String>,
    model: Option<MemoryModel>,
    table: Table,
    problem: Problem,
    /// What is not known of the model.
    unknown: Vec<Unknown>,
}

impl Job {
    /// Are all sizes known?
    fn counts_everything(&self) -> bool {
        !Unknown::any_hides_bytes(&self.unknown)
    }

    /// Is the placement proved lowest? The order is given, so only unknown bytes are in the way.
    fn is_optimal(&self, placement: &Placement) -> bool {
        self.counts_everything() && placement.proof == Proof::Optimal
    }

    fn fits(&self, placement: &Placement, capacity: GivenSize) -> bool {
        self.counts_everything() && missing(placement.height, capacity) == 0
    }

    /// Why it is not proved.
    fn stopped(&self, placement: &Placement) -> Option<String> {
        match placement.proof {
            _ if !self.counts_everything() => Unknown::summary(&self.unknown),
            Proof::Optimal => None,
            Proof::Gap { stopped } => Some(stopped.to_string()),
        }
    }
}

pub(crate) fn run(args: &PlaceArgs, out: &mut impl Write) -> Result<Outcome, Failure> {
    if let Some(output) = &args.output {
        check_output(output)?;
    }
    let job = if has_extension(&args.input, "csv") { read_table(args)? } else { read_model(args)? };
    let (line, progress) = ProgressLine::new(&job.name, args.talk.quiet);
    let options = Options {
        planner: args.planner,
        capacity: args.capacity.map(|capacity| capacity.bytes),
        limits: limits(&args.limits, &cancel_on_signal()).working(args.limits.effort.placement_alone()),
        progress,
    };
    let placement = place(&job.problem, &options);
    drop(line);
    check(&job, &placement)?;
    let mut said = Vec::new();
    if args.talk.json {
        writeln!(said, "{}", json::object("place", Some(&args.input), stated(args, &job, &placement)))?;
    } else {
        print(args, &job, &placement, &mut said)?;
    }
    if let Some(output) = &args.output {
        serenity::write::write_atomically(
            output,
            csv::write(&job.table, Some(&placement.offsets)).as_bytes(),
        )?;
    }
    out.write_all(&said)?;
    match args.capacity {
        Some(capacity) if !job.fits(&placement, capacity) => Ok(Outcome::ConditionNotMet),
        _ => Ok(Outcome::Done),
    }
}

fn has_extension(path: &str, extension: &str) -> bool {
    Path::new(path).extension().is_some_and(|found| found.eq_ignore_ascii_case(extension))
}

fn check_output(path: &str) -> Result<(), Failure> {
    if !has_extension(path, "csv") {
        return refuse(format!("`{path}`: offsets are written as a table"), "end the name in .csv");
    }
    Ok(serenity::write::check_target(path)?)
}

fn read_table(args: &PlaceArgs) -> Result<Job, Failure> {
    if args.runtime.runtime.is_some() {
        return refuse(
            "--runtime does not apply to a table of buffers, which has its own lifetimes",
            "leave out --runtime; --planner and --align may be what you want",
        );
    }
    let unreadable = |reason: String| {
        Failure::of(
            ErrorKind::Format,
            format!("`{}` is not a table of buffers: {reason}", args.input),
            "give a table as minimalloc reads it, its first line `id,lower,upper,size`",
        )
    };
    let text = std::fs::read_to_string(&args.input).map_err(|error| Failure::Other {
        kind: ErrorKind::Read,
        message: format!("cannot read `{}`: {error}", args.input),
        help: None,
    })?;
    let table = csv::read(&text).map_err(|error| unreadable(error.to_string()))?;
    let problem = Problem::new(table.buffers.clone(), args.align.unwrap_or(1))
        .map_err(|error| unreadable(error.to_string()))?;
    if let Some((buffer, alignment)) = problem.misaligned() {
        let offset = problem.buffers()[buffer].offset.unwrap_or(0);
        return refuse(
            format!("the offset {offset} of `{}` is no multiple of {alignment}", table.ids[buffer]),
            "change it, leave it empty, or ask for another --align",
        );
    }
    let unknown = Vec::new();
    Ok(Job { name: printable(&args.input).into_owned(), graph: None, model: None, table, problem, unknown })
}

fn read_model(args: &PlaceArgs) -> Result<Job, Failure> {
    let input = args.read.load(&args.input, args.runtime.runtime)?;
    let model = args.runtime.model(&input)?;
    let name = title(input.graph(), &args.input);
    let graphs: Vec<&Graph> = input.graphs().iter().collect();
    let own: Vec<Vec<OpId>> = graphs.iter().map(|graph| graph.file_order()).collect();
    let orders: Vec<&[OpId]> = own.iter().map(Vec::as_slice).collect();
    let too_large = || serenity::Error::from(serenity::memories::Error::NoArena { graph: name.clone() });
    let arena = model.placement_problem(&graphs, &orders).ok_or_else(too_large)?;
    let arena = match args.align {
        Some(align) => arena.aligned(align).map_err(|_| too_large())?,
        None => arena,
    };
    let ids = arena.contents.iter().map(|content| content.label(&graphs)).collect();
    let table = Table { ids, buffers: arena.problem.buffers().to_vec() };
    let graph = Some(input.graph().name().to_owned());
    let unknown = serenity::runtimes::main_graph(input.graphs(), &[], model).unknown().to_vec();
    Ok(Job { name, graph, model: Some(model), table, problem: arena.problem, unknown })
}

/// Nothing leaves that the independent checker does not accept.
fn check(job: &Job, placement: &Placement) -> Result<(), Failure> {
    let placed: Vec<(usize, u64)> = placement.offsets.iter().copied().enumerate().collect();
    let Some((x, y)) = clash(&job.problem, &placed) else { return Ok(()) };
    let fixed = [x, y].iter().all(|&b| job.problem.buffers()[b].offset.is_some());
    let ids = &job.table.ids;
    refuse(
        format!("`{}` and `{}` are in use at once and share bytes", ids[x], ids[y]),
        if fixed {
            "their offsets are fixed by the table: change one, or leave it empty"
        } else {
            "an offset that the table fixes is in the way, or this is a bug in Serenity: please report it"
        },
    )
}

fn is_impossible(placement: &Placement, capacity: GivenSize) -> bool {
    placement.bound > capacity.bytes
}

/// `serenity place`: the offset of each buffer.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Placed<'a> {
    /// The name of the graph, may be empty; null for a table of buffers.
    graph: Option<&'a str>,
    /// The memory model; null for a table of buffers.
    runtime: Option<MemoryModel>,
    /// For TFLM: the kernels that it is built with.
    kernels: Option<Kernels>,
    /// The planner.
    planner: Planner,
    /// All offsets are multiples of it.
    #[schemars(range(min = 1))]
    alignment: u64,
    /// The size of the arena.
    arena: u64,
    /// The size of the arena, by its older name.
    height: u64,
    /// A lower bound on the arena of every placement.
    bound: u64,
    #[serde(flatten)]
    proof: StatedVerdict<'a>,
    /// Partial placements that the search visited.
    states: u64,
    /// Wall-clock time.
    #[schemars(range(min = 0))]
    seconds: f64,
    /// The budget, as given by --capacity.
    budget: Option<u64>,
    /// The budget, by its older name.
    capacity: Option<u64>,
    /// Is the arena within the budget? Null without one.
    fits: Option<bool>,
    /// Bytes over the budget, 0 if it fits; null without one.
    missing: Option<u64>,
    /// Is it proved that no placement is within the budget? Null without one.
    impossible: Option<bool>,
    /// The file written by -o.
    output: Option<&'a str>,
    /// The offset of each buffer.
    offsets: &'a [u64],
    /// The buffers, in the same order.
    buffers: Vec<PlacedRow<'a>>,
}

/// A buffer and its offset.
#[derive(Serialize, JsonSchema)]
struct PlacedRow<'a> {
    /// Its name.
    id: &'a str,
    /// The first step at which it is in use.
    lower: i64,
    /// The first step at which it is not in use any more.
    upper: i64,
    /// Its bytes.
    size: u64,
    /// Its offset.
    offset: u64,
}

fn stated<'a>(args: &'a PlaceArgs, job: &'a Job, placement: &'a Placement) -> Placed<'a> {
    let buffers = job.problem.buffers().iter().zip(&job.table.ids).zip(&placement.offsets);
    let row = |((buffer, id), offset): ((&Buffer, &'a String), &u64)| {
        let &Buffer { lower, upper, size, .. } = buffer;
        PlacedRow { id, lower, upper, size, offset: *offset }
    };
    Placed {
        graph: job.graph.as_deref(),
        runtime: job.model,
        kernels: job.model.and_then(MemoryModel::kernels),
        planner: args.planner,
        alignment: job.problem.alignment(),
        arena: placement.height,
        height: placement.height,
        bound: placement.bound,
        proof: StatedVerdict {
            proof: Proved::if_so(job.is_optimal(placement)),
            stopped: job.stopped(placement),
            unknown: &job.unknown,
        },
        states: placement.stats.states,
        seconds: placement.stats.elapsed.as_secs_f64(),
        budget: args.capacity.map(|capacity| capacity.bytes),
        capacity: args.capacity.map(|capacity| capacity.bytes),
        fits: args.capacity.map(|capacity| job.fits(placement, capacity)),
        missing: args
            .capacity
            .filter(|_| job.counts_everything())
            .map(|capacity| missing(placement.height, capacity)),
        impossible: args.capacity.map(|capacity| is_impossible(placement, capacity)),
        output: args.output.as_deref(),
        offsets: &placement.offsets,
        buffers: buffers.map(row).collect(),
    }
}

fn print(args: &PlaceArgs, job: &Job, placement: &Placement, out: &mut impl Write) -> Result<(), Failure> {
    let buffers = job.problem.buffers();
    let model = job.model.map_or_else(String::new, |model| format!(", memory model `{model}`"));
    writeln!(
        out,
        "{}: {}{model}, planner `{}`, alignment {}\n",
        paint(TITLE, &job.name),
        count(buffers.len() as u64, "buffer"),
        args.planner,
        job.problem.alignment()
    )?;
    let verdict = match job.stopped(placement) {
        None => "proved optimal: no placement is lower".to_owned(),
        Some(stopped) => format!("not proved: {stopped}"),
    };
    let at_least = if job.counts_everything() { "" } else { "at least; " };
    for (label, bytes, remark) in [
        ("height", placement.height, format!("{at_least}found in {}", duration(placement.stats.elapsed))),
        ("lower bound", placement.bound, verdict),
    ] {
        writeln!(out, "  {label:<12} {:>12}   {HANG}{remark}", thousands(bytes))?;
    }
    let width = crate::screen::picture_width();
    writeln!(out, "\nthe arena over time, step by step")?;
    for row in arena_over_time(buffers, &placement.offsets, placement.height, width) {
        writeln!(out, "{row}")?;
    }
    writeln!(out, "\n  {:>12} {:>12}  name", "offset", "bytes")?;
    let ids: Vec<&str> = job.table.ids.iter().map(String::as_str).collect();
    let names = serenity_page::short_names(&ids, LONGEST_NAME);
    for (buffer, letter) in lettered(buffers).into_iter().take(MOST_LISTED) {
        writeln!(
            out,
            "{letter} {:>12} {:>12}  {HANG}{}",
            thousands(placement.offsets[buffer]),
            thousands(buffers[buffer].size),
            printable(&names[buffer])
        )?;
    }
    match (&args.output, buffers.len().saturating_sub(MOST_LISTED) as u64) {
        (Some(output), _) => writeln!(out, "\nall offsets are written to `{}`", printable(output))?,
        (None, 0) => {}
        (None, more) => writeln!(out, "… and {more} more; -o FILE.csv writes all")?,
    }
    unknown::print(&job.unknown, &args.input, out)?;
    if let Some(capacity) = args.capacity {
        print_fit(job, &args.input, placement, capacity, out)?;
    }
    Ok(())
}

fn print_fit(
    job: &Job,
    input: &str,
    placement: &Placement,
    capacity: GivenSize,
    out: &mut impl Write,
) -> Result<(), Failure> {
    match missing(placement.height, capacity) {
        0 if !job.counts_everything() => {
            let height = thousands(placement.height);
            writeln!(
                out,
                "\n{}",
                unknown::why_no_budget(&job.unknown, input, &height, &capacity.to_string())
            )?;
        }
        0 => writeln!(
            out,
            "\nfits {capacity}: {} bytes to spare",
            thousands(capacity.bytes - placement.height)
        )?,
        bytes if is_impossible(placement, capacity) => writeln!(
            out,
            "\nimpossible in {capacity}: the proved minimum is {} bytes; this placement is {} over",
            thousands(placement.bound),
            thousands(bytes)
        )?,
        bytes => writeln!(out, "\ndoes not fit {capacity}: {} bytes over", thousands(bytes))?,
    }
    Ok(())
}
