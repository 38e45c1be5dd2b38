//! Arguments about what may be done to a model besides ordering it: rewrites and loops.

use super::RuntimeArg;
use super::values::{Percent, named, percent};
use crate::size::Size;
use clap::Args;
use serenity::runtimes::MemoryModel;
use serenity::{Loops, Rewrites};

/// Whether operators are rewritten.
#[derive(Args)]
pub(crate) struct RewriteArgs {
    /// Do not rewrite operators.
    ///
    /// Without this, operators are replaced by others that compute the same where the model then needs less: bit for bit, or, in models of floats, up
    /// to rounding. Every rewrite is listed.
    #[arg(long)]
    pub(crate) no_rewrite: bool,
    /// Rewrite operators only where the results stay the same bit for bit.
    #[arg(long, conflicts_with = "no_rewrite")]
    pub(crate) exact_rewrites: bool,
    /// Which rewrites may be made: none (as --no-rewrite), exact (as --exact-rewrites) or all [default: all; none for a fast session of ONNX Runtime, and for LiteRT unless --kernels says reference].
    ///
    /// In the fused kernels of a fast session no rewrite keeps every bit: there, only `all` rewrites anything. XNNPACK, which LiteRT uses by default, keeps packed weights of every
    /// operator: more of them may take more memory than rewriting saves.
    #[arg(long, value_name = "WHICH", conflicts_with_all = ["no_rewrite", "exact_rewrites"], value_parser = named::<Rewrites>(Rewrites::all().map(|(name, _)| name)))]
    pub(crate) rewrite: Option<Rewrites>,
}

impl RewriteArgs {
    /// Those that may be made for a runtime.
    pub(crate) fn on(&self, model: MemoryModel, runtime: &RuntimeArg) -> Rewrites {
        self.said().unwrap_or_else(|| Rewrites::if_unsaid(model, runtime.kernels.is_some()))
    }

    fn said(&self) -> Option<Rewrites> {
        match (self.no_rewrite, self.exact_rewrites) {
            (true, _) => Some(Rewrites::None),
            (false, true) => Some(Rewrites::Exact),
            (false, false) => self.rewrite,
        }
    }

    /// Are there none because nothing was said of them?
    pub(crate) fn are_off_by_default(&self, model: MemoryModel, runtime: &RuntimeArg) -> bool {
        self.said().is_none() && self.on(model, runtime) == Rewrites::None
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
