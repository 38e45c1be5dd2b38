//! Prints the inputs and outputs that became integers, their quantization, and those that had to stay floats.

use crate::Failure;
use crate::printable::printable;
use serenity::Plan;
use serenity::formats::{Port, QuantizedPort};
use std::io::Write;

/// What became of --int8-io.
pub(super) fn print(plan: &Plan, out: &mut impl Write) -> Result<(), Failure> {
    let Some(io) = &plan.int8_io else { return Ok(()) };
    if io.changed.is_empty() && io.kept.is_empty() {
        writeln!(
            out,
            "\n  nothing to do for --int8-io: no float32 input goes into QUANTIZE,\n  and no float32 output comes out of DEQUANTIZE"
        )?;
        return Ok(());
    }
    if !io.changed.is_empty() {
        writeln!(out, "\n  another contract for the application, real = scale * (q - zero_point):")?;
    }
    for one in &io.changed {
        writeln!(out, "  - {}", changed(one))?;
    }
    if io.changed.is_empty() {
        writeln!(out, "\n  nothing to do for --int8-io:")?;
    }
    for one in &io.kept {
        let (name, reason) = (printable(&one.name), printable(&one.reason));
        writeln!(out, "  - {} `{name}` stays float32: {reason}", place(one.port))?;
    }
    Ok(())
}

/// Which it is, what it was, and what its numbers stand for.
pub(crate) fn changed(one: &QuantizedPort) -> String {
    let QuantizedPort { port, was, name, dtype, scale, zero_point } = one;
    let (port, was, name) = (place(*port), printable(was), printable(name));
    format!("{port} `{was}` is {dtype} `{name}`: scale {scale:?}, zero point {zero_point}")
}

fn place(port: Port) -> String {
    match port {
        Port::Input(position) => format!("input {position}"),
        Port::Output(position) => format!("output {position}"),
    }
}
