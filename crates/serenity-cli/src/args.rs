//! The command line: names, defaults and the help that teaches them. Completions and man pages come from the same definitions.

mod changes;
mod device;
mod diff;
mod emit;
mod fit;
mod groups;
mod inspect;
mod optimize;
mod report;
mod shared;
mod values;

pub(crate) use changes::ChangeArgs;
pub(crate) use device::DeviceArgs;
pub(crate) use diff::DiffArgs;
pub(crate) use emit::{EmitArgs, EmitCArgs, EmitCommand, Streaming};
pub(crate) use fit::FitArgs;
pub(crate) use groups::command;
pub(crate) use inspect::{InspectArgs, ScheduleArgs};
pub(crate) use optimize::OptimizeArgs;
pub(crate) use report::{PageArgs, ReportArgs};
pub(crate) use shared::{LimitArgs, ReadArgs, RuntimeArg, SearchArgs, TalkArgs};
pub(crate) use values::{Allowance, Percent, TwoSizes};

use crate::size::{GivenSize, Size};
use clap::{Args, Parser, Subcommand};
use serenity::Rewrites;
use serenity::arena::Planner;
use serenity::memories::Objective;
use serenity::traffic::Grain;
use serenity_verify::Engine;
use std::path::PathBuf;
use std::time::Duration;
use values::{allowance, named, seconds, threads, tolerance};

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
        serenity fit model.tflite --budget 64KiB  all ways to make it fit a device\n  \
        serenity optimize model.tflite -o smaller.tflite   an equivalent model that needs less RAM\n  \
        serenity optimize zoo:swiftnet            the same for a built-in network\n  \
        serenity inspect model.tflite             what the model needs now, and what fills it\n  \
        serenity report model.tflite -o page.html before and after as a page with pictures\n  \
        serenity diff old.tflite new.tflite       what changed between two models\n  \
        serenity emit c model.tflite -o DIR       the model as C, without an interpreter\n  \
        serenity device app.toml -o DIR           several models in the memories of one device\n  \
        serenity place model.tflite               an offset for every tensor, proved optimal\n  \
        serenity zoo list                         all built-in networks\n\n\
        Exit codes: 0 done, 1 a condition you asked for is not met (a budget, a check), 2 error."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
