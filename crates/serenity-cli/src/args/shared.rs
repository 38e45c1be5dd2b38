//! Arguments that several commands share.

use super::values::{TimeLimit, kernels, named, soft_budget, step_limit, threads};
use crate::Failure;
use crate::failure::refuse;
use crate::size::Size;
use clap::Args;
use clap::builder::PossibleValuesParser;
use serenity::formats::GivenShape;
use serenity::pipeline::Target;
use serenity::pipeline::target::{KernelsName, OrtSession};
use serenity::runtimes::{MemoryModel, OrtOrder};
use serenity::schedule::{Algorithm, Rules, SoftBudget, StepLimit};
use serenity::{Effort, Format, Input, ReadOptions};

#[derive(Args)]
pub(crate) struct RuntimeArg {
    /// How the target runtime spends memory [default: tflm for .tflite, ort for .onnx, paper for zoo networks, plain for .json].
    ///
    /// plain: every tensor has its own buffer from its producer to its last reader. paper: as in the SERENITY paper, a
    /// concatenation is a view of its pieces and partial sums accumulate in place. tflm: TensorFlow Lite for
    /// Microcontrollers. litert: LiteRT (TensorFlow Lite) without a delegate. ort: ONNX Runtime on the CPU, its graph
    /// optimisation off.
    #[arg(long, value_name = "RUNTIME", value_parser = named::<MemoryModel>(MemoryModel::all().map(|(name, _)| name)))]
    pub(crate) runtime: Option<MemoryModel>,
    /// The kernels that TFLM is built with [default: any]. Kernel sets differ in scratch memory, and in how far an
    /// output may overwrite an input.
    ///
    /// any: safe with all of these except esp-nn-s3, and as large as the largest of TFLM's portable kernels and
    /// CMSIS-NN of 2026 and ESP-NN 1.0.0 to 1.2.3 in C; only element-wise operators work in place. reference: TFLM's
    /// portable kernels. cmsis-nn: Arm's, for cores with DSP instructions (Cortex-M4, M7, M33). cmsis-nn-mve: Arm's,
    /// for cores with vectors (Cortex-M55, M85). esp-nn: Espressif's in C (ESP32, C3). esp-nn-s3: Espressif's for the
    /// ESP32-S3, which need several times as much scratch; how much depends on the release of ESP-NN, which may follow,
    /// as in esp-nn-s3@1.1.2 [default: 1.2.3]. emitted: those of the C that `serenity emit` writes; emitted-cmsis-nn
    /// and emitted-cmsis-nn-mve: those with calls into CMSIS-NN. A plan for one set may compute wrong results with
    /// another; a plan for any is right with all of them.
    ///
    /// For LiteRT, only `reference` is modelled. builtin (its optimised kernels) and xnnpack need memory that cannot be
    /// predicted, and are refused.
    #[arg(long, value_name = "KERNELS", value_parser = kernels())]
    pub(crate) kernels: Option<KernelsName>,
    /// The order in which ONNX Runtime will run the model; the session decides [default: priority].
    ///
    /// priority: the order of the file, for sessions with `execution_order` set to `PRIORITY_BASED`. default: a walk
    /// backwards from the outputs, which the order of the file can only steer; for sessions that cannot be changed.
    #[arg(long, value_name = "ORDER", value_parser = named::<OrtOrder>(OrtOrder::all().map(|(name, _)| name)))]
    pub(crate) ort_order: Option<OrtOrder>,
    /// The session of ONNX Runtime that an .onnx model will run in [default: fast for optimize; for others what the
    /// file was made for, or plain].
    ///
    /// fast: `optimize` asks your own onnxruntime (found as for `verify`) to optimise the model first, as a default
    /// session does when it loads it, and orders what comes out; the session must then be made with graph optimisation
    /// off, `execution_order` `PRIORITY_BASED` and `enable_mem_reuse` off. Never more memory than a default session,
    /// and as fast. Without an onnxruntime, plain. plain: the model as it is, graph optimisation off.
    #[arg(long, value_name = "SESSION", value_parser = named::<OrtSession>(OrtSession::all().map(|(name, _)| name)))]
    pub(crate) ort_session: Option<OrtSession>,
}

impl RuntimeArg {
    /// The runtime as it was said.
    pub(crate) fn target(&self) -> Target {
        let Self { runtime, kernels, ort_order, ort_session } = *self;
        Target { runtime, kernels, ort_order, ort_session, ..Target::default() }
    }

    /// The memory model asked for, or else the one that fits the input.
    pub(crate) fn model(&self, input: &Input) -> Result<MemoryModel, Failure> {
        Ok(self.target().model(input)?)
    }
}

#[derive(Args)]
pub(crate) struct ReadArgs {
    /// Turn outputs of operators that read only constants into constants.
    ///
    /// In a .tflite, weights of 16-bit floats behind DEQUANTIZE become 32-bit floats: the same outputs, twice the
    /// flash, no RAM, and TFLM can run the model. Where more is left out (sparse weights behind DENSIFY, or in an
    /// .onnx), runtimes still compute and hold it: figures are then lower than what a device needs, and a .tflite
    /// cannot be written back. The memory models plain and paper never count them in an .onnx.
    #[arg(long)]
    pub(crate) fold_constants: bool,
    /// The shape of an input that an .onnx model leaves open, or of another tensor whose shape cannot be inferred, as in
    /// input=1,3,224,224; may be given several times.
    ///
    /// Where not even the type of its elements can be inferred, it may follow: output=1,64,56,56:float32.
    #[arg(long = "shape", value_name = "NAME=N,N,...", value_parser = str::parse::<GivenShape>)]
    pub(crate) shapes: Vec<GivenShape>,
}

