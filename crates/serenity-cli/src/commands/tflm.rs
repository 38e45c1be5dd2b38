//! What is to be known before any figure: what TFLM cannot run, for which kernels the plan is that a model came with,
//! and which kernels of LiteRT are counted.

use super::{count, op_name_and_type};
use crate::Failure;
use crate::printable::printable;
use serenity::Input;
use serenity::account::{Refused, plan_fault, refused_by_tflm};
use serenity::runtimes::MemoryModel;
use std::io::Write;

/// More operators than this are summed up.
const MOST_LISTED: usize = 3;

pub(super) fn print_refused(input: &Input, model: MemoryModel, out: &mut dyn Write) -> Result<(), Failure> {
    let refused = refused_by_tflm(input, model);
    if refused.is_empty() {
        return Ok(());
    }
    writeln!(out, "TFLM cannot run this model; the figures below are what it would need:")?;
    for Refused { graph, op, reason, .. } in refused.iter().take(MOST_LISTED) {
        let name = op_name_and_type(&input.graphs()[*graph], *op);
        writeln!(out, "- {name}: {}", printable(reason))?;
    }
    if let Some(rest @ 1..) = refused.len().checked_sub(MOST_LISTED) {
        writeln!(out, "- and {}: --json lists all", count(rest as u64, "more op"))?;
    }
    writeln!(out)?;
    Ok(())
}

pub(super) fn print_note(input: &Input, model: MemoryModel, out: &mut dyn Write) -> Result<(), Failure> {
    if model == MemoryModel::Litert {
        writeln!(
            out,
            "note: counted with LiteRT's reference kernels; its built-in optimised ones and XNNPACK need more\n"
        )?;
    }
    if let Some(fault) = plan_fault(input, model) {
        writeln!(out, "note: {}\n", printable(&fault))?;
    }
    Ok(())
}
