//! Windows over time: a model that takes new rows only.

use super::{Job, loops};
use crate::Failure;
use crate::commands::for_shell;
use crate::failure::refuse;
use crate::progress::thousands;
use serenity::hops::{StatedHop, hops};
use serenity::{Input, Optimized, Options};
use std::io::Write;

/// The optimised model: for new rows only, if that was asked for.
pub(super) fn optimized(
    job: &Job,
    input: &Input,
    options: &Options,
) -> Result<(Optimized, Option<StatedHop>), Failure> {
    let Some(rows) = job.hop else { return Ok((serenity::optimize(input, options)?, None)) };
    let files = [("--plan", &job.plan), ("-o FILE.html", &job.page.report), ("-o DIR/", &job.emit_c)];
    if let Some((option, _)) = files.iter().find(|(_, path)| path.is_some()) {
        let message = format!("{option}: with --hop, only the model and a header are written");
        return refuse(message, "leave it out; for C code: serenity emit c --stream time");
    }
    let made = hops(input, options, rows, job.budget.map(|budget| budget.bytes))?;
    Ok((made.found, Some(made.hop)))
}

/// What the application must know.
pub(super) fn print(
    hop: StatedHop,
    job: &Job,
    came: &Input,
    planned: &Input,
    out: &mut impl Write,
) -> Result<(), Failure> {
    let StatedHop { rows, macs, window_macs, carried, first } = hop;
    let less = window_macs as f64 / macs.max(1) as f64;
    let (macs, whole, carried) = (thousands(macs), thousands(window_macs), thousands(carried));
    let rows = if rows == 1 { "1 row".to_owned() } else { format!("{rows} rows") };
    writeln!(out, "\nwindows over time")?;
    writeln!(out, "  MACs         {macs:>10} per run instead of {whole}: {less:.1}x less")?;
    writeln!(out, "  carried      {carried:>10} bytes from run to run")?;
    writeln!(out, "  input 0 takes {rows} per run; leave the other inputs and outputs from")?;
    writeln!(out, "  number {} on alone: they are what is carried", came.graph().outputs().len())?;
    writeln!(out, "  the first window is full after {first} runs; earlier outputs mean nothing")?;
    loops::print_operators(came, planned, out)?;
    if let Some(path) = job.output {
        let (input, output) = (for_shell(job.input), for_shell(path));
        writeln!(out, "  check it:    serenity verify {input} {output} --engine tflm")?;
    }
    Ok(())
}
