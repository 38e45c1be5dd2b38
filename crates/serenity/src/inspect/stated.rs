//! A model that was inspected, and how JSON states it.

use super::by_kernels::{NeedOfKernels, needs_of_kernels};
use super::{Inspection, inspect};
use crate::account::{
    Refused, StatedBudget, StatedNote, StatedVerdict, WholeArena, plan_fault, refused_by_tflm,
};
use crate::{Input, Options, Plan};
use schemars::JsonSchema;
use serde::Serialize;
use serenity_ir::{Buffer, BufferId, ElementType, Graph, Op, OpId, Step, TensorId};
use serenity_pipeline::{Error, Need, plan_graphs};
use serenity_runtimes::{Arena, Content, Kernels, MemoryModel, Tail};

/// A model, the memory that it needs as it is, and the best plan that keeps its operators.
#[derive(Clone, Debug)]
pub struct Inspected {
    /// The model.
    pub input: Input,
    /// The memory model.
    pub model: MemoryModel,
    /// The memory that it needs as it is.
    pub found: Inspection,
    /// The best that order and placement make of it.
    pub best: Plan,
}

impl Inspected {
    /// Inspects a model, and searches for the best order and placement.
    ///
    /// # Errors
    /// If the model cannot be planned.
    pub fn new(input: Input, options: &Options) -> Result<Self, Error> {
        let model = options.model;
        let found = inspect(input.graphs(), model, input.plan().as_ref());
        let best = plan_graphs(input.graphs(), options)?;
        Ok(Self { input, model, found, best })
    }

    /// Does every figure count all memory? If not, the figures are minimums.
    pub fn counts_everything(&self) -> bool {
        self.best.counts_everything()
    }

    /// The memory that a device must have for the model as it is.
    pub fn need(&self) -> Need {
        let head = self.found.arena.as_ref().map_or(self.found.profile.peak(), |arena| arena.bytes);
        Need::with(self.input.tail(self.model), head)
    }

    /// Why the memory plan that the model came with is wrong for the kernels in question; `None` if it is right.
    pub fn plan_fault(&self) -> Option<String> {
        plan_fault(&self.input, self.model)
    }

    /// Does the model as it is fit `budget` bytes?
    pub fn fits(&self, budget: u64) -> bool {
        self.best.fits(self.need(), budget) && self.plan_fault().is_none()
    }

    /// What TFLM needs with each set of kernels in question, in all versions of their libraries that are known. Empty
    /// for other runtimes.
    pub fn by_kernels(&self, budget: Option<u64>) -> Vec<NeedOfKernels> {
        let can_run = self.counts_everything() && refused_by_tflm(&self.input, self.model).is_empty();
        let fits = |kernels: Kernels, need: Need| {
            let is_right = || self.input.plan_fault(kernels.newest()).is_none();
            budget.map(|budget| can_run && need.to_be_safe() <= budget && is_right())
        };
        needs_of_kernels(&self.input, self.model, fits)
    }

    /// The inspection as JSON states it.
    pub fn stated(&self, budget: Option<u64>) -> StatedInspection<'_> {
        let Self { input, model, found, best } = self;
        let (model, graph, tail) = (*model, input.graph(), input.tail(*model));
        let step = |step: &Step| {
            let Op { name, kind, .. } = graph.op(step.op);
            StatedStep { op: step.op, name, r#type: kind.as_str(), during: step.during, after: step.after }
        };
        let alive = |&buffer: &BufferId| {
            let buffer = found.lifetimes.buffer(buffer);
            let tensor = buffer.tensors.first().map(|&tensor| graph.tensor(tensor));
            AliveBuffer {
                name: buffer_label(graph, buffer),
                bytes: buffer.bytes,
                shape: tensor.and_then(|tensor| tensor.shape.as_deref()),
                dtype: tensor.and_then(|tensor| tensor.dtype.as_ref()),
                tensors: &buffer.tensors,
            }
        };
        let (op, bytes) = found.max_op;
        // What does not run as it is planned does not fit, and no number of bytes would help.
        let has_size = self.counts_everything() && self.plan_fault().is_none();
        StatedInspection {
            graph: graph.name(),
            runtime: model,
            ops: graph.ops().len(),
            peak: found.profile.peak(),
            arena: found.arena.as_ref().map(|arena| arena.bytes),
            scratch: found.arena.as_ref().map(scratch_bytes),
            tail,
            total: found.arena.as_ref().zip(tail).map(|(arena, tail)| WholeArena::of(&tail, arena.bytes)),
            by_kernels: self.by_kernels(budget),
            unsupported: refused_by_tflm(input, model),
            plan_fault: self.plan_fault(),
            plan_note: StatedNote::of(input, model),
            max_op: (!graph.ops().is_empty()).then(|| LargestOp { op, name: graph.op_label(op), bytes }),
            best: best.after.peak,
            best_arena: best.after.arena,
            bound: best.bound,
            proof: StatedVerdict::of(best),
            fit: StatedBudget {
                budget,
                fits: budget.map(|budget| self.fits(budget)),
                missing: budget
                    .filter(|_| has_size)
                    .map(|budget| self.need().to_be_safe().saturating_sub(budget)),
            },
            peak_step: found.profile.peak_step(),
            steps: found.profile.steps.iter().map(step).collect(),
            alive_at_peak: found.alive_at_peak.iter().map(alive).collect(),
        }
    }
}

