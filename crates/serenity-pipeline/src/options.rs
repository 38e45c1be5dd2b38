//! What a caller may choose.

use crate::{Effort, Fast, Input, Loops};
use serenity_runtimes::{MemoryModel, Offsets};
use serenity_schedule::{Algorithm, Rules, SoftBudget, StepLimit};
use serenity_search::{Limits, Progress, ProgressFn};
use std::time::Duration;

/// Everything a caller may choose.
#[derive(Clone, Default)]
pub struct Options {
    /// How the runtime that will run the model spends memory.
    pub model: MemoryModel,
    /// How to find the order.
    pub algorithm: Algorithm,
    /// Adaptive soft budgeting's limit on one search step.
    pub step_limit: StepLimit,
    /// The budget of the paper's dynamic programming.
    pub soft_budget: SoftBudget,
    /// Which rules the exact engine uses.
    pub rules: Rules,
    /// Threads for the exact engine; the answer does not depend on it.
    pub threads: usize,
    /// How hard to try: every search of the pipeline ends by counted work.
    pub effort: Effort,
    /// When to give up proving and take the best so far. A deadline is a safety net: what it cuts may differ from run to run.
    pub limits: Limits,
    /// For TFLM: place the tensors too, with inputs and outputs that overlap where the kernels allow it, for a plan in the model.
    pub plan_arena: bool,
    /// For TFLM: the plan that the model came with.
    pub given_plan: Option<Offsets>,
    /// Which rewrites may be made.
    pub rewrites: Rewrites,
    /// For `.tflite`: whether inputs and outputs of floats become the whole numbers that the model would convert them to. Another contract for whoever runs it.
    pub int8_io: bool,
    /// For TFLM: whether windows of operators may become loops over a few rows at a time.
    pub loops: Option<Loops>,
    /// For ONNX Runtime in the order of the file: whether the user's own is asked to optimise the model first, so that what is planned is what a default session would run.
    pub fast: Option<Fast>,
    /// Called a few times a second with the state of the search.
    pub progress: Option<ProgressFn>,
}

/// Which operators may be replaced by others that compute the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rewrites {
    /// None.
    None,
    /// None, but channels that are the same number everywhere, or that nobody reads, are left out: operators stay, and get smaller.
    Channels,
    /// Where the results stay the same bit for bit.
    Exact,
    /// The two rules of the paper and no other, wherever they fit; in models of floats up to rounding, as with [`All`](Self::All).
    Paper,
    /// In models of floats also where they stay the same up to rounding.
    #[default]
    All,
    /// In models of whole numbers also where they do not stay the same: partial convolutions, which are rounded more than once. How far each may be off
    /// is known. Only for whoever asks for it.
    Approximate,
}

serenity_search::named! { "set of rewrites": Rewrites { "none" => None, "constant-channels" => Channels, "exact" => Exact, "paper" => Paper, "all" => All, "approximate" => Approximate } }

impl Options {
    /// What the command does by default: everything that makes this model need less where it is most likely to run.
    pub fn for_input(input: &Input) -> Self {
        Self { model: input.default_model, plan_arena: true, given_plan: input.plan(), ..Self::default() }
    }

    /// Tells whoever waits what begins now, where nothing else can be told of it.
    pub(crate) fn tell(&self, of: &'static str) {
        if let Some(progress) = &self.progress {
            progress(&Progress { best: u64::MAX, bound: 0, states: 0, of, elapsed: Duration::ZERO });
        }
    }
}

impl Rewrites {
    /// Those that are made if nothing is said of them. `LiteRT` hands a model to XNNPACK unless it is told otherwise, and that keeps packed weights of every operator, of which rewriting makes more: so
    /// none, unless other kernels are named.
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
