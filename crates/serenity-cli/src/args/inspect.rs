//! The arguments of commands that only look.

use super::values::seconds;
use super::{ReadArgs, RuntimeArg, SearchArgs, TalkArgs};
use crate::size::{GivenSize, Size};
use clap::Args;
use std::time::Duration;

/// Show what a model needs now, op by op, and who is alive at the peak.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    serenity inspect model.tflite\n  \
    serenity inspect model.tflite --budget 64KiB || echo 'does not fit as it is'\n  \
    serenity inspect models/*.tflite")]
pub(crate) struct InspectArgs {
    /// The model, or several: then a table sums them up.
    #[arg(required = true, value_name = "INPUT")]
    pub(crate) inputs: Vec<String>,
    /// Exit with 1, and say how many bytes are missing, if the model as it is may need more than this: for a .tflite on TFLM the whole arena of a
    /// 32-bit device with its margin, otherwise the runtime's arena or the peak.
    #[arg(long, value_name = "SIZE")]
    pub(crate) budget: Option<GivenSize>,
    /// Write what --json prints of each model into this folder, as NAME.json; it is made if there is none.
    #[arg(long, value_name = "DIR")]
    pub(crate) output_dir: Option<String>,
    /// List every op with the memory in use during and after it.
    #[arg(long)]
    pub(crate) steps: bool,
    /// Of several models, say everything that is said of one.
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// Write the graph for Graphviz here.
    #[arg(long, value_name = "FILE.dot")]
    pub(crate) dot: Option<String>,
    /// Give up proving the least possible peak after so many seconds.
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    pub(crate) time_limit: Duration,
    /// Give up proving it when the tables of the search take this much memory.
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
    /// The model, or several: then a table sums them up.
    #[arg(required = true, value_name = "INPUT")]
    pub(crate) inputs: Vec<String>,
    /// Write the plan of each model into this folder, as NAME.json, for `serenity check`; it is made if there is none.
    #[arg(long, value_name = "DIR")]
    pub(crate) output_dir: Option<String>,
    /// List every soft budget that the paper's algorithms tried; of several models, print every order.
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
