//! Prints the inputs and outputs that became integers, their quantization, and those that had to stay floats.

use crate::Failure;
use crate::printable::printable;
use serenity::Plan;
use serenity::formats::{Port, QuantizedPort};
use std::io::Write;

/// What became of --int8-io.
pub(super) fn print(plan: &Plan, out: &mut impl Write) -> Result<(), Failure> {
    let Some(io) = &plan.int8_io else { return Ok(()) };
    if io.is_unchanged() && io.kept.is_empty() {
        writeln!(
            out,
            "\n  nothing to do for --int8-io: no float32 input goes into QUANTIZE,\n  and no float32 output comes out of DEQUANTIZE"
        )?;
        return Ok(());
    }
    if !io.is_unchanged() {
        writeln!(out, "\n  the application must convert, real = scale * (q - zero_point):")?;
    }
    for (port, one) in io.changed() {
        writeln!(out, "  - {}", changed(port, one))?;
    }
    if io.is_unchanged() {
        writeln!(out, "\n  nothing to do for --int8-io:")?;
    }
    for one in &io.kept {
        let (name, reason) = (printable(&one.name), printable(&one.reason));
        writeln!(out, "  - {} `{name}` stays float32: {reason}", one.port)?;
    }
    Ok(())
}

/// Which it is, what it was, and what its numbers stand for.
pub(crate) fn changed(port: Port, one: &QuantizedPort) -> String {
    let QuantizedPort { was, name, dtype, scale, zero_point, .. } = one;
    let (was, name) = (printable(was), printable(name));
    format!("{port} `{was}` is {dtype} `{name}`: scale {scale:?}, zero point {zero_point}")
}
