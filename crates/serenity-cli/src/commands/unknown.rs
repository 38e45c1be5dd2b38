//! Prints what is not known about a model, and what that means for the figures.

use super::{count, for_shell};
use crate::printable::printable;
use serenity::ir::{Unknown, UnknownKind};
use std::io::{self, Write};
use std::path::Path;

/// Names that are listed; the rest is counted.
const MOST_NAMED: usize = 3;

/// Characters of a name that are shown.
const LONGEST_NAME: usize = 40;

/// Tells what is unknown of what was read from `input`, what follows, and what to do about it; nothing if nothing is.
pub(super) fn print(unknown: &[Unknown], input: &str, out: &mut dyn Write) -> io::Result<()> {
    if unknown.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "\nunknown{}:",
        if Unknown::any_hides_bytes(unknown) {
            ", so all figures are minimums and nothing is proved"
        } else {
            ", so the order is the best of those that keep these ops in place"
        }
    )?;
    for (kind, title) in [
        (UnknownKind::Size, "size of"),
        (UnknownKind::Scratch, "scratch of"),
        (UnknownKind::SubGraph, "sub-graphs of"),
        (UnknownKind::Order, "place of"),
    ] {
        let of_kind: Vec<&Unknown> = unknown.iter().filter(|unknown| unknown.kind == kind).collect();
        for Unknown { name, reason, .. } in of_kind.iter().take(MOST_NAMED) {
            writeln!(out, "- {title} `{}`: {}", shortened(&printable(name)), printable(reason))?;
        }
        let more = of_kind.len().saturating_sub(MOST_NAMED) as u64;
        if more > 0 {
            let what = match kind {
                UnknownKind::Size => "more tensor",
                UnknownKind::Scratch | UnknownKind::SubGraph | UnknownKind::Order => "more op",
            };
            writeln!(out, "- and {}: --json lists all", count(more, what))?;
        }
    }
    if let Some(remedy) = remedy(unknown, input) {
        writeln!(out, "  {remedy}")?;
    }
    Ok(())
}

/// A name that leaves room for what is said about it; --json has it in full.
fn shortened(name: &str) -> String {
    match name.char_indices().nth(LONGEST_NAME) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

/// What the user can do to make figures whole.
fn remedy(unknown: &[Unknown], input: &str) -> Option<String> {
    // Only an .onnx leaves shapes to whoever runs it.
    Path::new(input).extension().filter(|extension| extension.eq_ignore_ascii_case("onnx"))?;
    let first = unknown.iter().find(|unknown| unknown.kind == UnknownKind::Size)?;
    let name = for_shell(&first.name);
    Some(format!("if you know the shape, pass --shape {name}=N,N,...:float32"))
}

/// Why no budget can be said to be kept.
pub(super) fn why_no_budget(unknown: &[Unknown], input: &str, needs: &str, budget: &str) -> String {
    let bytes: Vec<Unknown> = unknown.iter().filter(|unknown| unknown.kind.hides_bytes()).cloned().collect();
    let summary = Unknown::summary(&bytes).unwrap_or_default();
    let remedy = remedy(unknown, input).map_or_else(String::new, |remedy| format!("\n  {remedy}"));
    format!("cannot tell whether it fits {budget}: it needs at least {needs} bytes, but {summary}{remedy}")
}
