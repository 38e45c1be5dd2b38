//! What `serenity inspect` prints for people.

use crate::Failure;
use crate::args::InspectArgs;
use crate::commands::budget::Question;
use crate::commands::{as_typed, count, figure, tflm, title, unknown, verdict};
use crate::printable::printable;
use crate::progress::thousands;
use crate::screen::layout::{COMMAND, HANG};
use crate::screen::style::{GOOD, TITLE, paint};
use crate::screen::width;
use crate::size::{GivenSize, Size};
use serenity::inspect::{Inspected, NeedOfKernels, scratch_bytes};
use serenity::ir::{BufferId, OpId};
use serenity::pipeline::Need;
use serenity::runtimes::{Arena, TFLM_ALIGNMENT};
use serenity_report::ShortLabels;
use std::io::{self, Write};

/// What may take long at the peak of a real network: the rest is summed up.
const MOST_ALIVE: usize = 12;
/// The longest that names get.
const LONGEST_NAME: usize = 40;

pub(super) fn print(
    args: &InspectArgs,
    source: &str,
    seen: &Inspected,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let Inspected { input, model, found, best } = seen;
    let (model, graph) = (*model, input.graph());
    let room = width().map_or(LONGEST_NAME, |width| (width / 2).clamp(12, LONGEST_NAME));
    let names = Names { seen, labels: ShortLabels::of(graph, room) };
    writeln!(
        out,
        "{}: {}, {}, memory model `{model}`\n",
        paint(TITLE, title(graph, source)),
        count(graph.ops().len() as u64, "op"),
        count(graph.tensors().len() as u64, "tensor"),
    )?;
    tflm::print_refused(input, model, out)?;
    tflm::print_note(input, model, out)?;
    let mut row = |label: &str, bytes: u64, remark: &str| {
        let (shown, at_least) = figure(bytes, seen.counts_everything());
        writeln!(out, "  {label:<16} {shown:>13}   {HANG}{at_least}{remark}")
    };
    if let Some(arena) = &found.arena {
        print_arena(seen, arena, &mut row)?;
    }
    let peak = found.profile.peak();
    let at = found.profile.peak_step();
    if let Some(step) = found.profile.steps.get(at) {
        let place = format!("step {} of {}", at + 1, graph.ops().len());
        row("peak", peak, &format!("bytes in use at {place}, {}", names.op_and_type(step.op)))?;
        let without = if model.with_plan() == model { "" } else { "without a plan " };
        let (largest, bytes) = found.max_op;
        let remark = format!("{}: {without}no order needs less", names.op(largest));
        row("largest op alone", bytes, &remark)?;
        row("best order", best.after.peak, &verdict(best))?;
        print_best(seen, &mut row)?;
    } else {
        row("peak", peak, "bytes of inputs and outputs: the model has no operators")?;
    }

    writeln!(out, "\n{}", paint(TITLE, "in use at the peak"))?;
    for &b in found.alive_at_peak.iter().take(MOST_ALIVE) {
        writeln!(out, "  {}", names.buffer(b))?;
    }
    let rest = found.alive_at_peak.get(MOST_ALIVE..).unwrap_or_default();
    if !rest.is_empty() {
        let bytes: u64 = rest.iter().map(|&b| found.lifetimes.buffer(b).bytes).sum();
        writeln!(out, "  and {}, {} in all", count(rest.len() as u64, "more buffer"), Size(bytes))?;
    }
    if args.steps {
        writeln!(out, "\n  {:>5} {:>12} {:>12}  op", "step", "during", "after")?;
        for (i, step) in found.profile.steps.iter().enumerate() {
            let mark = if step.during == peak { "  <- peak" } else { "" };
            writeln!(
                out,
                "  {:>5} {:>12} {:>12}  {HANG}{}{mark}",
                i + 1,
                thousands(step.during),
                thousands(step.after),
                names.op_and_type(step.op)
            )?;
        }
    }
    unknown::print(&best.unknown, source, out)?;
    if best.after.needs() < best.before.needs() && seen.counts_everything() {
        let what = if best.reorders() { "order" } else { "memory plan" };
        let typed = as_typed(source, &args.read, &args.runtime);
        writeln!(out, "\na better {what} exists: {COMMAND}serenity optimize {typed}")?;
    }
    print_budget(args, source, seen, out)
}

/// The sections of a runtime's arena: what must fit comes first.
fn print_arena(
    Inspected { input, best, .. }: &Inspected,
    arena: &Arena,
    row: &mut dyn FnMut(&str, u64, &str) -> io::Result<()>,
) -> io::Result<()> {
    let Some(tail) = input.tail(best.model) else {
        return row("arena", arena.bytes, "as planned by the runtime itself");
    };
    let needed = tail.needed(arena.bytes).arm32;
    let plans_in_head = needed <= (arena.bytes + tail.arm32).next_multiple_of(TFLM_ALIGNMENT);
    let why = if plans_in_head { "head and tail" } else { "tail, and what TFLM allocates while it plans" };
    let margin = tail.margin(arena.bytes);
    row("set the arena to", needed + margin, "the whole arena and the margin")?;
    row("whole arena", needed, &format!("on a 32-bit device: {why}"))?;
    let by = if input.plan().is_some() { "the plan in the model" } else { "TFLM's planner" };
    row("  head", arena.bytes, &format!("activations and scratch, placed by {by}"))?;
    row("  of it scratch", scratch_bytes(arena), "the most that one op needs besides its tensors")?;
    row("  tail", tail.arm32, "what TFLM keeps on a 32-bit device, estimated")?;
    row("  tail on x86-64", tail.x86_64, "what TFLM keeps on a 64-bit computer")?;
    let unknown = match tail.unknown_kernels {
        0 => String::new(),
        ops => format!(", and for {} of unknown size", count(ops, "kernel")),
    };
    let remark = format!("safety margin for other versions and compilers{unknown}");
    row("margin", margin, &remark)
}

