//! What a user of ONNX Runtime must know to get what the figures promise.

use crate::Failure;
use serde_json::{Value, json};
use serenity::runtimes::{MemoryModel, OrtOrder};
use serenity::{Format, Input};
use std::io::Write;

/// The options of the session that the figures hold for; `None` if the model is for another runtime.
pub(super) fn session_options(input: &Input, model: MemoryModel) -> Option<Value> {
    if input.file.format() != Format::Onnx {
        return None;
    }
    let order = match model.ort_order().unwrap_or_default() {
        OrtOrder::Priority => "PRIORITY_BASED",
        OrtOrder::Default => "DEFAULT",
    };
    Some(json!({"execution_order": order, "enable_mem_pattern": false}))
}

/// The same in Python, and what the figures are about.
pub(super) fn print_notes(input: &Input, model: MemoryModel, out: &mut impl Write) -> Result<(), Failure> {
    if input.file.format() != Format::Onnx {
        return Ok(());
    }
    match model.ort_order().unwrap_or_default() {
        OrtOrder::Priority => {
            writeln!(
                out,
                "\nONNX Runtime runs the nodes in the order of the file only if the session says so; in a default session this file may need more than the one it was made from:"
            )?;
            writeln!(out, "    options = onnxruntime.SessionOptions()")?;
            writeln!(out, "    options.execution_order = onnxruntime.ExecutionOrder.PRIORITY_BASED")?;
        }
        OrtOrder::Default => writeln!(
            out,
            "\nfor sessions with the default `execution_order`, which runs the nodes of this file in the order above"
        )?,
    }
    writeln!(
        out,
        "the figures are activations in the first run, graph optimisation off; `options.enable_mem_pattern = False` keeps later runs there"
    )?;
    Ok(())
}