#[allow(clippy::large_enum_variant, reason = "there is one of them in a run")]
pub(crate) enum Command {
    Fit(FitArgs),
    Optimize(OptimizeArgs),
    Inspect(InspectArgs),
    Diff(DiffArgs),
    Schedule(ScheduleArgs),
    Place(PlaceArgs),
    Traffic(TrafficArgs),
    Sample(SampleArgs),
    Check(CheckArgs),
    Verify(VerifyArgs),
    Report(ReportArgs),
    Emit(EmitArgs),
    Device(DeviceArgs),
    Zoo(ZooArgs),
    Paper(PaperArgs),
    Schema(SchemaArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

impl Command {
    /// Output mode.
    pub(crate) fn talk(&self) -> TalkArgs {
        match self {
            Self::Fit(args) => args.talk,
            Self::Optimize(args) => args.talk,
            Self::Inspect(args) => args.talk,
            Self::Diff(args) => args.talk,
            Self::Schedule(args) => args.talk,
            Self::Place(args) => args.talk,
            Self::Traffic(args) => args.talk,
            Self::Sample(args) => args.talk,
            Self::Check(args) => args.talk,
            Self::Verify(args) => args.talk,
            Self::Report(args) => args.talk,
            Self::Emit(EmitArgs { command: EmitCommand::C(args) }) => args.talk,
            Self::Device(args) => args.talk,
            Self::Zoo(args) => match &args.command {
                ZooCommand::List { talk } | ZooCommand::Export { talk, .. } => *talk,
            },
            Self::Paper(args) => args.talk,
            Self::Schema(_) | Self::Completions(_) | Self::Man(_) => TalkArgs::default(),
        }
    }

    /// The input as given, if the command has exactly one.
    pub(crate) fn input(&self) -> Option<&str> {
        match self {
            Self::Fit(args) => Some(&args.input),
            Self::Diff(args) => Some(&args.old),
            Self::Place(args) => Some(&args.input),
            Self::Traffic(args) => Some(&args.input),
            Self::Sample(args) => Some(&args.input),
            Self::Check(args) => Some(&args.input),
            Self::Verify(args) => Some(&args.a),
            Self::Report(args) => Some(&args.input),
            Self::Emit(EmitArgs { command: EmitCommand::C(args) }) => Some(&args.input),
            Self::Device(args) => Some(&args.input),
            Self::Zoo(args) => match &args.command {
                ZooCommand::List { .. } => None,
                ZooCommand::Export { name, .. } => Some(name),
            },
            // Commands with several inputs report on each.
            Self::Optimize(_)
            | Self::Inspect(_)
            | Self::Schedule(_)
            | Self::Paper(_)
            | Self::Schema(_)
            | Self::Completions(_)
            | Self::Man(_) => None,
        }
    }
}

/// Place the tensors of a model, or the buffers of a table, in one arena.
///
/// For a model, lifetimes follow from its own order and the memory model; a plan stored in the model is ignored. A
/// table is a CSV file as minimalloc reads it: the first line is `id,lower,upper,size`, and each buffer is in use from
/// `lower` up to but not including `upper`. Columns `alignment` and `offset` (a fixed place) are optional.
///
/// The exact planner proves its result. The other planners reproduce those of the runtimes byte for byte, plus a hill
/// climb for comparison. The order stays as it is; `serenity optimize` finds a better one.
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
    /// The planner.
    ///
    /// exact: the lowest placement, with a proof. tflm: TensorFlow Lite for Microcontrollers. litert: LiteRT.
    /// simple-arena: TensorFlow Lite until
    /// 2020. hill-climb: a search over orders, as in Vela and TVM.
    #[arg(long, value_name = "NAME", default_value_t, value_parser = named::<Planner>(Planner::all().map(|(name, _)| name)))]
    pub(crate) planner: Planner,
    /// Exit with 1 if the arena is larger than this. The search ends as soon as it fits, or is proved impossible.
    #[arg(long, value_name = "SIZE")]
    pub(crate) capacity: Option<GivenSize>,
    /// Offsets are multiples of this many bytes [default: 16 for tflm, 64 for litert, otherwise 1].
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
    pub(crate) talk: TalkArgs,
}

/// Count the bytes moved between on-chip and off-chip memory, for the model's own order and for a better one.
///
/// Counts activations only. The first load of each input and one store of each result are compulsory and counted
/// separately. Evicting a tensor that is needed again costs a read, and a write if it is not off-chip yet; evicting a
/// tensor that is not needed again is free. Evictions are chosen knowing the whole order: by the best plan found and,
/// for comparison, by Belady's rule (evict what is used again last), as in the SERENITY paper. Zero means that
/// everything fits.
///
/// `before` is the model's own order, `after` the order found, `bound` a lower bound for the order `after`. More
/// on-chip memory never means more traffic.
///
/// In the JSON output, `before`, `after` and `bound` exclude compulsory traffic, and `details` separates reads and writes.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    serenity traffic zoo:swiftnet-a\n  \
    serenity traffic zoo:darts-cell --on-chip 256KiB --grain page\n  \
    serenity traffic zoo:darts-cell --on-chip 256KiB --grain page --objective peak --rewrite paper --before tflite   figure 11 of the SERENITY paper\n  \
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
    /// The unit of transfer.
    ///
    /// tensor: whole tensors. An op whose tensors together exceed the on-chip memory streams them, and is named. page:
    /// pages of 1 KiB; every op streams page by page, which tells more where single ops exceed the memory.
    #[arg(long, value_name = "GRAIN", default_value_t, value_parser = named::<Grain>(Grain::all().map(|(name, _)| name)))]
    pub(crate) grain: Grain,
    /// What to search the order for.
    ///
    /// traffic: the fewest bytes moved, for each on-chip size by itself; never more than in the order of least peak,
    /// nor than in the model's own. peak: the least peak, one order for all sizes, as the SERENITY paper does.
    #[arg(long, value_name = "OBJECTIVE", default_value_t, value_parser = named::<Objective>(Objective::all().map(|(name, _)| name)))]
    pub(crate) objective: Objective,
    /// Rewrite the model first, where it then needs less memory; `before` is the model as it came [default: none].
    #[arg(long, value_name = "WHICH", value_parser = named::<Rewrites>(Rewrites::all().map(|(name, _)| name)))]
    pub(crate) rewrite: Option<Rewrites>,
    /// What `before` is.
    ///
    /// file: the model in its own order. tflite: what the SERENITY paper compares with, Kahn's order with
    /// concatenations that copy.
    #[arg(long, value_name = "BASELINE", default_value_t, value_parser = named::<Baseline>(Baseline::all().map(|(name, _)| name)))]
    pub(crate) before: Baseline,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    #[command(flatten)]
    pub(crate) runtime: RuntimeArg,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    #[command(flatten)]
    pub(crate) talk: TalkArgs,
}