/// What the best order makes of the arena, if there is one.
fn print_best(
    Inspected { input, best, .. }: &Inspected,
    row: &mut dyn FnMut(&str, u64, &str) -> io::Result<()>,
) -> io::Result<()> {
    let Some(arena) = best.after.arena else { return Ok(()) };
    let how = if best.offsets.is_some() {
        "with the memory plan that `serenity optimize` stores in the model"
    } else {
        "as planned by the runtime itself"
    };
    if input.tail(best.model).is_none() {
        return row("  its arena", arena, how);
    }
    row("  its arena", Need::of(input, best).bytes, &format!("whole arena, {how}"))?;
    row("  its head", arena, "activations and scratch")
}

/// Does it fit what the user has?
fn print_budget(
    args: &InspectArgs,
    source: &str,
    seen: &Inspected,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let Some(budget) = args.budget else { return Ok(()) };
    let question = Question {
        budget,
        need: seen.need(),
        fault: seen.plan_fault(),
        unknown: &seen.best.unknown,
        counts_everything: seen.counts_everything(),
        source,
        manner: " as it is",
    };
    let fits = question.answer(out)?;
    print_kernels(seen, budget, out)?;
    if !fits {
        let typed = as_typed(source, &args.read, &args.runtime);
        let next = format!("serenity fit {typed} --budget {}", budget.as_argument());
        writeln!(out, "all ways to make it fit: {COMMAND}{next}")?;
    }
    Ok(())
}

/// With which kernels, and with which releases of their library, does it fit?
fn print_kernels(seen: &Inspected, budget: GivenSize, out: &mut dyn Write) -> Result<(), Failure> {
    let needs = seen.by_kernels(Some(budget.bytes));
    if needs.len() < 2 || seen.input.tail(seen.model).is_none() {
        return Ok(());
    }
    writeln!(out, "with margin, by the kernels that TFLM is built with:")?;
    let is_alike = |one: &NeedOfKernels, other: &NeedOfKernels| {
        let told = |need: &NeedOfKernels| (need.kernels.newest(), need.needs, need.margin, need.fits);
        told(one) == told(other)
    };
    for alike in needs.chunk_by(is_alike) {
        let need = &alike[0];
        let wanted = need.needs.saturating_add(need.margin);
        let verdict = match need.fits {
            Some(true) => paint(GOOD, "fits".to_owned()),
            _ if wanted > budget.bytes => format!("{} over", thousands(wanted - budget.bytes)),
            _ => "cannot run as it is".to_owned(),
        };
        let name = alike[alike.len() - 1].kernels.to_string();
        writeln!(out, "  {name:<16} {:>13}   {HANG}{verdict}{}", thousands(wanted), releases(alike))?;
    }
    Ok(())
}

/// `, releases 1.0.0 to 1.1.2`, if releases of the library may differ.
fn releases(needs: &[NeedOfKernels]) -> String {
    let mut releases = needs
        .iter()
        .filter(|need| need.kernels.versions().len() > 1)
        .flat_map(|need| need.releases)
        .filter_map(|name| Some(name.split_once('@')?.1));
    match (releases.next(), releases.next_back()) {
        (Some(first), Some(last)) => format!(", releases {first} to {last}"),
        (Some(only), None) => format!(", release {only}"),
        (None, _) => String::new(),
    }
}

/// What things are called where there is little room.
struct Names<'a> {
    seen: &'a Inspected,
    labels: ShortLabels,
}

impl Names<'_> {
    fn op(&self, id: OpId) -> String {
        printable(&self.labels.ops[id.index()]).into_owned()
    }

    /// A name to show for an op, with its type if it has one: `conv1 (CONV_2D)`.
    fn op_and_type(&self, id: OpId) -> String {
        match self.seen.input.graph().op(id).kind.as_str() {
            "" => self.op(id),
            kind => format!("{} ({})", self.op(id), printable(kind)),
        }
    }

    fn buffer(&self, b: BufferId) -> String {
        let graph = self.seen.input.graph();
        let buffer = self.seen.found.lifetimes.buffer(b);
        let tensor = buffer.tensors.first().copied();
        let name = match (tensor, buffer.writers.first()) {
            (Some(tensor), _) => self.labels.tensors[tensor.index()].clone(),
            (None, Some(op)) => format!("scratch of {}", self.labels.ops[op.index()]),
            (None, None) => "scratch".to_owned(),
        };
        let tensor = tensor.map(|t| graph.tensor(t));
        let shape = tensor.and_then(|t| t.shape.as_ref()).map_or_else(String::new, |shape| {
            let dims: Vec<String> = shape.iter().map(ToString::to_string).collect();
            format!("  [{}]", dims.join("x"))
        });
        let dtype = tensor
            .and_then(|t| t.dtype.as_ref())
            .map_or_else(String::new, |dtype| format!(" {}", printable(dtype.name())));
        let until = match buffer.readers.last() {
            _ if buffer.to_end => "  (a result)".to_owned(),
            Some(&last) if !buffer.is_scratch() => format!("  (until {})", self.op(last)),
            _ => String::new(),
        };
        format!("{:>12}  {HANG}{}{shape}{dtype}{until}", Size(buffer.bytes), printable(&name))
    }
}
