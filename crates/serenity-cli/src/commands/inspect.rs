//! `serenity inspect`: what a model needs as it is.

use super::{as_typed, count, op_name, op_name_and_type, tflm, title, unknown, verdict};
use crate::args::InspectArgs;
use crate::outputs::OutputFile;
use crate::printable::printable;
use crate::progress::{ProgressLine, cancel_on_ctrl_c, thousands};
use crate::size::Size;
use crate::{Failure, Outcome, json};
use serde_json::{Value, json};
use serenity::ir::{Buffer, BufferId, Graph};
use serenity::runtimes::{Arena, Content, MemoryModel, TFLM_ALIGNMENT, Tail};
use serenity::scheduling::Limits;
use serenity::{Input, Inspection, Options, Plan};
use std::io::{self, Write};

/// What may take long at the peak of a real network: the rest is summed up.
const MOST_ALIVE: usize = 12;

pub(crate) fn run(args: &InspectArgs, out: &mut impl Write) -> Result<Outcome, Failure> {
    let dot = args.dot.as_deref().map(OutputFile::dot).transpose()?;
    let input = args.read.load(&args.input, args.runtime.runtime)?;
    let model = args.runtime.model(input.default_model)?;
    let found = serenity::inspect(input.graphs(), model, input.plan().as_ref());
    let (line, progress) = ProgressLine::new(&title(input.graph(), &args.input));
    let limits = Limits {
        memory: Some(args.memory_limit.0),
        cancel: cancel_on_ctrl_c(),
        ..Limits::lasting(args.time_limit)
    };
    let best = serenity::plan_graphs(
        input.graphs(),
        &Options { model, limits, progress, ..Options::for_input(&input) },
    )?;
    drop(line);
    if let Some(dot) = &dot {
        dot.write(dot.content.graph_text(input.graph()).unwrap_or_default().as_bytes())?;
    }
    if args.json.json {
        let object = to_json(&input, model, &found, &best);
        writeln!(out, "{}", json::object("inspect", Some(&args.input), object))?;
    } else {
        print(args, &input, model, &found, &best, out)?;
    }
    Ok(Outcome::Done)
}

fn to_json(input: &Input, model: MemoryModel, found: &Inspection, best: &Plan) -> Value {
    let graph = input.graph();
    let steps: Vec<Value> = found
        .profile
        .steps
        .iter()
        .map(|step| {
            let op = graph.op(step.op);
            json!({"op": step.op.0, "name": op.name, "type": op.kind.as_str(), "during": step.during, "after": step.after})
        })
        .collect();
    let alive: Vec<Value> = found
        .alive_at_peak
        .iter()
        .map(|&b| {
            let buffer = found.lifetimes.buffer(b);
            let tensor = buffer.tensors.first().map(|&t| graph.tensor(t));
            json!({
                "name": buffer_label(graph, buffer),
                "bytes": buffer.bytes,
                "shape": tensor.and_then(|t| t.shape.as_ref()),
                "dtype": tensor.and_then(|t| t.dtype.as_ref()).map(ToString::to_string),
                "tensors": buffer.tensors.iter().map(|t| t.0).collect::<Vec<_>>(),
            })
        })
        .collect();
    let (op, bytes) = found.max_op;
    json!({
        "graph": graph.name(),
        "runtime": model.to_string(),
        "ops": graph.ops().len(),
        "peak": found.profile.peak(),
        "arena": found.arena.as_ref().map(|arena| arena.bytes),
        "scratch": found.arena.as_ref().map(scratch_bytes),
        "tail": input.tail(model).map(|tail| json!({"arm32": tail.arm32, "x86_64": tail.x86_64, "unknown_kernels": tail.unknown_kernels})),
        "total": found.arena.as_ref().zip(input.tail(model)).map(|(arena, tail)| whole_to_json(&tail, arena.bytes)),
        "unsupported": serenity::refused_to_json(input, model),
        "plan_note": serenity::note_to_json(input, model),
        "max_op": {"op": op.0, "name": graph.op_label(op), "bytes": bytes},
        "best": best.after.peak,
        "best_arena": best.after.arena,
        "bound": best.bound,
        "proof": if best.is_optimal() { "optimal" } else { "gap" },
        "stopped": best.stopped(),
        "unknown": unknown::to_json(&best.unknown),
        "peak_step": found.profile.peak_step(),
        "steps": steps,
        "alive_at_peak": alive,
    })
}

/// TFLM's whole arena for a head of so many bytes.
fn whole_to_json(tail: &Tail, head: u64) -> Value {
    let needed = tail.needed(head);
    json!({"arm32": needed.arm32, "x86_64": needed.x86_64, "margin": tail.margin(head)})
}