/// What traffic is compared with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Baseline {
    #[default]
    File,
    Tflite,
}

serenity::search::named! { "baseline": Baseline { "file" => File, "tflite" => Tflite } }

/// Show how the peaks of random orders, or of all orders, are distributed.
///
/// Without --exact, an order is drawn by picking uniformly among the ops that can run next; that favours some orders
/// over others. With --exact, every order is equally likely.
///
/// The orders are compared with the best one, which is searched for in whatever is left of the time limit. In the JSON
/// output, a count is a number if it is below 2^64 and a text of digits if not; `share_optimal` is null if the best
/// order is not proved optimal; `stopped` says which limit ended the drawing early.
#[derive(Args)]
pub(crate) struct SampleArgs {
    /// The model.
    pub(crate) input: String,
    /// How many orders to draw.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub(crate) count: u64,
    /// The share of orders that need no more than this.
    #[arg(long, value_name = "SIZE")]
    pub(crate) budget: Option<GivenSize>,
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
    pub(crate) talk: TalkArgs,
}

/// Check a plan against its model, independently of the code that made it.
///
/// Checks that every op runs once and after its inputs, that the peak is right to the byte, and that the bound holds.
/// Exits with 0 if every claim of the plan was verified, and with 1 if a claim was refuted or not verified. --deep
/// verifies more; --allow-unverified accepts claims that were not verified.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    serenity check plan.json net.tflite --deep\n  \
    serenity check plan.json net.tflite --allow-unverified\n  \
    serenity check plan.json net.tflite --allow-unverified optimality,bound")]
pub(crate) struct CheckArgs {
    /// What `optimize --plan` wrote, or `schedule --json` printed.
    #[arg(value_name = "PLAN.json")]
    pub(crate) plan: String,
    /// The model.
    pub(crate) input: String,
    /// Search again: if the plan carries no proof of its bound, the checker proves it by a search of its own; for
    /// rewrites and two memories, the pipeline's own search runs again and must find the same.
    #[arg(long)]
    pub(crate) deep: bool,
    /// Exit with 0 although these claims were not verified: fields of the plan, or all that are not verified if none are named.
    #[arg(long, value_name = "CLAIM,…", num_args = 0..=1, default_missing_value = "", value_parser = allowance)]
    pub(crate) allow_unverified: Option<Allowance>,
    /// Give up proving after this many seconds; on Linux and macOS, they must also have been spent on a processor.
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds, requires = "deep")]
    pub(crate) time_limit: Duration,
    /// Give up proving when the search takes about this much memory.
    #[arg(long, value_name = "SIZE", default_value = "2GiB", requires = "deep")]
    pub(crate) memory_limit: Size,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    #[command(flatten)]
    pub(crate) runtime: RuntimeArg,
    #[command(flatten)]
    pub(crate) talk: TalkArgs,
}

/// Run two models on the same inputs and compare every bit of their outputs.
///
/// First the inputs and outputs must agree in number, name, shape and type; only what `optimize --int8-io` makes of the
/// first model may differ, and then the first gets the floats that the whole numbers stand for, and the outputs are
/// compared as floats. Then both models run on the same random inputs, every run two invocations in a row, because
/// wrong state and clobbered inputs show only in the second. Extents that a model leaves open are 1.
///
/// The models run in your own runtime, through Python: .tflite models in LiteRT (`ai_edge_litert`, `tflite_runtime` or
/// `tensorflow`) with its reference kernels and, unless the second has a plan of TFLM's arena, its optimised ones and
/// XNNPACK, which round differently; and, if it is installed and takes them, in TensorFlow Lite for Microcontrollers
/// (`tflite_micro`), which alone follows an offline memory plan; .onnx models in ONNX Runtime (`onnxruntime`, its graph
/// optimisation off). The first Python that can import the runtime is used: `SERENITY_PYTHON` if set, otherwise the
/// active virtual environment, .venv in this folder, python3, python. Nothing is installed.
///
/// If the second is a folder, it holds the C that `serenity emit` wrote of the first: your compiler (`CC` and `CFLAGS`,
/// or --cc and --cflags) makes a program of it, and its outputs are compared with those of TensorFlow Lite for
/// Microcontrollers.
///
/// Exits with 0 if the outputs are the same to the last bit, or within --tolerance; with 1 if not; with 2 if they could
/// not be compared. In the JSON output, `max_abs_difference` is null if values cannot be subtracted (a number against a
/// NaN) or nothing was run.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    serenity verify net.tflite smaller.tflite\n  \
    serenity verify net.onnx smaller.onnx --runs 20 --tolerance 1e-5\n  \
    serenity verify net.tflite smaller.tflite --engine tflm --python ~/tflm/bin/python\n  \
    serenity verify net.tflite firmware/net --cc clang --cflags '-O3 -fsanitize=address,undefined'")]
