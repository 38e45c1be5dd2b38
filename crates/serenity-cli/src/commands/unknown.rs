//! What is not known of a model, and what that means for what is said about it.

use super::{count, for_shell};
use crate::printable::printable;
use serde_json::Value;
use serenity::ir::{Unknown, UnknownKind};
use std::io::{self, Write};

/// Names that are listed; the rest is counted.
const MOST_NAMED: usize = 3;

pub(super) fn to_json(unknown: &[Unknown]) -> Value {
    unknown.iter().map(Unknown::to_json).collect()
}

/// Tells what is unknown, what follows, and what to do about it; nothing if nothing is.
pub(super) fn print(unknown: &[Unknown], out: &mut dyn Write) -> io::Result<()> {
    if unknown.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "\nnot known{}:",
        if Unknown::any_hides_bytes(unknown) {
            ", so all figures are 'at least', and nothing is proved"
        } else {
            ", so an order is the best of those that keep these where they are"
        }
    )?;
    for (kind, title) in [
        (UnknownKind::Size, "size of"),
        (UnknownKind::SubGraph, "graphs run by"),
        (UnknownKind::Order, "place of"),
    ] {
        let of_kind: Vec<&Unknown> = unknown.iter().filter(|unknown| unknown.kind == kind).collect();
        for Unknown { name, reason, .. } in of_kind.iter().take(MOST_NAMED) {
            writeln!(out, "- {title} `{}`: {}", printable(name), printable(reason))?;
        }
        let more = of_kind.len().saturating_sub(MOST_NAMED) as u64;
        if more > 0 {
            let what = match kind {
                UnknownKind::Size => "more tensor",
                UnknownKind::SubGraph | UnknownKind::Order => "more op",
            };
            writeln!(out, "- and {}: --json lists all", count(more, what))?;
        }
    }
    if let Some(remedy) = remedy(unknown) {
        writeln!(out, "  {remedy}")?;
    }
    Ok(())
}

/// What the user can do to make figures whole.
pub(super) fn remedy(unknown: &[Unknown]) -> Option<String> {
    let first = unknown.iter().find(|unknown| unknown.kind == UnknownKind::Size)?;
    Some(format!("--shape {}=N,N,...:float32 tells a shape and a type", for_shell(&first.name)))
}

/// Why no budget can be said to be kept.
pub(super) fn why_no_budget(unknown: &[Unknown], needs: &str, budget: &str) -> String {
    let bytes: Vec<Unknown> = unknown.iter().filter(|unknown| unknown.kind.hides_bytes()).cloned().collect();
    let summary = Unknown::summary(&bytes).unwrap_or_default();
    let remedy = remedy(unknown).map_or_else(String::new, |remedy| format!("\n  {remedy}"));
    format!("cannot tell whether it fits {budget}: it needs {needs} bytes at least, but {summary}{remedy}")
}
