//! One file a command.

pub(crate) mod check;
pub(crate) mod inspect;
pub(crate) mod optimize;
pub(crate) mod reference;
pub(crate) mod sample;
pub(crate) mod schedule;
pub(crate) mod zoo;

use crate::Failure;
use crate::args::{LimitArgs, SearchArgs};
use crate::size::Size;
use serenity::ir::{Graph, json, to_dot};
use serenity::scheduling::{CancelFlag, Limits, Proof};
use serenity::{Options, Plan};
use std::path::Path;

fn limits(args: &LimitArgs, cancel: &CancelFlag) -> Limits {
    Limits { time: args.time_limit, memory: Some(args.memory_limit.0), cancel: cancel.clone() }
}

fn search_options(args: &SearchArgs, cancel: &CancelFlag) -> Options {
    Options {
        algorithm: args.algorithm,
        step_limit: args.step_limit.unwrap_or_default(),
        limits: limits(&args.limits, cancel),
        ..Options::default()
    }
}

/// Writes a graph in the format its name asks for.
fn write_graph(graph: &Graph, path: &str) -> Result<(), Failure> {
    let text = match Path::new(path).extension().and_then(|e| e.to_str()) {
        Some("json") => json::write(graph),
        Some("dot" | "gv") => to_dot(graph),
        _ => {
            return Err(Failure::request(
                format!("`{path}`: cannot tell the format from the name"),
                "end the name in .json, or in .dot for Graphviz",
            ));
        }
    };
    Ok(serenity::write_atomically(path, text.as_bytes())?)
}

/// What is proved, in words.
fn verdict(plan: &Plan) -> String {
    match plan.proof {
        Proof::Optimal => "proved optimal: no order needs less".to_owned(),
        Proof::Gap { stopped } => {
            format!("not proved: {stopped}; at most {:.1} % above the least possible", plan.gap() * 100.0)
        }
    }
}

/// 1.5 for half as much again.
fn factor(before: u64, after: u64) -> f64 {
    if after == 0 { 1.0 } else { before as f64 / after as f64 }
}

/// `1 op`, `2 ops`.
fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// A name to show for what was read.
fn title(graph: &Graph, input: &str) -> String {
    if graph.name().is_empty() { input.to_owned() } else { graph.name().to_owned() }
}

/// How many bytes are missing to `budget`.
fn missing(peak: u64, budget: Size) -> u64 {
    peak.saturating_sub(budget.0)
}

/// Time as people say it.
fn duration(time: std::time::Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 1.0 { format!("{:.1} ms", seconds * 1e3) } else { format!("{seconds:.1} s") }
}
