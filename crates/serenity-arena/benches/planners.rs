//! All planners over the same lifetimes: who reaches the bound, how far off the others are, and what it takes in CPU time.
//!
//! The data is not part of the project: `SERENITY_SHARED` names its folder, or it lies in `../shared` beside the repository.
//! `cargo bench -p serenity-arena`; with an argument, only networks and instances whose name contains it.
#![allow(clippy::print_stdout)]

use rustix::time::{ClockId, clock_gettime};
use serde_json::Value;
use serenity_arena::{Buffer, Options, Placement, Planner, Problem, Proof, csv, place};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The limit of one run, for those that cannot be proved.
const PATIENCE: Duration = Duration::from_secs(5);

fn main() -> Result<(), Box<dyn Error>> {
    let filter = std::env::args().skip(1).find(|argument| !argument.starts_with("--")).unwrap_or_default();
    let shared = std::env::var_os("SERENITY_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    if !shared.is_dir() {
        println!("skipped: no data in {}; set SERENITY_SHARED", shared.display());
        return Ok(());
    }
    networks(&files(&shared.join("graphs"), "json", &filter)?)?;
    instances(&files(&shared.join("arena"), "csv", &filter)?)
}

fn files(folder: &Path, extension: &str, filter: &str) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let matches = path.file_name().is_some_and(|name| name.to_string_lossy().contains(filter));
        if matches && path.extension().is_some_and(|found| found == extension) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// One line of the table of networks.
#[derive(Default)]
struct Tally {
    at_bound: usize,
    worst: f64,
    times: Vec<Duration>,
}

impl Tally {
    fn add(&mut self, placement: &Placement, bound: u64, time: Duration) {
        self.at_bound += usize::from(placement.height <= bound);
        self.worst = self.worst.max(placement.height as f64 / bound.max(1) as f64);
        self.times.push(time);
    }

    fn print(mut self, name: &str) {
        self.times.sort();
        let count = self.times.len();
        let milliseconds = |at: usize| self.times[at.min(count - 1)].as_secs_f64() * 1e3;
        println!(
            "{name:<24}{:>5} of {count:<5}{:>8.3}{:>12.2}{:>10.2}{:>10.2}",
            self.at_bound,
            self.worst,
            milliseconds(count / 2),
            milliseconds(count * 99 / 100),
            milliseconds(count)
        );
    }
}

/// Sizes are rounded, so that all planners count the same; the exact one also runs on the sizes as they are.
fn networks(graphs: &[PathBuf]) -> Result<(), Box<dyn Error>> {
    for alignment in [16, 64] {
        let mut lifetimes = Vec::new();
        for path in graphs {
            let graph: Value = serde_json::from_slice(&std::fs::read(path)?)?;
            if graph.get("ops").is_some() {
                lifetimes.push(plain_lifetimes(&graph, &file_order(&graph)));
                lifetimes.push(plain_lifetimes(&graph, &last_ready_first(&graph)));
            }
        }
        if lifetimes.is_empty() {
            continue;
        }
        println!("{} lifetimes of {} networks, alignment {alignment}", lifetimes.len(), lifetimes.len() / 2);
        println!("planner                      at bound   worst x   median ms    p99 ms    max ms");
        let rounded = |buffer: &Buffer| Buffer { size: buffer.size.next_multiple_of(alignment), ..*buffer };
        let sets: Vec<Problem> = lifetimes
            .iter()
            .map(|buffers| Problem::new(buffers.iter().map(rounded).collect(), alignment))
            .collect::<Result<_, _>>()?;
        for (name, planner) in Planner::all() {
            run(&sets, planner)?.print(name);
        }
        let exact = lifetimes.into_iter().map(|buffers| Problem::new(buffers, alignment));
        run(&exact.collect::<Result<Vec<_>, _>>()?, Planner::Exact)?.print("exact, sizes as they are");
        println!();
    }
    Ok(())
}

fn run(problems: &[Problem], planner: Planner) -> Result<Tally, Box<dyn Error>> {
    let mut tally = Tally::default();
    for problem in problems {
        let mut options = Options::new(planner);
        options.limits = options.limits.within(PATIENCE);
        let (placement, time) = timed(problem, &options)?;
        // The bound that needs no search is the same for all planners.
        let bound = place(problem, &Options::new(Planner::SimpleArena)).bound;
        tally.add(&placement, bound, time);
    }
    Ok(tally)
}

