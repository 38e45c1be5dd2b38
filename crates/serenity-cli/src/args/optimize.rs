//! The arguments of the main job.

use super::values::{TwoSizes, two_memories};
use super::{ChangeArgs, PageArgs, ReadArgs, RuntimeArg, SearchArgs, TalkArgs};
use crate::Failure;
use crate::failure::refuse;
use crate::size::GivenSize;
use clap::Args;
use std::path::Path;

/// Make an equivalent model that needs less memory.
///
/// Searches rewrites, operator order and tensor placement. Prints the memory needed before and after, memory over time,
/// and whether the result is proved optimal. The result never needs more than the original, and an independent checker
/// verifies it before it is written.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    serenity optimize model.tflite -o smaller.tflite\n  \
    serenity optimize model.tflite -o smaller.tflite --loops\n  \
    serenity optimize model.tflite -o smaller.tflite --loops --int8-io\n  \
    serenity optimize model.tflite -o smaller.tflite --runtime litert\n  \
    serenity optimize model.onnx -o smaller.onnx --shape input=1,3,224,224\n  \
    serenity optimize zoo:swiftnet --plan plan.json\n  \
    serenity optimize model.tflite -o smaller.tflite -o arena.h\n  \
    serenity optimize model.tflite -o firmware/model/ --loops\n  \
    serenity optimize model.tflite --memory fast=128KB,slow=8MB --plan plan.json\n  \
    serenity optimize model.tflite -o smaller.tflite -o page.html\n  \
    serenity optimize wake-word.tflite --hop 1 -o frames.tflite\n  \
    serenity optimize models/*.tflite --output-dir smaller\n  \
    serenity optimize model.tflite --budget 250KB || echo 'does not fit'")]
pub(crate) struct OptimizeArgs {
    /// The model, or several models, which are optimised one by one and summed up in a table.
    #[arg(required = true, value_name = "INPUT")]
    pub(crate) inputs: Vec<String>,
    /// Write this file; may be given several times. The suffix decides: .tflite or .onnx for the model (in the format
    /// of the input), .json for its graph, .dot for Graphviz, .html for a page, .h for a C header, DIR/ for C code.
    ///
    /// The page shows before and after, what sets the need, and what would lower it. The header is for TFLM: arena
    /// sizes and the offset of every tensor. The C code runs without an interpreter, like that of `serenity emit c`;
    /// its kernels are `emitted` unless --kernels says otherwise.
    #[arg(short, long = "output", value_name = "FILE|DIR/")]
    pub(crate) outputs: Vec<String>,
    /// The output that is the model.
    #[arg(skip)]
    pub(crate) output: Option<String>,
    /// Write every model into this folder under its own name; the folder is created if needed.
    #[arg(long, value_name = "DIR", conflicts_with = "outputs")]
    pub(crate) output_dir: Option<String>,
    /// Exit with 1 if the result does not fit, and list all ways to make it fit. Counts, for a .tflite on TFLM, the
    /// whole arena of a 32-bit device including a safety margin; otherwise the runtime's arena, or the peak. With
    /// --loops, picks the fitting plan with the fewest extra MACs, and no loops if the model fits without.
    #[arg(long, value_name = "SIZE")]
    pub(crate) budget: Option<GivenSize>,
    /// Write the plan here: order, offsets and proof, for `serenity check` and other tools.
    #[arg(long, value_name = "FILE.json")]
    pub(crate) plan: Option<String>,
    /// As -o FILE.h.
    #[arg(long, hide = true, value_name = "FILE.h", conflicts_with = "no_plan")]
    pub(crate) emit_header: Option<String>,
    /// As -o DIR/.
    #[arg(long, hide = true, value_name = "DIR", conflicts_with_all = ["no_plan", "memory"])]
    pub(crate) emit_c: Option<String>,
    /// The device has two memories, the preferred one first: put the most used tensors into that one.
    ///
    /// Only the plan (--plan, --json) and the header (-o FILE.h) hold these offsets: a .tflite model cannot express them.
    #[arg(long, value_name = "NAME=SIZE,NAME=SIZE", value_parser = two_memories, conflicts_with = "loops")]
    pub(crate) memory: Option<TwoSizes>,
    #[command(flatten)]
    pub(crate) changes: ChangeArgs,
    /// For a .tflite on TFLM that runs on windows over time: the model takes this many new rows of the window in each
    /// run and carries the others itself.
    ///
    /// Rows that two windows have in common are computed once. The application writes the new rows into input 0, runs
    /// the model, and reads the outputs of the window that ends with these rows, bit for bit as the whole window gives
    /// them. Other inputs and outputs are what is carried: the memory plan puts both at one place, and the application
    /// must leave them alone. Windows that are padded over time, and hops that strides do not divide, are refused:
    /// `serenity emit c --stream time` knows them.
    #[arg(long, value_name = "ROWS", conflicts_with_all = ["loops", "no_plan", "memory", "output_dir", "no_reorder"])]
    pub(crate) hop: Option<u64>,
    /// Keep the model's own order, also in sub-graphs; for TFLM only the placement of tensors is planned.
    ///
    /// Rewriting replaces an op by others in the same position. Add --rewrite none to keep the order exactly.
    #[arg(long, conflicts_with = "algorithm")]
    pub(crate) no_reorder: bool,
    /// List every rewrite, every soft budget and how the search went; for several models, print the full report of each.
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// List every variant of the model that was tried: what it needs, what it costs, and why it was not taken. --json
    /// always includes this list, as `attempts`.
    #[arg(long)]
    pub(crate) explain: bool,
    #[command(flatten)]
    pub(crate) page: PageArgs,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    #[command(flatten)]
    pub(crate) runtime: RuntimeArg,
    #[command(flatten)]
    pub(crate) search: SearchArgs,
    #[command(flatten)]
    pub(crate) talk: TalkArgs,
}

impl OptimizeArgs {
    /// Tells the files of `-o` apart by their names.
    pub(crate) fn sort_outputs(&mut self) -> Result<(), Failure> {
        for path in std::mem::take(&mut self.outputs) {
            let suffix = Path::new(&path).extension().and_then(|suffix| suffix.to_str());
            let (slot, what) = match suffix.unwrap_or_default().to_ascii_lowercase().as_str() {
                _ if path.ends_with('/') => (&mut self.emit_c, "folder of C code"),
                "h" | "hpp" => (&mut self.emit_header, "C header"),
                "html" | "htm" => (&mut self.page.report, "page"),
                _ => (&mut self.output, "model"),
            };
            if let Some(first) = slot.replace(path.clone()) {
                return refuse(
                    format!("-o {path}: the {what} is written to `{first}` already"),
                    "give each kind of file one name",
                );
            }
        }
        self.refuse_unplanned()
    }

    /// Refuses files that tell the places of tensors where none are planned.
    fn refuse_unplanned(&self) -> Result<(), Failure> {
        let is_code = self.emit_c.is_some();
        let option = match () {
            () if self.changes.no_plan => "--no-plan",
            () if is_code && self.memory.is_some() => "--memory",
            () => return Ok(()),
        };
        match self.emit_c.as_ref().or(self.emit_header.as_ref()) {
            None => Ok(()),
            Some(path) => refuse(
                format!("-o {path}: it needs the offset of every tensor, and {option} plans none"),
                format!("leave out {option}"),
            ),
        }
    }
}