impl ReadArgs {
    /// Reads a model that has operators, for `runtime` if one was asked for.
    pub(crate) fn load(&self, source: &str, runtime: Option<MemoryModel>) -> Result<Input, Failure> {
        let input = self.load_any(source, runtime)?;
        if input.graph().ops().is_empty() {
            return refuse(
                format!("`{source}` has no operators: there is nothing to schedule"),
                format!("`serenity inspect {source}` tells what a runtime needs for it"),
            );
        }
        Ok(input)
    }

    /// Reads a model, with operators or without, for `runtime` if one was asked for.
    pub(crate) fn load_any(&self, source: &str, runtime: Option<MemoryModel>) -> Result<Input, Failure> {
        let format = Format::of_path(source);
        if let (Some(shape), false) = (self.shapes.first(), format == Some(Format::Onnx)) {
            return refuse(
                format!("--shape {shape}: only .onnx models leave shapes open, and `{source}` is none"),
                "leave out --shape",
            );
        }
        let mut options = ReadOptions::default();
        options.fold_constants = self.fold_constants;
        options.model = runtime;
        Ok(serenity::load_with(source, &options.with_shapes(&self.shapes))?)
    }
}

#[derive(Args)]
pub(crate) struct SearchArgs {
    /// How to find the order.
    ///
    /// exact: the exact engine. dp: the paper's dynamic programming (its Algorithm 1). dp+dc: with divide-and-conquer
    /// at cut nodes. dp+asb: with adaptive soft budgeting (its Algorithm 2). dp+dc+asb: with both, the whole scheduler
    /// of the paper. These and exhaustive are exact: they prove their result. greedy, dfs, kahn, file are heuristics.
    #[arg(long, value_name = "NAME", default_value_t, value_parser = named::<Algorithm>(Algorithm::all().map(|(name, _)| name)))]
    pub(crate) algorithm: Algorithm,
    /// How much one search step of dp+asb and dp+dc+asb may cost before its budget is tightened, the paper's T: states
    /// (250000) or time (1s, 200ms).
    #[arg(long, value_name = "STATES|TIME", value_parser = step_limit)]
    pub(crate) step_limit: Option<StepLimit>,
    /// The paper's soft budget, above which dynamic programming drops partial schedules: a size, or the rule by which
    /// dp+asb and dp+dc+asb look for it [default: adaptive].
    ///
    /// adaptive: Algorithm 2 of the paper with a rule that always ends. printed: Algorithm 2 as printed, which may try
    /// the same budgets for ever; the search stops when they repeat, and says so. SIZE, also for dp and dp+dc: this
    /// budget and no other; `schedule` exits with 1 if no order keeps within it.
    #[arg(long, value_name = "SIZE|RULE", value_parser = soft_budget)]
    pub(crate) soft_budget: Option<SoftBudget>,
    /// Threads for the exact engine: 2 help on hard graphs. The answer does not depend on it.
    #[arg(long, value_name = "N", default_value = "1", value_parser = threads)]
    pub(crate) threads: usize,
    /// Turn off a rule of the exact engine, to see what it is worth; may be given several times.
    #[arg(long, value_name = "RULE", value_parser = PossibleValuesParser::new(Rules::names()))]
    pub(crate) without: Vec<String>,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
}

impl SearchArgs {
    /// The soft budget asked for, refused where the algorithm has none: nothing is ignored.
    pub(crate) fn soft_budget(&self) -> Result<SoftBudget, Failure> {
        let is_possible = match self.soft_budget {
            None => true,
            Some(SoftBudget::Fixed(_)) => self.algorithm.is_dynamic_programming(),
            Some(SoftBudget::Adaptive | SoftBudget::Printed) => self.algorithm.searches_budgets(),
        };
        let refused = || format!("--soft-budget: the algorithm `{}` has no such soft budget", self.algorithm);
        let remedy = "say --algorithm dp+dc+asb or dp+asb; a size goes with dp and dp+dc too";
        is_possible
            .then(|| self.soft_budget.unwrap_or_default())
            .ok_or_else(|| Failure::request(refused(), remedy))
    }
}

#[derive(Args)]
pub(crate) struct LimitArgs {
    /// Return the best so far, with its bound, after this many seconds; `none` for no limit. The seconds must have gone
    /// by, and on Linux and macOS also have been spent on a processor, so that a busy machine gives the same result. A
    /// safety net: searches end by counted work, and results cut short by the clock may differ from run to run.
    #[arg(long, value_name = "SECONDS", default_value = "300")]
    pub(crate) time_limit: TimeLimit,
    /// Multiply the counted work of every search by this.
    #[arg(long, value_name = "N", default_value_t)]
    pub(crate) effort: Effort,
    /// Return the best so far when the tables of the search reach this size.
    #[arg(long, value_name = "SIZE", default_value = "4GiB")]
    pub(crate) memory_limit: Size,
}

#[derive(Args, Clone, Copy, Default)]
pub(crate) struct TalkArgs {
    /// Print one JSON object on standard output (one per line for several inputs) and nothing else; `serenity schema`
    /// describes it. Errors are JSON objects too.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print nothing but errors, and what --json prints.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}