/// The instances of `minimalloc`: within the capacity in their names, and as low as they go.
fn instances(paths: &[PathBuf]) -> Result<(), Box<dyn Error>> {
    println!(
        "instance         buffers  ms to capacity  mirrored      height       bound  proof      seconds"
    );
    for path in paths {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let capacity: u64 = name.rsplit('.').next().unwrap_or("").parse()?;
        let buffers = csv::read(&std::fs::read_to_string(path)?)?.buffers;
        let mirrored = buffers.iter().rev().map(|b| Buffer::new(b.size, !b.upper..!b.lower)).collect();
        let problem = Problem::new(buffers, 1)?;
        let mut within = Options { capacity: Some(capacity), ..Options::default() };
        within.limits = within.limits.within(PATIENCE);
        let forwards = timed(&problem, &within)?;
        let backwards = timed(&Problem::new(mirrored, 1)?, &within)?;
        if forwards.0.height > capacity || backwards.0.height > capacity {
            println!("{name}: not within the capacity");
        }
        within.capacity = None;
        let (lowest, time) = timed(&problem, &within)?;
        println!(
            "{name:<18}{:>6}{:>16.1}{:>10.1}{:>12}{:>12}  {:<8}{:>10.3}",
            problem.buffers().len(),
            forwards.1.as_secs_f64() * 1e3,
            backwards.1.as_secs_f64() * 1e3,
            lowest.height,
            lowest.bound,
            if lowest.proof == Proof::Optimal { "optimal" } else { "gap" },
            time.as_secs_f64()
        );
    }
    Ok(())
}

fn timed(problem: &Problem, options: &Options) -> Result<(Placement, Duration), Box<dyn Error>> {
    let started = cpu_time();
    let placement = place(problem, options);
    let time = cpu_time().saturating_sub(started);
    check(problem, &placement)?;
    Ok((placement, time))
}

/// Of this thread, so that others on the machine do not count.
fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs() as u32)
}

/// No figure is worth anything if two buffers share a byte.
fn check(problem: &Problem, placement: &Placement) -> Result<(), Box<dyn Error>> {
    let placed: Vec<(&Buffer, u64)> =
        problem.buffers().iter().zip(placement.offsets.iter().copied()).collect();
    for (index, &(a, at)) in placed.iter().enumerate() {
        let meets =
            |&&(b, other): &&(&Buffer, u64)| a.lives_with(b) && at < other + b.size && other < at + a.size;
        if at + a.size > placement.height || placed[..index].iter().any(|other| meets(&other)) {
            return Err(format!("buffer {index} at {at} is not free").into());
        }
    }
    Ok(())
}

fn ids(value: &Value, field: &str) -> Vec<usize> {
    let list = value[field].as_array().map_or(&[][..], Vec::as_slice);
    list.iter().filter_map(|id| Some(id.as_u64()? as usize)).collect()
}

fn ops(graph: &Value) -> &[Value] {
    graph["ops"].as_array().map_or(&[], Vec::as_slice)
}

fn file_order(graph: &Value) -> Vec<usize> {
    (0..ops(graph).len()).collect()
}

/// Of the ops that are ready, always the one that became ready last.
fn last_ready_first(graph: &Value) -> Vec<usize> {
    let ops = ops(graph);
    let mut readers = vec![Vec::new(); graph["tensors"].as_array().map_or(0, Vec::len)];
    let mut writer = vec![None; readers.len()];
    for (op, value) in ops.iter().enumerate() {
        for tensor in ids(value, "outputs") {
            writer[tensor] = Some(op);
        }
        for tensor in ids(value, "inputs") {
            readers[tensor].push(op);
        }
    }
    let waits =
        |op: usize| ids(&ops[op], "inputs").iter().filter(|&&tensor| writer[tensor].is_some()).count();
    let mut waiting: Vec<usize> = (0..ops.len()).map(waits).collect();
    let mut ready: Vec<usize> = (0..ops.len()).rev().filter(|&op| waiting[op] == 0).collect();
    let mut order = Vec::new();
    while let Some(op) = ready.pop() {
        order.push(op);
        for reader in ids(&ops[op], "outputs").into_iter().flat_map(|tensor| &readers[tensor]) {
            waiting[*reader] -= 1;
            if waiting[*reader] == 0 {
                ready.push(*reader);
            }
        }
    }
    order
}

/// A tensor lives from the op that writes it, or the start, to the last op that reads it, or the end.
fn plain_lifetimes(graph: &Value, order: &[usize]) -> Vec<Buffer> {
    let tensors = graph["tensors"].as_array().map_or(&[][..], Vec::as_slice);
    let mut lives: Vec<Option<(i64, i64)>> = vec![None; tensors.len()];
    let end = order.len().max(1) as i64 - 1;
    let inputs = ids(graph, "inputs");
    for (step, &op) in order.iter().enumerate() {
        let step = step as i64;
        for tensor in ids(&ops(graph)[op], "outputs") {
            lives[tensor] = Some((step, step));
        }
        for tensor in ids(&ops(graph)[op], "inputs") {
            let first = if inputs.contains(&tensor) { 0 } else { step };
            lives[tensor].get_or_insert((first, step)).1 = step;
        }
    }
    for tensor in ids(graph, "outputs") {
        lives[tensor].get_or_insert((0, end)).1 = end;
    }
    let bytes = tensors.iter().map(|tensor| tensor["bytes"].as_u64().unwrap_or(0));
    lives
        .into_iter()
        .zip(bytes)
        .filter_map(|(life, bytes)| life.map(|(a, b)| Buffer::new(bytes, a..b + 1)))
        .collect()
}
