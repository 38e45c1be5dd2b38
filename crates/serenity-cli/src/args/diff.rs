//! Arguments of `serenity diff`.

use super::values::growth;
use super::{ReadArgs, RuntimeArg, TalkArgs};
use crate::size::GivenSize;
use clap::Args;
use serenity::diff::{Growth, Limits};

/// Show what changed between two models, or two releases of one: memory, flash, work, boards.
///
/// Compares both models as they are, in their own order and with their own memory plan; nothing is searched. The memory
/// model is that of OLD.
///
/// Exits with 1 if NEW exceeds --budget or --max-growth. A model of which something is unknown keeps neither.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    serenity diff old.tflite new.tflite --kernels cmsis-nn\n  \
    serenity diff old.tflite new.tflite --max-growth 0 || echo 'needs more RAM'\n  \
    serenity diff old.tflite new.tflite --budget 64KiB --markdown >> comment.md")]
pub(crate) struct DiffArgs {
    /// The first model.
    pub(crate) old: String,
    /// The second model.
    pub(crate) new: String,
    /// The memory that a device has for NEW: for a .tflite on TFLM the whole arena and a safety margin.
    #[arg(long, value_name = "SIZE")]
    pub(crate) budget: Option<GivenSize>,
    /// How much more NEW may need than OLD, without the safety margin, as a size or in percent. With any kernels, this
    /// holds for each set of kernels.
    #[arg(long, value_name = "SIZE|PERCENT%", value_parser = growth)]
    pub(crate) max_growth: Option<Growth>,
    /// Print Markdown, as for a pull request.
    #[arg(long, conflicts_with_all = ["json", "quiet"])]
    pub(crate) markdown: bool,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    #[command(flatten)]
    pub(crate) runtime: RuntimeArg,
    #[command(flatten)]
    pub(crate) talk: TalkArgs,
}

impl DiffArgs {
    /// What is asked of the second model.
    pub(crate) fn limits(&self) -> Limits {
        Limits { budget: self.budget.map(|budget| budget.bytes), max_growth: self.max_growth }
    }
}