pub(crate) struct VerifyArgs {
    /// A model, .tflite or .onnx.
    pub(crate) a: String,
    /// Another of the same format, or a folder with the C of the first.
    pub(crate) b: String,
    /// How many runs, each with new random inputs.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) runs: u32,
    /// Another seed draws other inputs; the same seed draws the same.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Accept differences up to this; 0 accepts only differences in bits, as between -0 and 0.
    #[arg(long, value_name = "T", value_parser = tolerance, allow_negative_numbers = true)]
    pub(crate) tolerance: Option<f64>,
    /// The runtime to ask [default: every one that is installed and takes the models].
    #[arg(long, value_name = "NAME", value_parser = named::<Engine>(Engine::all().map(|(name, _)| name)))]
    pub(crate) engine: Option<Engine>,
    /// The Python that has the runtime.
    #[arg(long, value_name = "PATH")]
    pub(crate) python: Option<PathBuf>,
    /// For C: the compiler [default: CC, or cc].
    #[arg(long, value_name = "COMMAND")]
    pub(crate) cc: Option<String>,
    /// For C: compiler flags [default: CFLAGS, or -O2].
    #[arg(long, value_name = "FLAGS", allow_hyphen_values = true)]
    pub(crate) cflags: Option<String>,
    /// For C: the command that runs the program, such as `qemu-arm -cpu cortex-m4`.
    #[arg(long, value_name = "COMMAND", allow_hyphen_values = true)]
    pub(crate) runner: Option<String>,
    #[command(flatten)]
    pub(crate) talk: TalkArgs,
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
        talk: TalkArgs,
    },
    /// Write a network to a file.
    ///
    /// As a graph (.json, .dot) it is what the papers count and schedule. As a model (.tflite, .onnx) it is what
    /// runtimes execute: basic operators, with random weights that are always the same for one name.
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
        talk: TalkArgs,
    },
}

/// Recompute every table and figure of the SERENITY paper's evaluation.
///
/// Writes README.md with all tables and figures, each table as .csv and each figure as .svg. The same options give the
/// same bytes on every machine, but for scheduling times, which are in times.md, times-*.csv and times-*.svg. The
/// paper's value stands beside each of ours, and rows whose network is not public say `reconstruction`.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    serenity paper --out evaluation\n  \
    serenity paper --out evaluation --seeds 20 --orders 10000   a quick look")]
pub(crate) struct PaperArgs {
    /// The folder to write to; created if needed.
    #[arg(long, value_name = "DIR", default_value = "paper")]
    pub(crate) out: String,
    /// How many RandWire networks to draw for each cell.
    #[arg(long, value_name = "N", default_value_t = serenity_paper::Options::default().seeds, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(crate) seeds: u64,
    /// How many random orders of SwiftNet cell A to draw.
    #[arg(long, value_name = "N", default_value_t = serenity_paper::Options::default().orders, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) orders: u64,
    /// Threads; the result does not depend on it.
    #[arg(long, value_name = "N", default_value = "2", value_parser = threads)]
    pub(crate) threads: usize,
    #[command(flatten)]
    pub(crate) talk: TalkArgs,
}

/// Print the JSON Schema of what --json prints, and of plans.
///
/// Every output names its own in the field `schema`, as in `serenity.optimize/1`. Fields may be added in later
/// versions; the number is raised if one changes its meaning or goes away.
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

/// Write the man pages, one per command.
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
