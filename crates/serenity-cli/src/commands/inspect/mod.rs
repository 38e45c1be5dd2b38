//! `serenity inspect`: what a model needs as it is.

mod print;

use super::several::{self, Done, Several};
use super::{missing, title};
use crate::args::InspectArgs;
use crate::json::{StatedFit, StatedProof};
use crate::outputs::OutputFile;
use crate::progress::ProgressLine;
use crate::signals::cancel_on_signal;
use crate::size::GivenSize;
use crate::{Failure, Outcome, json};
use schemars::JsonSchema;
use serde::Serialize;
use serenity::account::{Refused, StatedNote, WholeArena, plan_fault, refused_by_tflm};
use serenity::inspect::Inspection;
use serenity::ir::{Buffer, BufferId, ElementType, Graph, Op, OpId, Step, TensorId};
use serenity::pipeline::Need;
use serenity::runtimes::{Arena, Content, MemoryModel, Tail};
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
        plan_fault(&self.input, self.model)
    }

    fn fits(&self, budget: GivenSize) -> bool {
        self.best.fits(self.need(), budget.bytes) && self.plan_fault().is_none()
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
        let object = || json::object("inspect", Some(input), stated(args, &seen));
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

/// `serenity inspect`: what a model needs in its own order.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Inspected<'a> {
    /// The name of the graph; may be empty.
    graph: &'a str,
    /// The memory model.
    runtime: MemoryModel,
    /// The number of ops.
    ops: usize,
    /// The most memory in use at any time in the model's own order.
    peak: u64,
    /// The runtime's arena for the model as it is; null for a memory model that is no runtime.
    arena: Option<u64>,
    /// The most that one op needs besides its tensors.
    scratch: Option<u64>,
    /// For a .tflite on TFLM: what persists.
    tail: Option<Tail>,
    /// For a .tflite on TFLM: the whole arena, head and tail.
    total: Option<WholeArena>,
    /// For a .tflite on TFLM: operators that it cannot run, whatever memory it gets.
    unsupported: Vec<Refused>,
    /// Why TFLM with these kernels cannot run the model with the memory plan that it came with, or may compute wrong
    /// results; null if neither is so.
    plan_fault: Option<String>,
    /// The note in the model about the memory plan that it came with; null if there is none.
    plan_note: Option<StatedNote>,
    /// The op that needs the most by itself; null if the model has no operators.
    max_op: Option<LargestOp>,
    /// The peak of the best order found.
    best: u64,
    /// The arena of the best order found.
    best_arena: Option<u64>,
    /// A lower bound on the peak of every order.
    bound: u64,
    #[serde(flatten)]
    proof: StatedProof<'a>,
    #[serde(flatten)]
    fit: StatedFit,
    /// The first step that reaches the peak, counted from 0.
    peak_step: usize,
    /// Each op in execution order.
    steps: Vec<StatedStep<'a>>,
    /// Buffers in use at `peak_step`, largest first.
    alive_at_peak: Vec<AliveBuffer<'a>>,
}

/// An op and what it needs.
#[derive(Serialize, JsonSchema)]
struct LargestOp {
    /// The op.
    op: OpId,
    /// Its name.
    name: String,
    /// What it needs.
    bytes: u64,
}

/// An op as it runs.
#[derive(Serialize, JsonSchema)]
struct StatedStep<'a> {
    /// The op.
    op: OpId,
    /// Its name, may be empty.
    name: &'a str,
    /// Its type, may be empty.
    r#type: &'a str,
    /// Bytes in use while it runs.
    during: u64,
    /// Bytes in use after it.
    after: u64,
}

/// A buffer in use at the peak.
#[derive(Serialize, JsonSchema)]
struct AliveBuffer<'a> {
    /// The name of its first tensor, or of the op whose scratch it is.
    name: String,
    /// Its size.
    bytes: u64,
    /// The shape of the first tensor.
    shape: Option<&'a [u64]>,
    /// The element type of the first tensor.
    #[schemars(with = "Option<String>")]
    dtype: Option<&'a ElementType>,
    /// All tensors that lie in it.
    tensors: &'a [TensorId],
}

fn stated<'a>(args: &InspectArgs, seen: &'a Seen) -> Inspected<'a> {
    let Seen { input, model, found, best } = seen;
    let (model, graph, tail) = (*model, input.graph(), input.tail(*model));
    let step = |step: &Step| {
        let Op { name, kind, .. } = graph.op(step.op);
        StatedStep { op: step.op, name, r#type: kind.as_str(), during: step.during, after: step.after }
    };
    let alive = |&buffer: &BufferId| {
        let buffer = found.lifetimes.buffer(buffer);
        let tensor = buffer.tensors.first().map(|&tensor| graph.tensor(tensor));
        AliveBuffer {
            name: buffer_label(graph, buffer),
            bytes: buffer.bytes,
            shape: tensor.and_then(|tensor| tensor.shape.as_deref()),
            dtype: tensor.and_then(|tensor| tensor.dtype.as_ref()),
            tensors: &buffer.tensors,
        }
    };
    let (op, bytes) = found.max_op;
    // What does not run as it is planned does not fit, and no number of bytes would help.
    let has_size = seen.counts_everything() && seen.plan_fault().is_none();
    Inspected {
        graph: graph.name(),
        runtime: model,
        ops: graph.ops().len(),
        peak: found.profile.peak(),
        arena: found.arena.as_ref().map(|arena| arena.bytes),
        scratch: found.arena.as_ref().map(scratch_bytes),
        tail,
        total: found.arena.as_ref().zip(tail).map(|(arena, tail)| WholeArena::of(&tail, arena.bytes)),
        unsupported: refused_by_tflm(input, model),
        plan_fault: seen.plan_fault(),
        plan_note: StatedNote::of(input, model),
        max_op: (!graph.ops().is_empty()).then(|| LargestOp { op, name: graph.op_label(op), bytes }),
        best: best.after.peak,
        best_arena: best.after.arena,
        bound: best.bound,
        proof: StatedProof::of(best),
        fit: StatedFit {
            budget: args.budget.map(|budget| budget.bytes),
            fits: args.budget.map(|budget| seen.fits(budget)),
            missing: args.budget.filter(|_| has_size).map(|budget| missing(seen.need().to_be_safe(), budget)),
        },
        peak_step: found.profile.peak_step(),
        steps: found.profile.steps.iter().map(step).collect(),
        alive_at_peak: found.alive_at_peak.iter().map(alive).collect(),
    }
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
