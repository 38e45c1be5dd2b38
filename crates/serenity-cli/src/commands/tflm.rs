//! What is to be known before any figure: what TFLM cannot run, for which kernels the plan is that a model came with, and which kernels of LiteRT are counted.

use super::{count, op_name_and_type};
use crate::Failure;
use crate::printable::printable;
use serde_json::{Value, json};
use serenity::runtimes::{MemoryModel, Tail, Unsupported, unsupported};
use serenity::{Format, Input};
use std::io::Write;

/// More operators than this are summed up.
const MOST_LISTED: usize = 3;

/// By graph: what TFLM refuses. Nothing for other runtimes, nor for what is no model of its.
pub(super) fn refused(input: &Input, model: MemoryModel) -> Vec<(usize, Unsupported)> {
    if model.kernels().is_none() || input.file.format() != Format::TfLite {
        return Vec::new();
    }
    let of_graph = |(index, graph)| unsupported(graph).into_iter().map(move |refused| (index, refused));
    input.graphs().iter().enumerate().flat_map(of_graph).collect()
}

pub(super) fn refused_to_json(input: &Input, model: MemoryModel) -> Value {
    let of_op = |(graph, refused): &(usize, Unsupported)| {
        let name = input.graphs()[*graph].op_label(refused.op);
        json!({"graph": graph, "op": refused.op.0, "name": name, "reason": refused.reason})
    };
    refused(input, model).iter().map(of_op).collect()
}

pub(super) fn print_refused(input: &Input, model: MemoryModel, out: &mut dyn Write) -> Result<(), Failure> {
    let refused = refused(input, model);
    if refused.is_empty() {
        return Ok(());
    }
    writeln!(out, "TFLM cannot run this model. What follows is what it would need:")?;
    for (graph, Unsupported { op, reason }) in refused.iter().take(MOST_LISTED) {
        let name = op_name_and_type(&input.graphs()[*graph], *op);
        writeln!(out, "- {name}: {}", printable(reason))?;
    }
    if let Some(rest @ 1..) = refused.len().checked_sub(MOST_LISTED) {
        writeln!(out, "- and {}: --json lists all", count(rest as u64, "more op"))?;
    }
    writeln!(out)?;
    Ok(())
}

/// TFLM's whole arena for a head of so many bytes.
pub(super) fn whole_to_json(tail: &Tail, head: u64) -> Value {
    let needed = tail.needed(head);
    json!({"arm32": needed.arm32, "x86_64": needed.x86_64, "margin": tail.margin(head)})
}

/// Of the plan of the arena that a model came with: for what it was made, and whether that is what is asked for.
pub(super) fn note_to_json(input: &Input, model: MemoryModel) -> Value {
    let Some(note) = input.plan_note() else { return Value::Null };
    let mut object = note.to_json();
    object["serves"] = model.kernels().and_then(|kernels| input.plan_serves(kernels)).into();
    object
}

pub(super) fn print_note(input: &Input, model: MemoryModel, out: &mut dyn Write) -> Result<(), Failure> {
    if model == MemoryModel::Litert {
        writeln!(
            out,
            "note: counted with LiteRT's reference kernels; its built-in optimised ones and XNNPACK need more\n"
        )?;
    }
    if let Some(kernels) = model.kernels()
        && input.plan_serves(kernels) == Some(false)
    {
        let made_for = input.plan_note().map_or_else(
            || "has overlaps".to_owned(),
            |note| {
                let (kernels, version) = (printable(&note.kernels), printable(&note.version));
                format!("was made for kernels `{kernels}` (Serenity {version})")
            },
        );
        writeln!(
            out,
            "note: the plan of the arena in this model {made_for}: with kernels `{kernels}` results may be wrong\n"
        )?;
    }
    Ok(())
}