fn print(
    args: &InspectArgs,
    input: &Input,
    model: MemoryModel,
    found: &Inspection,
    best: &Plan,
    out: &mut impl Write,
) -> Result<(), Failure> {
    let graph = input.graph();
    let peak = found.profile.peak();
    let at = found.profile.peak_step();
    let step = found.profile.steps[at];
    writeln!(
        out,
        "{}: {}, {}, memory model `{}`\n",
        title(graph, &args.input),
        count(graph.ops().len() as u64, "op"),
        count(graph.tensors().len() as u64, "tensor"),
        model
    )?;
    tflm::print_refused(input, model, out)?;
    tflm::print_note(input, model, out)?;
    let at_least = if best.counts_everything() { "" } else { "at least; " };
    let row = |out: &mut dyn Write, label: &str, bytes: u64, remark: &str| {
        let remark = format!("{at_least}{remark}");
        writeln!(out, "  {label:<16} {:>12} {:>14}   {remark}", Size(bytes), thousands(bytes))
    };
    if let Some(arena) = &found.arena {
        print_arena(input, arena, best, &mut |label, bytes, remark| row(out, label, bytes, remark))?;
    }
    row(
        out,
        "peak",
        peak,
        &format!("at step {} of {}, {}", at + 1, graph.ops().len(), op_name_and_type(graph, step.op)),
    )?;
    row(
        out,
        "largest op alone",
        found.max_op.1,
        &format!(
            "{}: {}no order can do with less",
            op_name(graph, found.max_op.0),
            if model.with_plan() == model { "" } else { "without a plan " }
        ),
    )?;
    row(out, "best order", best.after.peak, &verdict(best))?;
    if let Some(arena) = best.after.arena {
        let how = if best.offsets.is_some() {
            "with a plan in the model, as `serenity optimize` writes it"
        } else {
            "as the runtime's own planner lays it out"
        };
        row(out, "its arena", arena, how)?;
    }

    writeln!(out, "\nalive at the peak")?;
    for &b in found.alive_at_peak.iter().take(MOST_ALIVE) {
        writeln!(out, "  {}", describe(graph, found, b))?;
    }
    let rest = found.alive_at_peak.get(MOST_ALIVE..).unwrap_or_default();
    if !rest.is_empty() {
        let bytes: u64 = rest.iter().map(|&b| found.lifetimes.buffer(b).bytes).sum();
        writeln!(out, "  and {} of {} together", count(rest.len() as u64, "more buffer"), Size(bytes))?;
    }
    if args.steps {
        writeln!(out, "\n  {:>5} {:>12} {:>12}  op", "step", "during", "after")?;
        for (i, step) in found.profile.steps.iter().enumerate() {
            let mark = if step.during == peak { "  <- peak" } else { "" };
            writeln!(
                out,
                "  {:>5} {:>12} {:>12}  {}{mark}",
                i + 1,
                thousands(step.during),
                thousands(step.after),
                op_name_and_type(graph, step.op)
            )?;
        }
    }
    unknown::print(&best.unknown, &args.input, out)?;
    if best.after.needs() < best.before.needs() && best.counts_everything() {
        writeln!(
            out,
            "\na better order exists: serenity optimize {}",
            as_typed(&args.input, &args.read, &args.runtime)
        )?;
    }
    Ok(())
}

/// The sections of a runtime's arena.
fn print_arena(
    input: &Input,
    arena: &Arena,
    best: &Plan,
    row: &mut dyn FnMut(&str, u64, &str) -> io::Result<()>,
) -> io::Result<()> {
    let Some(tail) = input.tail(best.model) else {
        return row("arena", arena.bytes, "as the runtime's own planner lays it out");
    };
    let needed = tail.needed(arena.bytes).arm32;
    let plans_in_head = needed <= (arena.bytes + tail.arm32).next_multiple_of(TFLM_ALIGNMENT);
    let why = if plans_in_head { "head and tail" } else { "tail, and what TFLM notes down while it plans" };
    row("whole arena", needed, &format!("on a 32-bit device: {why}"))?;
    let by = if input.plan().is_some() { "the plan in the model" } else { "TFLM's planner" };
    row("  head", arena.bytes, &format!("activations and scratch, as {by} lays them out"))?;
    row("  of it scratch", scratch_bytes(arena), "the most that one op asks for besides its tensors")?;
    row("  tail", tail.arm32, "what persists on a 32-bit device: an estimate")?;
    row("  tail on x86-64", tail.x86_64, "the same on a 64-bit computer")?;
    let unknown = match tail.unknown_kernels {
        0 => String::new(),
        ops => format!(", and for {} that we do not know", count(ops, "kernel")),
    };
    let remark = format!("add this to the whole arena, for other versions and compilers{unknown}");
    row("margin", tail.margin(arena.bytes), &remark)
}

/// The most scratch that one op has.
fn scratch_bytes(arena: &Arena) -> u64 {
    let mut by_op = std::collections::BTreeMap::new();
    for piece in &arena.pieces {
        if let Content::Scratch { graph, op } = piece.content {
            *by_op.entry((graph, op)).or_insert(0) += piece.bytes;
        }
    }
    by_op.into_values().max().unwrap_or(0)
}

/// What to call a buffer: the tensor that names it, or whose scratch it is.
fn buffer_label(graph: &Graph, buffer: &Buffer) -> String {
    match (buffer.tensors.first(), buffer.writers.first()) {
        (Some(&tensor), _) => graph.tensor_label(tensor),
        (None, Some(&op)) => format!("scratch of {}", graph.op_label(op)),
        (None, None) => "scratch".to_owned(),
    }
}

fn describe(graph: &Graph, found: &Inspection, b: BufferId) -> String {
    let buffer = found.lifetimes.buffer(b);
    let name = printable(&buffer_label(graph, buffer)).into_owned();
    let tensor = buffer.tensors.first().map(|&t| graph.tensor(t));
    let shape = tensor.and_then(|t| t.shape.as_ref()).map_or_else(String::new, |shape| {
        let dims: Vec<String> = shape.iter().map(ToString::to_string).collect();
        format!("  [{}]", dims.join("x"))
    });
    let dtype = tensor
        .and_then(|t| t.dtype.as_ref())
        .map_or_else(String::new, |dtype| format!(" {}", printable(dtype.name())));
    let until = match buffer.readers.last() {
        _ if buffer.to_end => "  (a result)".to_owned(),
        Some(&last) if !buffer.is_scratch() => format!("  (until {})", op_name(graph, last)),
        _ => String::new(),
    };
    format!("{:>12}  {name}{shape}{dtype}{until}", Size(buffer.bytes))
}
