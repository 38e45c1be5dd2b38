//! Arguments about what may be done to a model besides ordering it: rewrites and loops.

use super::RuntimeArg;
use super::values::{Percent, named, percent};
use crate::size::GivenSize;
use clap::Args;
use serenity::Rewrites;
use serenity::pipeline::Target;

/// What may be done to a model.
#[derive(Args)]
pub(crate) struct ChangeArgs {
    #[command(flatten)]
    pub(crate) rewrite: RewriteArgs,
    #[command(flatten)]
    pub(crate) loops: LoopArgs,
    /// For a .tflite: use int8 (uint8, int16) inputs and outputs instead of floats.
    ///
    /// Many int8 models begin with a `QUANTIZE` of a float input and end with a `DEQUANTIZE`. This removes both,
    /// because floats are four times as large. It changes the interface of the model, so it is never done unasked: the
    /// application must fill the input with `q = round(real / scale) + zero_point`, clamped to the type, and read the
    /// output as `real = scale * (q - zero_point)`. The report, the plan and the header (-o FILE.h) list scale and zero
    /// point of each. For equal integers the model computes equal outputs, bit for bit.
    #[arg(long)]
    pub(crate) int8_io: bool,
    /// For TFLM: leave the placement of tensors to the runtime. With --rewrite none, operators are reordered and
    /// nothing else changes.
    ///
    /// By default a memory plan is written into the model, which an unmodified TFLM obeys: no fragmentation, and
    /// outputs overwrite inputs where the kernels allow it.
    #[arg(long)]
    pub(crate) no_plan: bool,
}

impl ChangeArgs {
    /// What was said of the device and of changes to the model.
    pub(crate) fn target(&self, runtime: &RuntimeArg, budget: Option<GivenSize>) -> Target {
        Target {
            budget: budget.map(|budget| budget.bytes),
            rewrites: self.rewrite.said(),
            loops: self.loops.extra_macs(),
            int8_io: self.int8_io,
            ..runtime.target()
        }
    }
}

/// Whether operators are rewritten.
#[derive(Args)]
pub(crate) struct RewriteArgs {
    /// As --rewrite none.
    #[arg(long, hide = true)]
    pub(crate) no_rewrite: bool,
    /// As --rewrite exact.
    #[arg(long, hide = true, conflicts_with = "no_rewrite")]
    pub(crate) exact_rewrites: bool,
    /// As --rewrite approximate.
    #[arg(long, hide = true, conflicts_with_all = ["no_rewrite", "exact_rewrites"])]
    pub(crate) approximate_rewrites: bool,
    /// Replace operators by equivalent ones where that saves memory [default: all; constant-channels for a fast session
    /// of ONNX Runtime, and for LiteRT unless --kernels says reference].
    ///
    /// none: operators stay as they are. constant-channels: remove channels that are constant or never read. Operators
    /// get smaller, and nothing else changes. Also part of exact, all and approximate. exact: outputs stay the same bit
    /// for bit. paper: the two rules of the paper, wherever they fit. all: in float models, outputs may differ by
    /// rounding. approximate: also in int8 and int16 models. A convolution of a concatenation becomes a sum of
    /// convolutions of its pieces, and each partial result is rounded. The report bounds the error of each in
    /// quantisation steps; `serenity verify` measures the outputs. --loops often saves more and keeps every bit.
    ///
    /// The report lists every rewrite. In the fused kernels of a fast session only constant-channels keeps every bit.
    /// XNNPACK, LiteRT's default, keeps packed weights of every operator, so more operators may need more memory than
    /// rewriting saves.
    #[arg(long, value_name = "WHICH", conflicts_with_all = ["no_rewrite", "exact_rewrites", "approximate_rewrites"], value_parser = named::<Rewrites>(Rewrites::all().map(|(name, _)| name)))]
    pub(crate) rewrite: Option<Rewrites>,
}

impl RewriteArgs {
    /// The rewrites that were asked for.
    fn said(&self) -> Option<Rewrites> {
        match (self.no_rewrite, self.exact_rewrites, self.approximate_rewrites) {
            (true, ..) => Some(Rewrites::None),
            (_, true, _) => Some(Rewrites::Exact),
            (.., true) => Some(Rewrites::Approximate),
            _ => self.rewrite,
        }
    }
}

/// Whether windows of operators become loops.
#[derive(Args)]
pub(crate) struct LoopArgs {
    /// For a .tflite on TFLM: compute the widest parts of the model a few rows at a time, in loops.
    ///
    /// Consecutive convolutions, pools and element-wise operators run as one `WHILE` over stripes of rows, so that the
    /// tensors between them never exist as a whole. Outputs stay the same bit for bit, and the arena is often half as
    /// large. Rows that two stripes share are carried over or computed again. Loops cost some time and file size, and
    /// the application must register a few more operators, which the report lists: one is `DYNAMIC_UPDATE_SLICE`, which
    /// TFLM has since November 2025.
    ///
    /// PERCENT limits the extra multiply-accumulates (MACs): 0% allows only loops that compute nothing twice. Default: 10%.
    #[arg(long, value_name = "PERCENT", num_args = 0..=1, require_equals = true, default_missing_value = DEFAULT_PERCENT, value_parser = percent, conflicts_with = "no_plan")]
    pub(crate) loops: Option<Percent>,
    /// As --loops=PERCENT.
    #[arg(long, hide = true, value_name = "PERCENT", value_parser = percent, requires = "loops", allow_negative_numbers = true)]
    pub(crate) max_extra_macs: Option<Percent>,
}

/// How much more loops may multiply if --loops says nothing of it, as `Loops::default`.
const DEFAULT_PERCENT: &str = "10%";

impl LoopArgs {
    /// Were loops asked for?
    pub(crate) fn are_asked_for(&self) -> bool {
        self.loops.is_some()
    }

    /// How many times as many multiplications loops may add, if loops were asked for.
    pub(crate) fn extra_macs(&self) -> Option<f64> {
        self.max_extra_macs.or(self.loops).map(|Percent(share)| share)
    }

    /// As the user would type them again.
    pub(crate) fn as_typed(&self) -> String {
        match self.max_extra_macs.or(self.loops) {
            None => String::new(),
            Some(most) if most.to_string() == DEFAULT_PERCENT => " --loops".to_owned(),
            Some(most) => format!(" --loops={most}"),
        }
    }
}
