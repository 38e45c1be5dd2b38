//! `serenity inspect`: what a model needs as it is.

use super::{as_typed, count, op_name, op_name_and_type, tensor_name, title, verdict};
use crate::args::InspectArgs;
use crate::outputs::GraphFile;
use crate::printable::printable;
use crate::progress::{ProgressLine, cancel_on_ctrl_c, thousands};
use crate::size::Size;
use crate::{Failure, Outcome};
use serde_json::{Value, json};
use serenity::ir::{BufferId, Graph};
use serenity::scheduling::Limits;
use serenity::{Inspection, Options, Plan};
use std::io::Write;

/// What may take long at the peak of a real network: the rest is summed up.
const MOST_ALIVE: usize = 12;

pub(crate) fn run(args: &InspectArgs, out: &mut impl Write) -> Result<Outcome, Failure> {
    let dot = args.dot.as_deref().map(GraphFile::dot).transpose()?;
    let input = serenity::load(&args.input)?;
    let model = args.runtime.runtime.unwrap_or(input.default_model);
    let found = serenity::inspect(&input.graph, model);
    let (line, progress) = ProgressLine::new(&title(&input.graph, &args.input));
    let limits =
        Limits { time: Some(args.time_limit), memory: Some(args.memory_limit.0), cancel: cancel_on_ctrl_c() };
    let best = serenity::optimize(&input.graph, &Options { model, limits, progress, ..Options::default() })?;
    drop(line);
    if let Some(dot) = &dot {
        dot.write(&input.graph)?;
    }
    if args.json.json {
        writeln!(out, "{}", to_json(&input.graph, &found, &best))?;
    } else {
        print(args, &input.graph, &found, &best, out)?;
    }
    Ok(Outcome::Done)
}

fn to_json(graph: &Graph, found: &Inspection, best: &Plan) -> Value {
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
            let tensor = graph.tensor(buffer.tensors[0]);
            json!({
                "name": graph.tensor_label(buffer.tensors[0]),
                "bytes": buffer.bytes,
                "shape": tensor.shape,
                "dtype": tensor.dtype.as_ref().map(ToString::to_string),
                "tensors": buffer.tensors.iter().map(|t| t.0).collect::<Vec<_>>(),
            })
        })
        .collect();
    let (op, bytes) = found.max_op;
    json!({
        "graph": graph.name(),
        "runtime": best.model.to_string(),
        "ops": graph.ops().len(),
        "peak": found.profile.peak(),
        "arena": null,
        "max_op": {"op": op.0, "name": graph.op_label(op), "bytes": bytes},
        "best": best.after.peak,
        "bound": best.bound,
        "proof": if best.is_optimal() { "optimal" } else { "gap" },
        "peak_step": found.profile.peak_step(),
        "steps": steps,
        "alive_at_peak": alive,
    })
}

fn print(
    args: &InspectArgs,
    graph: &Graph,
    found: &Inspection,
    best: &Plan,
    out: &mut impl Write,
) -> Result<(), Failure> {
    let peak = found.profile.peak();
    let at = found.profile.peak_step();
    let step = found.profile.steps[at];
    writeln!(
        out,
        "{}: {}, {}, memory model `{}`\n",
        title(graph, &args.input),
        count(graph.ops().len() as u64, "op"),
        count(graph.tensors().len() as u64, "tensor"),
        best.model
    )?;
    let row = |out: &mut dyn Write, label: &str, bytes: u64, remark: &str| {
        writeln!(out, "  {label:<16} {:>12} {:>14}   {remark}", Size(bytes), thousands(bytes))
    };
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
        &format!("{}: no order can do with less", op_name(graph, found.max_op.0)),
    )?;
    row(out, "best order", best.after.peak, &verdict(best))?;

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
    if best.after.peak < peak {
        writeln!(out, "\na better order exists: serenity optimize {}", as_typed(&args.input, &args.runtime))?;
    }
    Ok(())
}

fn describe(graph: &Graph, found: &Inspection, b: BufferId) -> String {
    let buffer = found.lifetimes.buffer(b);
    let name = tensor_name(graph, buffer.tensors[0]);
    let tensor = graph.tensor(buffer.tensors[0]);
    let shape = tensor.shape.as_ref().map_or_else(String::new, |shape| {
        let dims: Vec<String> = shape.iter().map(ToString::to_string).collect();
        format!("  [{}]", dims.join("x"))
    });
    let dtype =
        tensor.dtype.as_ref().map_or_else(String::new, |dtype| format!(" {}", printable(dtype.name())));
    let until = match buffer.readers.last() {
        _ if buffer.to_end => "  (a result)".to_owned(),
        Some(&last) => format!("  (until {})", op_name(graph, last)),
        None => String::new(),
    };
    format!("{:>12}  {name}{shape}{dtype}{until}", Size(buffer.bytes))
}
