//! `serenity inspect`: what a model needs as it is.

mod print;

use super::several::{self, Done, Several};
use super::{missing, title, unknown};
use crate::args::InspectArgs;
use crate::outputs::OutputFile;
use crate::progress::ProgressLine;
use crate::signals::cancel_on_signal;
use crate::size::Size;
use crate::{Failure, Outcome, json};
use serde_json::{Value, json};
use serenity::inspect::Inspection;
use serenity::ir::{Buffer, Graph};
use serenity::pipeline::Need;
use serenity::runtimes::{Arena, Content, MemoryModel};
use serenity::schedule::Limits;
use serenity::search::CancelFlag;
use serenity::write::write_atomically;
use serenity::{Input, Options, Plan};
use std::io::Write;

/// A model that was looked at.
struct Seen {
    input: Input,
    model: MemoryModel,
    found: Inspection,
    /// The best that an order and places make of it.
    best: Plan,
}

impl Seen {
    fn counts_everything(&self) -> bool {
        self.best.counts_everything()
    }

    /// What it needs as it is.
    fn need(&self) -> Need {
        let head = self.found.arena.as_ref().map_or(self.found.profile.peak(), |arena| arena.bytes);
        Need::with(self.input.tail(self.model), head)
    }

    /// Why the kernels cannot be trusted with the plan that it came with, if they cannot.
    fn plan_fault(&self) -> Option<String> {
        serenity::account::plan_fault(&self.input, self.model)
    }

    fn fits(&self, budget: Size) -> bool {
        self.best.fits(self.need(), budget.0) && self.plan_fault().is_none()
    }
}

pub(crate) fn run(args: &InspectArgs, out: &mut impl Write) -> Result<Outcome, Failure> {
    let targets = match &args.output_dir {
        Some(folder) => Some(several::targets(folder, &args.inputs, |name| format!("{name}.json"))?),
        None => None,
    };
    if let (Some(_), 2..) = (&args.dot, args.inputs.len()) {
        let message = format!("--dot names one file for {} models", args.inputs.len());
        return Err(Failure::request(message, "run the command for each"));
    }
    let dot = args.dot.as_deref().map(OutputFile::dot).transpose()?;
    let cancel = cancel_on_signal();
    let several = Several {
        inputs: &args.inputs,
        talk: args.talk,
        is_verbose: args.verbose,
        headings: ["now", "best order"],
    };
    several.each(&cancel, out, |at, input, out| {
        let seen = look(args, input, &cancel)?;
        if let Some(dot) = &dot {
            dot.write(dot.content.graph_text(seen.input.graph()).unwrap_or_default().as_bytes())?;
        }
        let object = || json::object("inspect", Some(input), to_json(args, &seen));
        if let Some(targets) = &targets {
            write_atomically(&targets[at], format!("{}\n", object()).as_bytes())?;
        }
        if args.talk.json {
            writeln!(out, "{}", object())?;
        } else {
            print::print(args, input, &seen, out)?;
        }
        Ok(done(args, &seen))
    })
}

fn look(args: &InspectArgs, source: &str, cancel: &CancelFlag) -> Result<Seen, Failure> {
    let input = args.read.load_any(source, args.runtime.runtime)?;
    let model = args.runtime.model(&input)?;
    let found = serenity::inspect(input.graphs(), model, input.plan().as_ref());
    let (_line, progress) = ProgressLine::new(&title(input.graph(), source), args.talk.quiet);
    let limits = Limits {
        memory: Some(args.memory_limit.0),
        cancel: cancel.clone(),
        ..Limits::lasting(args.time_limit)
    };
    let options = Options { model, limits, progress, ..Options::for_input(&input) };
    let best = serenity::pipeline::plan_graphs(input.graphs(), &options)?;
    Ok(Seen { input, model, found, best })
}

/// The row of this model in the table of several models.
fn done(args: &InspectArgs, seen: &Seen) -> Done {
    let proof = if seen.best.is_optimal() { "proved" } else { "not proved" };
    let fits = args.budget.map(|budget| seen.fits(budget));
    let fit = match fits {
        Some(true) => ", fits",
        Some(false) if seen.plan_fault().is_some() => ", planned for other kernels",
        Some(false) => ", too large",
        None => "",
    };
    Done {
        outcome: if fits == Some(false) { Outcome::ConditionNotMet } else { Outcome::Done },
        before: seen.need().bytes,
        after: Need::of(&seen.input, &seen.best).bytes,
        counts_everything: seen.counts_everything(),
        remark: format!("{proof}{fit}"),
    }
}

fn to_json(args: &InspectArgs, seen: &Seen) -> Value {
    let Seen { input, model, found, best } = seen;
    let (model, graph) = (*model, input.graph());
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
    // What does not run as it is planned does not fit, and no number of bytes would help.
    let has_size = seen.counts_everything() && seen.plan_fault().is_none();
    let max_op = || json!({"op": op.0, "name": graph.op_label(op), "bytes": bytes});
    json!({
        "graph": graph.name(),
        "runtime": model.to_string(),
        "ops": graph.ops().len(),
        "peak": found.profile.peak(),
        "arena": found.arena.as_ref().map(|arena| arena.bytes),
        "scratch": found.arena.as_ref().map(scratch_bytes),
        "tail": input.tail(model).map(|tail| json!({"arm32": tail.arm32, "x86_64": tail.x86_64, "unknown_kernels": tail.unknown_kernels})),
        "total": found.arena.as_ref().zip(input.tail(model)).map(|(arena, tail)| serenity::account::whole_to_json(&tail, arena.bytes)),
        "unsupported": serenity::account::refused_to_json(input, model),
        "plan_fault": seen.plan_fault(),
        "plan_note": serenity::account::note_to_json(input, model),
        "max_op": (!graph.ops().is_empty()).then(max_op),
        "best": best.after.peak,
        "best_arena": best.after.arena,
        "bound": best.bound,
        "proof": if best.is_optimal() { "optimal" } else { "gap" },
        "stopped": best.stopped(),
        "unknown": unknown::to_json(&best.unknown),
        "budget": args.budget.map(|budget| budget.0),
        "fits": args.budget.map(|budget| seen.fits(budget)),
        "missing": args.budget.filter(|_| has_size).map(|budget| missing(seen.need().to_be_safe(), budget)),
        "peak_step": found.profile.peak_step(),
        "steps": steps,
        "alive_at_peak": alive,
    })
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
