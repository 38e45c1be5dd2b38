//! What a user of ONNX Runtime must know to get what the figures promise.

use crate::Failure;
use serde_json::Value;
use serenity::pipeline::{FastSession, NoFast};
use serenity::runtimes::{OrtOrder, OrtSetup};
use serenity::{Format, Input, Plan};
use std::io::Write;

/// How a session is made in Python, and what the figures are about.
pub(super) fn print_notes(
    input: &Input,
    plan: &Plan,
    output: Option<&str>,
    out: &mut impl Write,
) -> Result<(), Failure> {
    if input.file.format() != Format::Onnx {
        return Ok(());
    }
    if let Some(Err(why)) = &plan.session {
        print_fallback(why, out)?;
    }
    let setup = plan.model.ort().unwrap_or_default();
    if setup.reuse {
        print_plain(setup, out)?;
    } else {
        print_fast(plan, output, out)?;
    }
    Ok(())
}

/// What it means that ONNX Runtime was not asked.
fn print_fallback(why: &NoFast, out: &mut impl Write) -> Result<(), Failure> {
    writeln!(out, "\nthe model was only reordered, for a session with graph optimisation off: {why}")?;
    writeln!(
        out,
        "a default session optimises the model as it loads, is faster, and may need less than this file; install onnxruntime, and this command optimises for a default session"
    )?;
    Ok(())
}

fn print_fast(plan: &Plan, output: Option<&str>, out: &mut impl Write) -> Result<(), Failure> {
    writeln!(
        out,
        "\nthe file is already optimised for this machine and this version of ONNX Runtime; create the session like this:"
    )?;
    writeln!(out, "    options = onnxruntime.SessionOptions()")?;
    writeln!(
        out,
        "    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL"
    )?;
    writeln!(out, "    options.execution_order = onnxruntime.ExecutionOrder.PRIORITY_BASED")?;
    writeln!(out, "    options.enable_mem_reuse = False")?;
    writeln!(out, "    options.enable_mem_pattern = False")?;
    let file = Value::from(output.unwrap_or("fast.onnx"));
    writeln!(
        out,
        "    session = onnxruntime.InferenceSession({file}, options, providers=[\"CPUExecutionProvider\"])"
    )?;
    writeln!(
        out,
        "the figures count activations in the first run; without the last option, later runs need more"
    )?;
    if let Some(Ok(FastSession { rewrites, .. })) = &plan.session
        && rewrites.is_empty()
    {
        writeln!(
            out,
            "outputs equal those of a default session; --rewrite all may need even less, but outputs then differ by rounding"
        )?;
    }
    if let Some(Ok(fast)) = &plan.session
        && let Err(why) = &fast.measured
    {
        writeln!(out, "note: could not measure a default session: {why}")?;
    }
    Ok(())
}

fn print_plain(setup: OrtSetup, out: &mut impl Write) -> Result<(), Failure> {
    match setup.order {
        OrtOrder::Priority => {
            writeln!(
                out,
                "\nONNX Runtime keeps the order of the file only if the session asks for it; in a default session this file may need more than the original:"
            )?;
            writeln!(out, "    options = onnxruntime.SessionOptions()")?;
            writeln!(out, "    options.execution_order = onnxruntime.ExecutionOrder.PRIORITY_BASED")?;
        }
        OrtOrder::Default => writeln!(
            out,
            "\nfor sessions with the default `execution_order`, which runs this file in the order above"
        )?,
    }
    writeln!(
        out,
        "the figures count activations in the first run with graph optimisation off; `options.enable_mem_pattern = False` keeps later runs at that"
    )?;
    Ok(())
}
