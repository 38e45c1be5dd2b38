//! A plan as JSON states it: in files and on standard output.

use crate::{AppliedLoops, AppliedRewrite, Decision, FastSession, NoFast, Plan, RewriteChoice};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serenity_check::Witness;
use serenity_formats::{NarrowedChannels, QuantizedIo};
use serenity_ir::{OpId, Unknown};
use serenity_runtimes::{Kernels, MemoryModel, Offsets, OrtOrder};
use serenity_schedule::{Algorithm, TriedBudget};
use serenity_search::{Proved, StopReason};

/// An order, what it needs, and what is proved about it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StatedPlan<'a> {
    /// The name of the graph; may be empty.
    pub graph: &'a str,
    /// The memory model.
    pub runtime: MemoryModel,
    /// For TFLM: the kernels that it is built with.
    pub kernels: Option<Kernels>,
    /// For `ort`: the order of the session.
    pub ort_order: Option<OrtOrder>,
    /// For `ort`: does the session give buffers to later tensors (`enable_mem_reuse`)?
    pub ort_reuse: Option<bool>,
    /// The algorithm that found the order; `file` if the model's own order is kept.
    pub algorithm: Algorithm,
    /// The number of ops of the main graph, after rewriting and with loops.
    pub ops: usize,
    /// The most memory in use at any time in this order.
    pub peak: u64,
    /// The runtime's arena for it: TFLM's head, LiteRT's span, what ONNX Runtime requests in its first run; null for a
    /// memory model that is no runtime.
    pub arena: Option<u64>,
    /// A lower bound on the need of every order: on its arena where there is one, otherwise on its peak.
    pub bound: u64,
    /// A lower bound on the peak of every order.
    pub peak_bound: u64,
    /// Is it proved that nothing needs less?
    pub proof: Proved,
    /// Why the search ended, if `proof` is `gap`.
    pub stopped: Option<String>,
    /// What is proved of each decision. `proof` is `optimal` only if all are.
    pub proofs: StatedProofs,
    /// Would another run give the same plan? False if the clock or Ctrl-C ended a search.
    pub reproducible: bool,
    /// What is not known of the model. If anything is, nothing is proved, and figures are minimums.
    pub unknown: &'a [Unknown],
    /// States that the search visited.
    pub states: u64,
    /// The number of ops in each piece that was scheduled on its own.
    pub pieces: &'a [usize],
    /// Every run of the paper's dynamic programming under a soft budget, in turn; empty for other algorithms.
    pub soft_budgets: &'a [TriedBudget],
    /// Wall-clock time.
    #[schemars(range(min = 0))]
    pub seconds: f64,
    /// For an .onnx that ONNX Runtime was to optimise first: how it did, or why it could not be asked; null otherwise.
    /// With a `fast` session all else is about the file that is written, but `before` is a default session of the
    /// original model.
    pub session: Option<StatedSession<'a>>,
    /// With --int8-io for a .tflite: the inputs and outputs that became integers; null without. If there are any, all
    /// else but `before` is about the model with these.
    pub int8_io: Option<&'a QuantizedIo>,
    /// Channels that are constant or never read, and were removed; null if there are none. If there are any, all else
    /// but `before` is about the model without them.
    pub constant_channels: Option<&'a NarrowedChannels>,
    /// The rewrites that were made. If there are any, all else but `before` is about the rewritten model.
    pub rewrites: &'a [AppliedRewrite],
    /// How the rewrites were chosen; null if there was no choice.
    pub rewrite_choice: Option<StatedChoice>,
    /// For TFLM with --loops: windows of ops that run as loops over stripes of rows; null if there are none. If there
    /// are any, all else but `before`, `rewrites` and `rewrite_choice` is about the model with loops.
    pub loops: Option<&'a AppliedLoops>,
    /// The ops in execution order, by their positions in the (rewritten) model.
    pub order: &'a [OpId],
    /// For `ort`: the order to write into the file so that it runs in `order`; null if that is the same.
    pub file_order: Option<&'a [OpId]>,
    /// The orders of the sub-graphs after the main one.
    pub bodies: &'a [Vec<OpId>],
    /// For a planned arena: the offset of each tensor of each graph, in bytes from the start of the head; null for
    /// tensors that take no room.
    pub offsets: Option<&'a Offsets>,
    /// A proof of `peak_bound`: while the op runs, at least one tensor of each chain is in use, whatever the order.
    pub witness: Option<&'a Witness>,
}

/// What is proved of each decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(!deny_unknown_fields)]
pub struct StatedProofs {
    /// Among all sets of the rewrites that the rules propose; missing if there was no choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "StatedProof")]
    pub rewrites: Option<StatedProof>,
    /// Among all orders of the rewritten model, with any offsets.
    #[schemars(with = "StatedProof")]
    pub order: Option<StatedProof>,
    /// Among all offsets for this order; missing if none were planned.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "StatedProof")]
    pub places: Option<StatedProof>,
}

