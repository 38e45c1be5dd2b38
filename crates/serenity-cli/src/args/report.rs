//! Arguments about the page of a model.

use super::{ChangeArgs, ReadArgs, RuntimeArg, SearchArgs, TalkArgs};
use crate::size::GivenSize;
use clap::Args;

/// Write a page about a model: what it needs before and after, why, and what would lower it.
///
/// Runs `optimize` and shows the result in one HTML file that opens from disk, also on a phone: memory over time, the
/// arena, the network and its order, each change and what it saved, what sets the peak, and which boards have enough
/// RAM. The model itself is not written.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    serenity report model.tflite -o page.html\n  \
    serenity report model.tflite -o page.html --budget 250KB\n  \
    serenity report model.tflite -o page.html --loops --svg pictures\n  \
    serenity report zoo:swiftnet-a -o page.html")]
pub(crate) struct ReportArgs {
    /// The model.
    pub(crate) input: String,
    /// Write the page here.
    #[arg(short, long, value_name = "FILE.html")]
    pub(crate) output: String,
    /// Write the pictures of the page into this folder as well, as .svg files; the folder is created if needed.
    #[arg(long, value_name = "DIR")]
    pub(crate) svg: Option<String>,
    /// Say whether the model fits this size, and list all ways to make it fit; exit with 1 if it does not.
    #[arg(long, value_name = "SIZE")]
    pub(crate) budget: Option<GivenSize>,
    /// How many random orders to draw for comparison; 0 for none.
    #[arg(long, value_name = "N", default_value_t = serenity_page::PageOptions::default().orders)]
    pub(crate) orders: u64,
    #[command(flatten)]
    pub(crate) changes: ChangeArgs,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    #[command(flatten)]
    pub(crate) runtime: RuntimeArg,
    #[command(flatten)]
    pub(crate) search: SearchArgs,
    #[command(flatten)]
    pub(crate) talk: TalkArgs,
}

/// The page beside what a command does.
#[derive(Args)]
pub(crate) struct PageArgs {
    /// As -o FILE.html.
    #[arg(long, hide = true, value_name = "FILE.html")]
    pub(crate) report: Option<String>,
    /// Write the pictures of the page into this folder, as .svg files; the folder is created if needed.
    #[arg(long, value_name = "DIR")]
    pub(crate) svg: Option<String>,
}
