//! Arguments of `serenity fit`.

use super::values::named;
use super::{ReadArgs, RuntimeArg, SearchArgs, TalkArgs};
use crate::size::GivenSize;
use clap::Args;
use serenity_fit::Change;

/// Make a model fit the memory of a device: try all ways, and write the first that fits.
///
/// Prints one row per way, from the one that asks least of the application to the one that asks most: the RAM that a
/// device must have including a safety margin, and what the way costs. The RAM is never an estimate: each plan is made
/// and checked, and each C code is generated. Large models take minutes.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    serenity fit model.tflite --budget 64KiB\n  \
    serenity fit model.tflite --budget 64KiB -o smaller.tflite\n  \
    serenity fit model.tflite --budget 64KiB --forbid int8-io -o code/\n  \
    serenity fit wake-word.tflite --budget 8KiB --hop 1\n  \
    serenity fit zoo:swiftnet-a --budget 180KB")]
pub(crate) struct FitArgs {
    /// The model.
    pub(crate) input: String,
    /// The memory that the device has for the model.
    #[arg(long, value_name = "SIZE")]
    pub(crate) budget: GivenSize,
    /// Write the first way that fits: a model file, or C code into a folder (DIR/).
    #[arg(short, long, value_name = "FILE|DIR/")]
    pub(crate) output: Option<String>,
    /// Make these changes only, and those that they are made of [default: all].
    ///
    /// plan: another order, and an offset for every tensor. rewrites: operators replaced by equivalent ones. kernels:
    /// TFLM is built with known kernels. loops: a few rows at a time. int8-io: integer inputs and outputs. c: C code
    /// instead of the interpreter. stream: the application hands over a row of the input at a time. Kernels, loops,
    /// int8-io and c come with plan and rewrites, stream also with c; --forbid rewrites leaves rewrites out.
    #[arg(long, value_name = "CHANGE,...", value_delimiter = ',', value_parser = named::<Change>(Change::all().map(|(name, _)| name)))]
    pub(crate) allow: Vec<Change>,
    /// Do not make these changes.
    #[arg(long, value_name = "CHANGE,...", value_delimiter = ',', value_parser = named::<Change>(Change::all().map(|(name, _)| name)))]
    pub(crate) forbid: Vec<Change>,
    /// The prefix of all names in C code [default: the name of the file].
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// For an application that looks at windows over time: the next window ends so many rows of the input later.
    ///
    /// Adds the ways that compute once what windows have in common; figures of time and MACs are then those from one
    /// window to the next.
    #[arg(long, value_name = "ROWS")]
    pub(crate) hop: Option<u64>,
    /// For every way, print what it asks of the application, and its command.
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