/// What is proved of one decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatedProof {
    /// Is it proved that no other needs less?
    pub proof: Proved,
    /// Why the search ended, in one word; null if it is proved.
    #[serde(deserialize_with = "Option::deserialize")]
    pub stopped: Option<StopReason>,
    /// A lower bound on the need with any other.
    pub bound: u64,
}

/// The session of ONNX Runtime that a file is for.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(tag = "session", rename_all = "lowercase")]
pub enum StatedSession<'a> {
    /// ONNX Runtime has optimised the model.
    Fast {
        /// The version that optimised it.
        onnxruntime: &'a str,
        /// The bytes that the first run of a default session requests, as measured.
        default_requested: Option<u64>,
        /// Why that is not known; `before` is then a prediction.
        unmeasured: Option<&'a str>,
        /// The number of ops of the original model.
        nodes: usize,
        /// What was rewritten before, the same up to rounding.
        rewrites: &'a [String],
    },
    /// The model is only ordered.
    Plain {
        /// Why ONNX Runtime could not be asked.
        reason: String,
    },
}

/// How rewrites were chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StatedChoice {
    /// How many sets of rewrites were scheduled.
    pub sets: usize,
    /// Is it proved that no set is better?
    pub proved: bool,
    /// Why the search ended, in one word; null if it is proved.
    pub stopped: Option<StopReason>,
    /// What the best order needs without rewrites: in the arena if there is one.
    pub without: u64,
    /// What the best order needs with these rewrites.
    pub with: u64,
    /// A lower bound on the need with any set.
    pub floor: u64,
}

impl<'a> StatedPlan<'a> {
    /// A plan as JSON states it.
    pub fn of(plan: &'a Plan) -> Self {
        let mut proofs = StatedProofs::default();
        for (decision, proof, bound) in plan.decisions() {
            let entry = match decision {
                Decision::Rewrites => &mut proofs.rewrites,
                Decision::Order => &mut proofs.order,
                Decision::Places => &mut proofs.places,
            };
            *entry = Some(StatedProof { proof: proof.in_a_word(), stopped: proof.stopped(), bound });
        }
        Self {
            graph: &plan.graph,
            runtime: plan.model,
            kernels: plan.model.kernels(),
            ort_order: plan.model.ort_order(),
            ort_reuse: plan.model.ort().map(|setup| setup.reuse),
            algorithm: plan.algorithm,
            ops: plan.after.ops,
            peak: plan.after.peak,
            arena: plan.after.arena,
            bound: plan.least(),
            peak_bound: plan.bound,
            proof: plan.overall().in_a_word(),
            stopped: plan.stopped(),
            proofs,
            reproducible: plan.is_reproducible(),
            unknown: &plan.unknown,
            states: plan.stats.states,
            pieces: &plan.stats.pieces,
            soft_budgets: &plan.stats.soft_budgets,
            seconds: plan.stats.elapsed.as_secs_f64(),
            session: plan.session.as_ref().map(StatedSession::of),
            int8_io: plan.int8_io.as_ref(),
            constant_channels: plan.constant_channels.as_ref(),
            rewrites: &plan.rewrites,
            rewrite_choice: plan.choice.map(|choice| StatedChoice::of(choice, plan.unknown.is_empty())),
            loops: plan.loops.as_ref(),
            order: &plan.order,
            file_order: plan.steering.as_deref(),
            bodies: &plan.bodies,
            offsets: plan.offsets.as_ref(),
            witness: plan.witness.as_ref(),
        }
    }
}

impl StatedProofs {
    /// What is proved of a decision, if it is stated.
    pub fn of(&self, decision: Decision) -> Option<StatedProof> {
        match decision {
            Decision::Rewrites => self.rewrites,
            Decision::Order => self.order,
            Decision::Places => self.places,
        }
    }
}

impl<'a> StatedSession<'a> {
    fn of(session: &'a Result<FastSession, NoFast>) -> Self {
        match session {
            Ok(FastSession { version, measured, nodes, rewrites }) => Self::Fast {
                onnxruntime: version,
                default_requested: measured.as_ref().ok().copied(),
                unmeasured: measured.as_ref().err().map(String::as_str),
                nodes: *nodes,
                rewrites,
            },
            Err(why) => Self::Plain { reason: why.to_string() },
        }
    }
}

impl StatedChoice {
    /// A choice as JSON states it; nothing is proved of a model of which not everything is known.
    pub fn of(choice: RewriteChoice, is_known: bool) -> Self {
        let RewriteChoice { sets, without, with, floor, .. } = choice;
        let proved = choice.is_proved() && is_known;
        Self { sets, proved, stopped: choice.proof().stopped(), without, with, floor }
    }
}