/// `serenity inspect`: what a model needs in its own order.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StatedInspection<'a> {
    /// The name of the graph; may be empty.
    pub graph: &'a str,
    /// The memory model.
    pub runtime: MemoryModel,
    /// The number of ops.
    pub ops: usize,
    /// The most memory in use at any time in the model's own order.
    pub peak: u64,
    /// The runtime's arena for the model as it is; null for a memory model that is no runtime.
    pub arena: Option<u64>,
    /// The most that one op needs besides its tensors.
    pub scratch: Option<u64>,
    /// For a .tflite on TFLM: what persists.
    pub tail: Option<Tail>,
    /// For a .tflite on TFLM: the whole arena, head and tail.
    pub total: Option<WholeArena>,
    /// For TFLM: the need with the kernels in every version of their library that is known; for any kernels, with every
    /// set. Empty for other runtimes.
    pub by_kernels: Vec<NeedOfKernels>,
    /// For a .tflite on TFLM: operators that it cannot run, whatever memory it gets.
    pub unsupported: Vec<Refused>,
    /// Why TFLM with these kernels cannot run the model with the memory plan that it came with, or may compute wrong
    /// results; null if neither is so.
    pub plan_fault: Option<String>,
    /// The note in the model about the memory plan that it came with; null if there is none.
    pub plan_note: Option<StatedNote>,
    /// The op that needs the most by itself; null if the model has no operators.
    pub max_op: Option<LargestOp>,
    /// The peak of the best order found.
    pub best: u64,
    /// The arena of the best order found.
    pub best_arena: Option<u64>,
    /// A lower bound on the peak of every order.
    pub bound: u64,
    /// What is proved of the best order.
    #[serde(flatten)]
    pub proof: StatedVerdict<'a>,
    /// Whether the budget is kept.
    #[serde(flatten)]
    pub fit: StatedBudget,
    /// The first step that reaches the peak, counted from 0.
    pub peak_step: usize,
    /// Each op in execution order.
    pub steps: Vec<StatedStep<'a>>,
    /// Buffers in use at `peak_step`, largest first.
    pub alive_at_peak: Vec<AliveBuffer<'a>>,
}

/// An op and what it needs.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LargestOp {
    /// The op.
    pub op: OpId,
    /// Its name.
    pub name: String,
    /// What it needs.
    pub bytes: u64,
}

/// An op as it runs.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StatedStep<'a> {
    /// The op.
    pub op: OpId,
    /// Its name, may be empty.
    pub name: &'a str,
    /// Its type, may be empty.
    pub r#type: &'a str,
    /// Bytes in use while it runs.
    pub during: u64,
    /// Bytes in use after it.
    pub after: u64,
}

/// A buffer in use at the peak.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AliveBuffer<'a> {
    /// The name of its first tensor, or of the op whose scratch it is.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// The shape of the first tensor.
    pub shape: Option<&'a [u64]>,
    /// The element type of the first tensor.
    #[schemars(with = "Option<String>")]
    pub dtype: Option<&'a ElementType>,
    /// All tensors that lie in it.
    pub tensors: &'a [TensorId],
}

/// The most scratch that one op has.
pub fn scratch_bytes(arena: &Arena) -> u64 {
    let mut by_op = std::collections::BTreeMap::new();
    for piece in &arena.pieces {
        if let Content::Scratch { graph, op } = piece.content {
            *by_op.entry((graph, op)).or_insert(0) += piece.bytes;
        }
    }
    by_op.into_values().max().unwrap_or(0)
}

/// What to call a buffer: the tensor that names it, or whose scratch it is.
pub(crate) fn buffer_label(graph: &Graph, buffer: &Buffer) -> String {
    match (buffer.tensors.first(), buffer.writers.first()) {
        (Some(&tensor), _) => graph.tensor_label(tensor),
        (None, Some(&op)) => format!("scratch of {}", graph.op_label(op)),
        (None, None) => "scratch".to_owned(),
    }
}
