//! The commands, one file per command.

pub(crate) mod budget;
pub(crate) mod check;
pub(crate) mod device;
pub(crate) mod diff;
pub(crate) mod emit;
pub(crate) mod fit;
pub(crate) mod inspect;
mod onnx;
pub(crate) mod optimize;
mod page;
pub(crate) mod paper;
pub(crate) mod place;
pub(crate) mod reference;
pub(crate) mod report;
pub(crate) mod sample;
pub(crate) mod schedule;
mod several;
mod soft_budgets;
mod tflm;
pub(crate) mod traffic;
mod unknown;
pub(crate) mod verify;
mod ways;
pub(crate) mod zoo;

use crate::Failure;
use crate::args::{LimitArgs, ReadArgs, RuntimeArg, SearchArgs};
use crate::outputs::file_name;
pub(crate) use crate::printable::for_shell;
use crate::printable::printable;
use crate::progress::thousands;
use crate::size::GivenSize;
use serenity::ir::{Graph, OpId, Unknown};
use serenity::schedule::Rules;
use serenity::search::{CancelFlag, Limits, Proof, StopReason};
use serenity::{Options, Plan};
use serenity_report::ShortLabels;

/// The limits of what begins now.
fn limits(args: &LimitArgs, cancel: &CancelFlag) -> Limits {
    let limits = Limits { memory: Some(args.memory_limit.0), cancel: cancel.clone(), ..Limits::default() };
    args.time_limit.0.map_or(limits.clone(), |time| limits.within(time))
}

/// These options with what was asked of the search.
fn with_search(options: Options, args: &SearchArgs, cancel: &CancelFlag) -> Result<Options, Failure> {
    let mut rules = Rules::default();
    for name in &args.without {
        rules.turn_off(name);
    }
    Ok(Options {
        algorithm: args.algorithm,
        step_limit: args.step_limit.unwrap_or_default(),
        soft_budget: args.soft_budget()?,
        rules,
        threads: args.threads,
        effort: args.limits.effort,
        limits: limits(&args.limits, cancel),
        ..options
    })
}

/// What is proved, in words.
fn verdict(plan: &Plan) -> String {
    if let Some(summary) = Unknown::summary(&plan.unknown) {
        return if plan.counts_everything() && plan.meets_bound() {
            format!("no order needs less in which {summary}")
        } else {
            format!("not proved: {summary}")
        };
    }
    match plan.proof {
        Proof::Optimal => "proved optimal: no order needs less".to_owned(),
        // The order is proved or not, but this is what was made of it.
        Proof::Gap { stopped: StopReason::Heuristic } if plan.after.arena.is_some() => {
            format!("not proved: at most {:.1} % above the least possible", plan.gap() * 100.0)
        }
        Proof::Gap { stopped } => {
            format!("not proved: {stopped}; at most {:.1} % above the least possible", plan.gap() * 100.0)
        }
    }
}

/// The input and the memory model as the user would type them again.
fn as_typed(input: &str, read: &ReadArgs, runtime: &RuntimeArg) -> String {
    let input = for_shell(input);
    let runtime_given = runtime.runtime.map_or_else(String::new, |model| format!(" --runtime {model}"));
    let kernels_given = runtime.kernels.map_or_else(String::new, |kernels| format!(" --kernels {kernels}"));
    let order_given = runtime.ort_order.map_or_else(String::new, |order| format!(" --ort-order {order}"));
    let session_given =
        runtime.ort_session.map_or_else(String::new, |session| format!(" --ort-session {session}"));
    let folded = if read.fold_constants { " --fold-constants" } else { "" };
    let shapes: Vec<String> =
        read.shapes.iter().map(|shape| format!(" --shape {}", printable(&shape.to_string()))).collect();
    format!("{input}{runtime_given}{kernels_given}{order_given}{session_given}{folded}{}", shapes.concat())
}

/// Bytes in a table, and what comes before a remark on them. Where not everything is counted they are a lower bound,
/// and none is no figure.
fn figure(bytes: u64, counts_everything: bool) -> (String, &'static str) {
    match bytes {
        _ if counts_everything => (thousands(bytes), ""),
        0 => ("unknown".to_owned(), ""),
        _ => (thousands(bytes), "at least; "),
    }
}

/// 1.5 for half as much again.
fn factor(before: u64, after: u64) -> f64 {
    if after == 0 { 1.0 } else { before as f64 / after as f64 }
}

/// `1 op`, `2 ops`, `1,000 ops`.
fn count(number: u64, what: &str) -> String {
    format!("{} {what}{}", thousands(number), if number == 1 { "" } else { "s" })
}

/// A name to show for what was read: that of its file, which whoever gave it knows.
fn title(graph: &Graph, input: &str) -> String {
    let is_named = input == "-" && !graph.name().is_empty();
    let name = if is_named { graph.name().to_owned() } else { file_name(input) };
    printable(&name).into_owned()
}

/// The longest that names get.
const LONGEST_NAME: usize = 48;

/// A name to show for an op: short, but distinct.
fn op_name(graph: &Graph, id: OpId) -> String {
    printable(&ShortLabels::of(graph, LONGEST_NAME).ops[id.index()]).into_owned()
}

/// A name to show for an op, with its type if it has one: `conv1 (CONV_2D)`.
fn op_name_and_type(graph: &Graph, id: OpId) -> String {
    match graph.op(id).kind.as_str() {
        "" => op_name(graph, id),
        kind => format!("{} ({})", op_name(graph, id), printable(kind)),
    }
}

/// How many bytes are missing to `budget`.
fn missing(peak: u64, budget: GivenSize) -> u64 {
    peak.saturating_sub(budget.bytes)
}

/// Time as people say it.
fn duration(time: std::time::Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 1.0 { format!("{:.1} ms", seconds * 1e3) } else { format!("{seconds:.1} s") }
}
