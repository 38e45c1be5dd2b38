//! The arguments of commands that only look.

use super::values::seconds;
use super::{ReadArgs, RuntimeArg, SearchArgs, TalkArgs};
use crate::size::{GivenSize, Size};
use clap::Args;
use std::time::Duration;

/// Show what a model needs now, op by op, and which tensors are in use at the peak.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    serenity inspect model.tflite\n  \
    serenity inspect model.tflite --budget 64KiB || echo 'does not fit as it is'\n  \
    serenity inspect models/*.tflite")]
pub(crate) struct InspectArgs {
    /// The model, or several models, which are summed up in a table.
    #[arg(required = true, value_name = "INPUT")]
    pub(crate) inputs: Vec<String>,
    /// Exit with 1 if the model as it is does not fit. Counts, for a .tflite on TFLM, the whole arena of a 32-bit
    /// device including a safety margin; otherwise the runtime's arena, or the peak.
    #[arg(long, value_name = "SIZE")]
    pub(crate) budget: Option<GivenSize>,
    /// Write the --json output of each model into this folder as NAME.json; the folder is created if needed.
    #[arg(long, value_name = "DIR")]
    pub(crate) output_dir: Option<String>,
    /// List every op with the memory in use during and after it.
    #[arg(long)]
    pub(crate) steps: bool,
    /// For several models, print the full report of each.
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// Write the graph for Graphviz here.
    #[arg(long, value_name = "FILE.dot")]
    pub(crate) dot: Option<String>,
    /// Give up proving the least possible peak after this many seconds; on Linux and macOS, they must also have been
    /// spent on a processor.
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    pub(crate) time_limit: Duration,
    /// Give up proving it when the tables of the search reach this size.
    #[arg(long, value_name = "SIZE", default_value = "4GiB")]
    pub(crate) memory_limit: Size,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    #[command(flatten)]
    pub(crate) runtime: RuntimeArg,
    #[command(flatten)]
    pub(crate) talk: TalkArgs,
}

/// Compute an order, nothing else.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    serenity schedule zoo:darts-cell --algorithm dp\n  \
    serenity schedule zoo:swiftnet --algorithm dp+dc+asb --step-limit 20 --verbose\n  \
    serenity schedule graphs/*.json --json --time-limit 60 > schedules.jsonl")]
pub(crate) struct ScheduleArgs {
    /// The model, or several models, which are summed up in a table.
    #[arg(required = true, value_name = "INPUT")]
    pub(crate) inputs: Vec<String>,
    /// Write the plan of each model into this folder, as NAME.json, for `serenity check`; the folder is created if needed.
    #[arg(long, value_name = "DIR")]
    pub(crate) output_dir: Option<String>,
    /// List every soft budget that the paper's algorithms tried; for several models, print every order.
    #[arg(short, long)]
    pub(crate) verbose: bool,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    #[command(flatten)]
    pub(crate) runtime: RuntimeArg,
    #[command(flatten)]
    pub(crate) search: SearchArgs,
    #[command(flatten)]
    pub(crate) talk: TalkArgs,
}
