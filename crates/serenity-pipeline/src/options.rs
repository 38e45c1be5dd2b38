//! The options of the pipeline.

use crate::{Effort, Fast, Input, Loops};
use serenity_runtimes::{MemoryModel, Offsets};
use serenity_schedule::{Algorithm, Memo, Rules, SoftBudget, StepLimit};
use serenity_search::{Limits, Progress, ProgressFn};
use std::time::Duration;

/// The options of `optimize`.
#[derive(Clone, Default)]
pub struct Options {
    /// How the runtime that will run the model spends memory.
    pub model: MemoryModel,
    /// The algorithm that orders the operators.
    pub algorithm: Algorithm,
    /// Adaptive soft budgeting's limit on one search step.
    pub step_limit: StepLimit,
    /// The budget of the paper's dynamic programming.
    pub soft_budget: SoftBudget,
    /// The pruning rules of the exact engine that are on.
    pub rules: Rules,
    /// Threads for the exact engine; the answer does not depend on it.
    pub threads: usize,
    /// How hard to try: a factor on the counted work of every search.
    pub effort: Effort,
    /// When to give up proving and return the best plan so far. A deadline is a safety net: runs that it cuts short may
    /// differ.
    pub limits: Limits,
    /// For TFLM: also place the tensors, letting inputs and outputs overlap where the kernels allow it, and store that
    /// plan in the model.
    pub plan_arena: bool,
    /// For TFLM: the memory plan that is stored in the model.
    pub given_plan: Option<Offsets>,
    /// Which rewrites may be made.
    pub rewrites: Rewrites,
    /// For `.tflite`: replace float inputs and outputs that the model only converts by integers. This changes the
    /// interface of the model.
    pub int8_io: bool,
    /// For TFLM: whether windows of operators may become loops over a few rows at a time.
    pub loops: Option<Loops>,
    /// For ONNX Runtime in the order of the file: let the user's own ONNX Runtime optimise the model first, so that the
    /// plan is for what a default session runs.
    pub fast: Option<Fast>,
    /// Called a few times a second with the state of the search.
    pub progress: Option<ProgressFn>,
    /// Results for parts that the variants of a model have in common; `optimize` begins without any.
    pub memo: Memo,
}

/// Which operators may be replaced by others that compute the same. Each set includes the ones before it, except
/// [`Paper`](Self::Paper).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rewrites {
    /// No operator is replaced.
    None,
    /// Operators stay, but channels that are constant or never read are removed.
    Channels,
    /// Rewrites that keep the results bit for bit.
    Exact,
    /// Only the two rules of the paper, wherever they fit; in float models up to rounding, as with [`All`](Self::All).
    Paper,
    /// In float models also rewrites that keep the results up to rounding.
    #[default]
    All,
    /// In integer models also rewrites that round more than once (partial convolutions), each with a known error bound.
    /// Never the default.
    Approximate,
}

serenity_search::named! { "set of rewrites": Rewrites { "none" => None, "constant-channels" => Channels, "exact" => Exact, "paper" => Paper, "all" => All, "approximate" => Approximate } }

impl Options {
    /// The defaults of the command: everything that lowers the memory of this model on its most likely runtime.
    pub fn for_input(input: &Input) -> Self {
        Self { model: input.default_model, plan_arena: true, given_plan: input.plan(), ..Self::default() }
    }

    /// Reports the name of a step that begins now and has no other progress to report.
    pub(crate) fn tell(&self, of: &'static str) {
        if let Some(progress) = &self.progress {
            let (best, elapsed) = (u64::MAX, Duration::ZERO);
            progress(&Progress { best, bound: 0, states: 0, of, stage: "", elapsed });
        }
    }
}

impl Rewrites {
    /// The default rewrites for a memory model. None for `LiteRT`, unless kernels are named: it runs models on XNNPACK,
    /// which packs the weights of every operator, and rewriting makes more operators.
    pub fn if_unsaid(model: MemoryModel, are_kernels_named: bool) -> Self {
        if model == MemoryModel::Litert && !are_kernels_named { Self::Channels } else { Self::default() }
    }

    /// The largest set of rewrites that this one contains, if it is searched before this one.
    pub(crate) fn next_stricter(self) -> Option<Self> {
        self.and_stricter().iter().rev().nth(1).copied()
    }

    /// This set of rewrites and those that it contains, the strictest first: with more freedom, nothing ends worse.
    pub(crate) fn and_stricter(self) -> &'static [Self] {
        match self {
            Self::None | Self::Channels => &[],
            Self::Exact => &[Self::Exact],
            Self::Paper => &[Self::Paper],
            Self::All => &[Self::Exact, Self::All],
            Self::Approximate => &[Self::Exact, Self::All, Self::Approximate],
        }
    }
}
