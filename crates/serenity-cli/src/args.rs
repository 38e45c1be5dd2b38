//! The command line: names, defaults and the help that teaches them. Completions and man pages come from the same definitions.

mod changes;
mod kernels;
mod report;
mod shared;
mod values;

pub(crate) use changes::{LoopArgs, RewriteArgs};
pub(crate) use report::{PageArgs, ReportArgs};
pub(crate) use shared::{JsonArg, LimitArgs, ReadArgs, RuntimeArg, SearchArgs};
pub(crate) use values::{Percent, TwoSizes};

use crate::size::Size;
use clap::{Args, Parser, Subcommand};
use serenity::off_chip::Grain;
use serenity::placement::Planner;
use serenity::{Engine, Objective};
use std::path::PathBuf;
use std::time::Duration;
use values::{named, seconds, tolerance, two_memories};

/// Run a neural network in the least memory.
#[derive(Parser)]
#[command(
    name = "serenity",
    version,
    max_term_width = 100,
    arg_required_else_help = true,
    after_help = "INPUT is a .tflite or .onnx model, a .json graph, `-` for a graph on standard input, or `zoo:NAME` for a built-in network.\n\
        Sizes are written 250000, 250KB (1000) or 250KiB (1024).\n\n\
        Start with:\n  \
        serenity optimize model.tflite -o smaller.tflite   the main job\n  \
        serenity optimize zoo:swiftnet            the same on a built-in network\n  \
        serenity inspect zoo:swiftnet-a           what it needs now, and who is alive at the peak\n  \
        serenity report model.tflite -o page.html the same as a page, before and after\n  \
        serenity place model.tflite               where its tensors lie, proved or as a runtime does it\n  \
        serenity zoo list                         all built-in networks\n\n\
        Exit codes: 0 done, 1 a condition you asked for is not met (a budget, a check), 2 error."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    Optimize(OptimizeArgs),
    Inspect(InspectArgs),
    Schedule(ScheduleArgs),
    Place(PlaceArgs),
    Traffic(TrafficArgs),
    Sample(SampleArgs),
    Check(CheckArgs),
    Verify(VerifyArgs),
    Report(ReportArgs),
    Zoo(ZooArgs),
    Paper(PaperArgs),
    Schema(SchemaArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

impl Command {
    /// Is a program reading?
    pub(crate) fn wants_json(&self) -> bool {
        match self {
            Self::Optimize(args) => args.json.json,
            Self::Inspect(args) => args.json.json,
            Self::Schedule(args) => args.json.json,
            Self::Place(args) => args.json.json,
            Self::Traffic(args) => args.json.json,
            Self::Sample(args) => args.json.json,
            Self::Check(args) => args.json.json,
            Self::Verify(args) => args.json.json,
            Self::Report(args) => args.json.json,
            Self::Zoo(args) => match &args.command {
                ZooCommand::List { json } | ZooCommand::Export { json, .. } => json.json,
            },
            Self::Paper(args) => args.json.json,
            Self::Schema(_) | Self::Completions(_) | Self::Man(_) => false,
        }
    }

    /// What the command is about, as given, if it is about one thing.
    pub(crate) fn input(&self) -> Option<&str> {
        match self {
            Self::Optimize(args) => Some(&args.input),
            Self::Inspect(args) => Some(&args.input),
            Self::Place(args) => Some(&args.input),
            Self::Traffic(args) => Some(&args.input),
            Self::Sample(args) => Some(&args.input),
            Self::Check(args) => Some(&args.input),
            Self::Verify(args) => Some(&args.a),
            Self::Report(args) => Some(&args.input),
            Self::Zoo(args) => match &args.command {
                ZooCommand::List { .. } => None,
                ZooCommand::Export { name, .. } => Some(name),
            },
            Self::Schedule(_) | Self::Paper(_) | Self::Schema(_) | Self::Completions(_) | Self::Man(_) => {
                None
            }
        }
    }
}

/// Find the order that needs the least memory, and write the model in that order.
///
/// Prints what the network needs before and after, with the memory over time, and whether the result is proved to be the best possible.
/// The result is never worse than the order the model came with, and is checked by an independent verifier before it is written.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    serenity optimize model.tflite -o smaller.tflite\n  \
    serenity optimize model.tflite -o smaller.tflite --loops\n  \
    serenity optimize model.tflite -o smaller.tflite --loops --int8-io\n  \
    serenity optimize model.tflite -o smaller.tflite --runtime litert\n  \
    serenity optimize model.onnx -o smaller.onnx --shape input=1,3,224,224\n  \
    serenity optimize zoo:swiftnet --plan plan.json\n  \
    serenity optimize model.tflite -o smaller.tflite --emit-header arena.h\n  \
    serenity optimize model.tflite --memory fast=128KB,slow=8MB --plan plan.json\n  \
    serenity optimize model.tflite -o smaller.tflite --report page.html\n  \
    serenity optimize model.tflite --budget 250KB || echo 'does not fit'")]
pub(crate) struct OptimizeArgs {
    /// The model.
    pub(crate) input: String,
    /// Write the reordered model here: .tflite or .onnx if it came as one, .json for the graph alone, .dot for Graphviz.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<String>,
    /// Exit with 1, and say how many bytes are missing, if the result needs more than this: for a .tflite on TFLM the whole arena of a
    /// 32-bit device, otherwise the runtime's arena or the peak. With --loops, those are taken that multiply least of all that fit, and none if it
    /// fits without.
    #[arg(long, value_name = "SIZE")]
    pub(crate) budget: Option<Size>,
    /// Write the plan here: the order with its proof, for `serenity check` and for other tools.
    #[arg(long, value_name = "FILE.json")]
    pub(crate) plan: Option<String>,
    /// For TFLM: write a C header here, with the sizes of the arena and the place of every tensor, for a runtime of your own.
    #[arg(long, value_name = "FILE.h", conflicts_with = "no_plan")]
    pub(crate) emit_header: Option<String>,
    /// The device has two memories, the preferred one first: put the tensors that are touched most into that one.
    ///
    /// The places are told in the plan (--plan, --json) and in the header (--emit-header) only: a .tflite model cannot express them.
    #[arg(long, value_name = "NAME=SIZE,NAME=SIZE", value_parser = two_memories, conflicts_with = "loops")]
    pub(crate) memory: Option<TwoSizes>,
    #[command(flatten)]
    pub(crate) rewrite: RewriteArgs,
    #[command(flatten)]
    pub(crate) loops: LoopArgs,
    /// For a .tflite: let the model take and give the whole numbers that it works with, not floats.
    ///
    /// Many int8 models take floats, which a `QUANTIZE` turns into int8 first, and give floats, which a `DEQUANTIZE` makes at last. Such an input or output
    /// becomes the int8 tensor itself (or uint8, int16), and the conversion goes: floats are four times as large, and where they set the peak nothing else
    /// helps. It is another contract, so it is never made unasked: the application must fill the input with `q = round(real / scale) + zero_point`, clamped to
    /// the type, and read the output as `real = scale * (q - zero_point)`. Each change is listed with its scale and zero point, here, in the plan and in the header
    /// (--emit-header). From the same whole numbers the model computes the same, bit for bit.
    #[arg(long, conflicts_with = "fold_constants")]
    pub(crate) int8_io: bool,
    /// Keep the model's own order, that of its sub-graphs too; for TFLM only the places of the tensors are planned.
    ///
    /// A rewritten model is not the one that came: its ops run in the order that the rewriting gives them, each where the op stood
    /// that it was made of. Add --no-rewrite to keep the model's order exactly.
    #[arg(long, conflicts_with = "algorithm")]
    pub(crate) no_reorder: bool,
    /// For TFLM: leave the placement of tensors to the runtime. With --no-rewrite as well, operators are reordered and nothing else changes.
    ///
    /// Without this, a plan of the arena is written into the model, which a stock TFLM obeys: no fragmentation, and outputs written
    /// over inputs where the kernels allow it.
    #[arg(long)]
    pub(crate) no_plan: bool,
    #[command(flatten)]
    pub(crate) page: PageArgs,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    #[command(flatten)]
    pub(crate) runtime: RuntimeArg,
    #[command(flatten)]
    pub(crate) search: SearchArgs,
    #[command(flatten)]
    pub(crate) json: JsonArg,
}

/// Show what a model needs now, op by op, and who is alive at the peak.
#[derive(Args)]
pub(crate) struct InspectArgs {
    /// The model.
    pub(crate) input: String,
    /// List every op with the memory in use during and after it.
    #[arg(long)]
    pub(crate) steps: bool,
    /// Write the graph for Graphviz here.
    #[arg(long, value_name = "FILE.dot")]
    pub(crate) dot: Option<String>,
    /// Give up proving the least possible peak after so many seconds.
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    pub(crate) time_limit: Duration,
    /// The same when the tables of the search take this much memory.
    #[arg(long, value_name = "SIZE", default_value = "4GiB")]
    pub(crate) memory_limit: Size,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    #[command(flatten)]
    pub(crate) runtime: RuntimeArg,
    #[command(flatten)]
    pub(crate) json: JsonArg,
}

/// Compute an order, nothing else.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    serenity schedule zoo:darts-cell --algorithm dp\n  \
    serenity schedule graphs/*.json --json --time-limit 60 > schedules.jsonl")]
pub(crate) struct ScheduleArgs {
    /// The models.
    #[arg(required = true, value_name = "INPUT")]
    pub(crate) inputs: Vec<String>,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    #[command(flatten)]
    pub(crate) runtime: RuntimeArg,
    #[command(flatten)]
    pub(crate) search: SearchArgs,
    #[command(flatten)]
    pub(crate) json: JsonArg,
}

/// Give every tensor its place in one arena, or every buffer of a table.
///
/// For a model, the lifetimes are those of its own order under the memory model; a plan that it came with is not looked at. A table is what
/// minimalloc reads: comma-separated, its first line `id,lower,upper,size`, each buffer in use from `lower` up to but not including `upper`;
/// columns `alignment` and `offset` (where it must lie) may be there.
///
/// The exact planner proves its result; the others are those of the runtimes, byte for byte, and a hill climb to compare with. The order is
/// not changed: `serenity optimize` finds a better one.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    serenity place zoo:swiftnet-a\n  \
    serenity place model.tflite --planner tflm                 what the runtime's own planner does\n  \
    serenity place model.tflite --runtime tflm-planned         outputs written over inputs\n  \
    serenity place buffers.csv --capacity 1MiB -o placed.csv   as minimalloc\n  \
    serenity place model.tflite --capacity 64KiB || echo 'does not fit'")]
pub(crate) struct PlaceArgs {
    /// The model, or a table of buffers (.csv).
    #[arg(value_name = "INPUT|FILE.csv")]
    pub(crate) input: String,
    /// How to find the places.
    ///
    /// exact: a lowest placement, proved. tflm: TensorFlow Lite for Microcontrollers. litert: LiteRT. simple-arena: TensorFlow Lite until
    /// 2020. hill-climb: a search over orders, as in Vela and TVM.
    #[arg(long, value_name = "NAME", default_value_t, value_parser = named::<Planner>(Planner::all().map(|(name, _)| name)))]
    pub(crate) planner: Planner,
    /// Exit with 1, and say how many bytes are missing, if the arena is larger than this. A search ends as soon as it is met, or proved
    /// impossible.
    #[arg(long, value_name = "SIZE")]
    pub(crate) capacity: Option<Size>,
    /// Places are multiples of this many bytes [default: 16 for tflm, 64 for litert, otherwise 1].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1 << 30))]
    pub(crate) align: Option<u64>,
    /// Write the table with a column `offset` here.
    #[arg(short, long, value_name = "FILE.csv")]
    pub(crate) output: Option<String>,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    #[command(flatten)]
    pub(crate) runtime: RuntimeArg,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    #[command(flatten)]
    pub(crate) json: JsonArg,
}

/// Count the bytes moved between on-chip and off-chip memory, for the model's own order and for a better one.
///
/// Activations only. The first load of an input and one store of a result are compulsory and counted apart. Otherwise, what is dropped from
/// the chip and needed again costs a read, and a write too if its bytes are not off-chip already; what nobody needs again is dropped free. What
/// is kept is decided knowing the whole order: by the best plan found and, beside it, by Belady's rule (drop what is used again last), as in
/// the SERENITY paper. Zero means that everything fits.
///
/// `before` is the model's own order, `after` the order found, `bound` what any plan for the order `after` moves at least. Traffic never rises
/// from a size to a larger one.
///
/// In the JSON output, `before`, `after` and `bound` are bytes without the compulsory ones, and `details` tells reads and writes apart.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    serenity traffic zoo:swiftnet-a\n  \
    serenity traffic zoo:darts-cell --on-chip 256KiB --grain page\n  \
    serenity traffic model.tflite --on-chip 64KB,128KB --objective peak --json")]
pub(crate) struct TrafficArgs {
    /// The model.
    pub(crate) input: String,
    /// Sizes of the on-chip memory.
    #[arg(
        long,
        value_name = "SIZE,...",
        value_delimiter = ',',
        num_args = 1,
        default_value = "32KB,64KB,128KB,256KB,512KB"
    )]
    pub(crate) on_chip: Vec<Size>,
    /// What moves as one.
    ///
    /// tensor: whole tensors. An op whose tensors together exceed the on-chip memory streams them, and is named. page: pages of 1 KiB; every op
    /// streams page by page, which tells more where single ops exceed the memory.
    #[arg(long, value_name = "GRAIN", default_value_t, value_parser = named::<Grain>(Grain::all().map(|(name, _)| name)))]
    pub(crate) grain: Grain,
    /// What to search the order for.
    ///
    /// traffic: the fewest bytes moved, for each on-chip size by itself; never more than in the order of least peak, nor than in the model's own.
    /// peak: the least peak, one order for all sizes, as the SERENITY paper does.
    #[arg(long, value_name = "OBJECTIVE", default_value_t, value_parser = named::<Objective>(Objective::all().map(|(name, _)| name)))]
    pub(crate) objective: Objective,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    #[command(flatten)]
    pub(crate) runtime: RuntimeArg,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    #[command(flatten)]
    pub(crate) json: JsonArg,
}

/// Draw random orders, or count all, and show how their peaks are distributed.
///
/// Without --exact, an order is drawn by picking uniformly among the ops that can run next; that favours some orders over others. With
/// --exact, every order counts the same.
///
/// The orders are compared with the best one, which is searched for in whatever is left of the time limit. In the JSON output, a count is
/// a number if it is below 2^64 and a text of digits if not; `share_optimal` is null if the best order is not proved optimal; `stopped`
/// says which limit ended the drawing early.
#[derive(Args)]
pub(crate) struct SampleArgs {
    /// The model.
    pub(crate) input: String,
    /// How many orders to draw.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub(crate) count: u64,
    /// The share of orders that need no more than this.
    #[arg(long, value_name = "SIZE")]
    pub(crate) budget: Option<Size>,
    /// Count all orders instead of drawing some.
    #[arg(long, conflicts_with_all = ["count", "seed"])]
    pub(crate) exact: bool,
    /// Another seed draws other orders; the same seed draws the same on every machine.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    #[command(flatten)]
    pub(crate) runtime: RuntimeArg,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    #[command(flatten)]
    pub(crate) json: JsonArg,
}

/// Check a plan against its model, independently of whoever made it.
///
/// Is every op run once, after what it reads; is the peak right to the byte; does the bound fit? Exits with 1 if anything is wrong.
#[derive(Args)]
pub(crate) struct CheckArgs {
    /// What `optimize --plan` wrote, or `schedule --json` printed.
    #[arg(value_name = "PLAN.json")]
    pub(crate) plan: String,
    /// The model.
    pub(crate) input: String,
    /// If the plan carries no proof of its bound, prove it again by a search of the checker's own.
    #[arg(long)]
    pub(crate) deep: bool,
    /// Give up proving after so many seconds.
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds, requires = "deep")]
    pub(crate) time_limit: Duration,
    /// The same when the search takes about this much memory.
    #[arg(long, value_name = "SIZE", default_value = "2GiB", requires = "deep")]
    pub(crate) memory_limit: Size,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    #[command(flatten)]
    pub(crate) runtime: RuntimeArg,
    #[command(flatten)]
    pub(crate) json: JsonArg,
}

/// Run two models on the same inputs and compare every bit of their outputs.
///
/// First the inputs and outputs must agree in number, name, shape and type; only what `optimize --int8-io` makes of the first model may differ, and then the first gets
/// the floats that the whole numbers stand for, and the outputs are compared as floats. Then both models run on the same random inputs, every run two
/// invocations in a row, because wrong state and clobbered inputs show only in the second. Extents that a model leaves open are 1.
///
/// The models run in your own runtime, through Python: .tflite models in LiteRT (`ai_edge_litert`, `tflite_runtime` or `tensorflow`)
/// with its reference kernels and, unless the second has a plan of TFLM's arena, its optimised ones and XNNPACK, which round differently; and, if it is installed and takes them, in TensorFlow Lite for Microcontrollers (`tflite_micro`), which alone follows an
/// offline memory plan; .onnx models in ONNX Runtime (`onnxruntime`, its graph optimisation off). The first Python that can import the runtime
/// is used: `SERENITY_PYTHON` if set, otherwise the active virtual environment, .venv in this folder, python3, python. Nothing is installed.
///
/// Exits with 0 if the outputs are the same to the last bit, or within --tolerance; with 1 if not; with 2 if they could not be compared.
/// In the JSON output, `max_abs_difference` is null if values cannot be subtracted (a number against a NaN) or nothing was run.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    serenity verify net.tflite smaller.tflite\n  \
    serenity verify net.onnx smaller.onnx --runs 20 --tolerance 1e-5\n  \
    serenity verify net.tflite smaller.tflite --engine tflm --python ~/tflm/bin/python")]
pub(crate) struct VerifyArgs {
    /// A model, .tflite or .onnx.
    pub(crate) a: String,
    /// Another of the same format.
    pub(crate) b: String,
    /// How often to run both, with inputs of their own each time.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) runs: u32,
    /// Another seed draws other inputs; the same seed draws the same.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Accept differences up to this; 0 accepts only those that have no value, as between -0 and 0.
    #[arg(long, value_name = "T", value_parser = tolerance, allow_negative_numbers = true)]
    pub(crate) tolerance: Option<f64>,
    /// The runtime to ask [default: every one that is installed and takes the models].
    #[arg(long, value_name = "NAME", value_parser = named::<Engine>(Engine::all().map(|(name, _)| name)))]
    pub(crate) engine: Option<Engine>,
    /// The Python that has the runtime.
    #[arg(long, value_name = "PATH")]
    pub(crate) python: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) json: JsonArg,
}

/// The built-in networks.
#[derive(Args)]
pub(crate) struct ZooArgs {
    #[command(subcommand)]
    pub(crate) command: ZooCommand,
}

#[derive(Subcommand)]
pub(crate) enum ZooCommand {
    /// List the networks and their options.
    List {
        #[command(flatten)]
        json: JsonArg,
    },
    /// Write a network to a file.
    ///
    /// As a graph (.json, .dot) it is what the papers count and schedule. As a model (.tflite, .onnx) it is what runtimes execute: basic operators,
    /// with random weights that are always the same for one name.
    Export {
        /// Its name with options, as in `randwire-cifar10?seed=3&nodes=32`.
        name: String,
        /// Where to: .tflite or .onnx for a model with weights, .json for the graph, or .dot for Graphviz.
        #[arg(short, long, value_name = "FILE")]
        output: String,
        /// Quantise the model to 8-bit integers (.tflite only).
        #[arg(long)]
        int8: bool,
        #[command(flatten)]
        json: JsonArg,
    },
}

/// Recompute every table and figure of the SERENITY paper's evaluation.
///
/// Writes README.md with all tables and figures, each table as .csv and each figure as .svg. The same options give the same bytes on every
/// machine, but for scheduling times, which are in times.md, times-*.csv and times-*.svg. The paper's value stands beside each of ours, and
/// rows whose network is not public say `reconstruction`.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    serenity paper --out evaluation\n  \
    serenity paper --out evaluation --seeds 20 --orders 10000   a quick look")]
pub(crate) struct PaperArgs {
    /// The folder to write to; it is made if there is none.
    #[arg(long, value_name = "DIR", default_value = "paper")]
    pub(crate) out: String,
    /// How many RandWire networks to draw for each cell.
    #[arg(long, value_name = "N", default_value_t = serenity_paper::Options::default().seeds, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(crate) seeds: u64,
    /// How many random orders of SwiftNet cell A to draw.
    #[arg(long, value_name = "N", default_value_t = serenity_paper::Options::default().orders, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) orders: u64,
    /// Threads; the result does not depend on it.
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub(crate) threads: usize,
    #[command(flatten)]
    pub(crate) json: JsonArg,
}

/// Print the JSON Schema of what --json prints, and of plans.
///
/// Every output names its own in the field `schema`, as in `serenity.optimize/1`. Fields may be added in later versions; the number is raised if one
/// changes its meaning or goes away.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    serenity schema > serenity.schema.json\n  \
    serenity schema optimize")]
pub(crate) struct SchemaArgs {
    /// Only this one: the name of a command, or plan, error, zoo-list, zoo-export [default: all].
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
}

/// Print a completion script for a shell.
#[derive(Args)]
#[command(
    after_help = "Example:\n  serenity completions bash > ~/.local/share/bash-completion/completions/serenity"
)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    pub(crate) shell: clap_complete::Shell,
}

/// Write the man pages, one a command.
#[derive(Args)]
pub(crate) struct ManArgs {
    /// The folder to write them to.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) out: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definitions_are_consistent() {
        Cli::command().debug_assert();
    }
}
