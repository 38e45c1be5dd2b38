//! Arguments about what may be done to a model besides ordering it: rewrites and loops.

use super::RuntimeArg;
use super::values::{Percent, named, percent};
use crate::size::Size;
use clap::Args;
use serenity::runtimes::MemoryModel;
use serenity::{Loops, Options, Rewrites};

/// What may be done to a model.
#[derive(Args)]
pub(crate) struct ChangeArgs {
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
    /// For TFLM: leave the placement of tensors to the runtime. With --no-rewrite as well, operators are reordered and nothing else changes.
    ///
    /// Without this, a plan of the arena is written into the model, which a stock TFLM obeys: no fragmentation, and outputs written
    /// over inputs where the kernels allow it.
    #[arg(long)]
    pub(crate) no_plan: bool,
}

impl ChangeArgs {
    /// These options with what may be done; with a budget, no more loops than are enough for it.
    pub(crate) fn with(
        &self,
        options: Options,
        model: MemoryModel,
        runtime: &RuntimeArg,
        budget: Option<Size>,
    ) -> Options {
        Options {
            model,
            plan_arena: !self.no_plan,
            rewrites: self.rewrite.on(model, runtime),
            int8_io: self.int8_io,
            loops: self.loops.within(budget),
            fast: runtime.fast(self.rewrite.before_fusing()),
            ..options
        }
    }
}

/// Whether operators are rewritten.
#[derive(Args)]
pub(crate) struct RewriteArgs {
    /// Do not rewrite operators.
    ///
    /// Without this, operators are replaced by others that compute the same where the model then needs less: bit for bit, or, in models of floats, up
    /// to rounding. Every rewrite is listed. Channels that are the same number everywhere, or that nobody reads, are left out.
    #[arg(long)]
    pub(crate) no_rewrite: bool,
    /// Rewrite operators only where the results stay the same bit for bit.
    #[arg(long, conflicts_with = "no_rewrite")]
    pub(crate) exact_rewrites: bool,
    /// Let partial convolutions of whole numbers round more than once: the results are not the same any more.
    ///
    /// A convolution of a concatenation is the sum of convolutions of its pieces. In a model of floats that is the same up to rounding, and made anyway; in an int8 or int16
    /// .tflite every partial result is rounded to whole numbers, so this must be asked for. Each gets a scale with which nothing is cut off, whatever the input, and the report says by how many steps
    /// of its scale each rewritten result may be off, from the same inputs. What that makes of the outputs depends on the model: `serenity verify` measures it. --loops often saves more, and keeps
    /// every bit.
    #[arg(long, conflicts_with_all = ["no_rewrite", "exact_rewrites"])]
    pub(crate) approximate_rewrites: bool,
    /// Which rewrites may be made: none (as --no-rewrite), constant-channels, exact (as --exact-rewrites), paper (the two rules of the paper, wherever they fit), all, or approximate (as --approximate-rewrites) [default: all; constant-channels for a fast session of ONNX Runtime, and for LiteRT unless --kernels says reference].
    ///
    /// constant-channels leaves out channels that are the same number everywhere, or that nobody reads: operators stay as they are and get smaller. All others but paper do that as well. In the fused kernels of a fast session no other rewrite keeps every bit: there, only `all` makes others. XNNPACK, which LiteRT uses by default, keeps packed weights of every
    /// operator: more of them may take more memory than rewriting saves.
    #[arg(long, value_name = "WHICH", conflicts_with_all = ["no_rewrite", "exact_rewrites", "approximate_rewrites"], value_parser = named::<Rewrites>(Rewrites::all().map(|(name, _)| name)))]
    pub(crate) rewrite: Option<Rewrites>,
}

impl RewriteArgs {
    /// Those that may be made for a runtime.
    pub(crate) fn on(&self, model: MemoryModel, runtime: &RuntimeArg) -> Rewrites {
        self.said().unwrap_or_else(|| Rewrites::if_unsaid(model, runtime.kernels.is_some()))
    }

    fn said(&self) -> Option<Rewrites> {
        match (self.no_rewrite, self.exact_rewrites, self.approximate_rewrites) {
            (true, ..) => Some(Rewrites::None),
            (_, true, _) => Some(Rewrites::Exact),
            (.., true) => Some(Rewrites::Approximate),
            _ => self.rewrite,
        }
    }

    /// Are there none because nothing was said of them?
    pub(crate) fn are_off_by_default(&self, model: MemoryModel, runtime: &RuntimeArg) -> bool {
        self.said().is_none() && self.on(model, runtime) == Rewrites::Channels
    }

    /// The same before ONNX Runtime optimises a model: only what was asked for by name.
    pub(crate) fn before_fusing(&self) -> Rewrites {
        self.rewrite.unwrap_or(Rewrites::None)
    }
}

/// Whether windows of operators become loops.
#[derive(Args)]
pub(crate) struct LoopArgs {
    /// For a .tflite on TFLM: compute the widest parts of the model a few rows at a time, in loops.
    ///
    /// Convolutions, pools and element-wise operators that follow each other run as one `WHILE` over stripes, so that tensors between them never exist as a
    /// whole. The results stay the same bit for bit, and the arena is often half as large; rows that stripes share are carried from one to the next, or
    /// computed again. It takes a little time and some bytes of the file, and the application must register a few operators more, which are listed:
    /// `DYNAMIC_UPDATE_SLICE` among them, which TFLM has since November 2025.
    #[arg(long, conflicts_with_all = ["no_plan", "fold_constants"])]
    pub(crate) loops: bool,
    /// Loops may take so many multiplications more: 0% allows those that compute nothing twice [default: 10%].
    #[arg(long, value_name = "PERCENT", value_parser = percent, requires = "loops", allow_negative_numbers = true)]
    pub(crate) max_extra_macs: Option<Percent>,
}

impl LoopArgs {
    /// Those that may be made; with a budget, no more than are enough for it.
    pub(crate) fn within(&self, budget: Option<Size>) -> Option<Loops> {
        let Loops { most_extra_macs, .. } = Loops::default();
        let most_extra_macs = self.max_extra_macs.map_or(most_extra_macs, |Percent(share)| share);
        self.loops.then_some(Loops { most_extra_macs, enough: budget.map(|Size(bytes)| bytes) })
    }

    /// As the user would type them again.
    pub(crate) fn as_typed(&self) -> String {
        let most = self.max_extra_macs.map_or_else(String::new, |most| format!(" --max-extra-macs {most}"));
        if self.loops { format!(" --loops{most}") } else { String::new() }
    }
}
