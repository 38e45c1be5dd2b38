//! What changed between two models, or two releases of one: memory, flash, work, boards.
//!
//! Both models are compared as they are, in their own order and with their own memory plan. Nothing is searched, so
//! every figure is that of `serenity inspect`.

mod at_peak;
mod limits;

pub use at_peak::ChangedBuffer;
pub use limits::{Growth, Limits, StatedLimits};

use crate::account::{Refused, plan_fault, refused_by_tflm};
use crate::boards::boards_that_fit;
use crate::inspect::{Inspection, inspect};
use crate::{Error, Input};
use schemars::JsonSchema;
use serde::Serialize;
use serenity_ir::{Call, Graph, OpId, Operator, Unknown};
use serenity_pipeline::{Need, NeedWithKernels, Target, own_needs_by_kernels};
use serenity_runtimes::{Kernels, MemoryModel, main_graph};
use std::collections::BTreeSet;

/// What changed between two models.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Diff {
    /// The memory model.
    pub runtime: MemoryModel,
    /// For TFLM: the kernels.
    pub kernels: Option<Kernels>,
    /// The first model.
    pub before: Side,
    /// The second model.
    pub after: Side,
    /// For TFLM with any kernels: the need with each set of kernels.
    pub by_kernels: Vec<ChangedNeed>,
    /// The buffers in use at the peak of either model, those that changed most first. Buffers are paired by name.
    pub at_peak: Vec<ChangedBuffer>,
    /// Types of operators that only the second model has: an application must register them.
    pub new_operators: Vec<String>,
    /// Types of operators that only the first model has.
    pub lost_operators: Vec<String>,
    /// For a .tflite on TFLM: boards that hold the first model only; null if not all of the memory is known.
    pub boards_lost: Option<Vec<&'static str>>,
    /// For a .tflite on TFLM: boards that hold the second model only; null if not all of the memory is known.
    pub boards_gained: Option<Vec<&'static str>>,
    /// What was asked of the second model.
    #[serde(flatten)]
    pub limits: StatedLimits,
}

/// What one of two models needs.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Side {
    /// The number of ops.
    pub ops: usize,
    /// The most memory in use at any time.
    pub peak: u64,
    /// The runtime's arena; null for a memory model that is no runtime.
    pub arena: Option<u64>,
    /// The memory that a device must have: for TFLM the whole arena on a 32-bit device where it is known, otherwise the
    /// need under the memory model.
    pub needs: u64,
    /// Bytes to add because builds of TFLM differ.
    pub margin: u64,
    /// The op that runs at the peak; null if there is none.
    pub peak_op: Option<String>,
    /// Multiply-accumulates of convolutions and fully connected layers; null if operators run sub-graphs, how often is
    /// not known.
    pub macs: Option<u64>,
    /// Bytes of the model file; null for a graph without weights.
    pub flash: Option<u64>,
    /// For a .tflite on TFLM: operators that it cannot run, whatever memory it gets.
    pub unsupported: Vec<Refused>,
    /// Why TFLM with these kernels cannot run the model with its memory plan, or may compute wrong results; null if
    /// neither is so.
    pub plan_fault: Option<String>,
    /// What is not known of the model. If anything is, figures are minimums.
    pub unknown: Vec<Unknown>,
}

/// What two models need with one set of kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ChangedNeed {
    /// The set of kernels.
    pub kernels: Kernels,
    /// The need of the first model, without the margin.
    pub before: u64,
    /// The need of the second model, without the margin.
    pub after: u64,
    /// Does the need for any kernels cover this set?
    pub counted: bool,
}

/// A model that was looked at.
struct Seen<'a> {
    input: &'a Input,
    found: Inspection,
    side: Side,
    needs: Vec<NeedWithKernels>,
}

impl Side {
    /// Does every figure count all memory?
    pub fn counts_everything(&self) -> bool {
        !Unknown::any_hides_bytes(&self.unknown)
    }

    /// The memory that a device must have.
    pub fn need(&self) -> Need {
        Need { bytes: self.needs, margin: self.margin }
    }

    /// Can TFLM run the model, and is its memory plan right for the kernels?
    pub fn can_run(&self) -> bool {
        self.unsupported.is_empty() && self.plan_fault.is_none()
    }
}

/// Compares two models for the runtime that is asked for, or else the one that both have by default.
///
/// ```
/// use serenity::diff::{Limits, diff};
/// use serenity::pipeline::Target;
/// # fn main() -> Result<(), serenity::Error> {
/// let [old, new] = [serenity::load("zoo:swiftnet-b")?, serenity::load("zoo:swiftnet-a")?];
/// let found = diff(&old, &new, &Target::default(), &Limits::default())?;
/// assert_eq!((found.before.peak, found.after.peak), (84_672, 213_248));
/// # Ok(()) }
/// ```
///
/// # Errors
/// If a memory model cannot count the memory of a model, or if the models have different ones.
pub fn diff(old: &Input, new: &Input, target: &Target, limits: &Limits) -> Result<Diff, Error> {
    let (model, other) = (target.model(old)?, target.model(new)?);
    if other != model {
        let (old, new) = (&old.name, &new.name);
        let reason = format!("`{old}` is for memory model `{model}`, `{new}` for `{other}`");
        let remedy =
            format!("say which one both are compared for, as in {}", target.spelling.with("runtime", "tflm"));
        return Err(serenity_pipeline::Error::Unfit { reason, remedy }.into());
    }
    let [old, new] = [Seen::new(old, model)?, Seen::new(new, model)?];
    let by_kernels = changed_needs(&old.needs, &new.needs);
    let (before, after) = (old.boards(model), new.boards(model));
    let boards = before.zip(after);
    let only = |these: &[&'static str], others: &[&'static str]| -> Vec<&'static str> {
        these.iter().filter(|name| !others.contains(name)).copied().collect()
    };
    let (kinds, new_kinds) = (kinds(old.input), kinds(new.input));
    Ok(Diff {
        runtime: model,
        kernels: model.kernels(),
        at_peak: at_peak::changed([(old.input, &old.found), (new.input, &new.found)]),
        new_operators: new_kinds.difference(&kinds).cloned().collect(),
        lost_operators: kinds.difference(&new_kinds).cloned().collect(),
        boards_lost: boards.as_ref().map(|(before, after)| only(before, after)),
        boards_gained: boards.as_ref().map(|(before, after)| only(after, before)),
        limits: StatedLimits::of(limits, [&old.side, &new.side], &by_kernels),
        by_kernels,
        before: old.side,
        after: new.side,
    })
}

impl<'a> Seen<'a> {
    fn new(input: &'a Input, model: MemoryModel) -> Result<Self, Error> {
        input.can_be_counted(model)?;
        let found = inspect(input.graphs(), model, input.plan().as_ref());
        let graph = input.graph();
        let orders: Vec<Vec<OpId>> = input.graphs().iter().skip(1).map(Graph::file_order).collect();
        let head = found.arena.as_ref().map_or(found.profile.peak(), |arena| arena.bytes);
        let Need { bytes: needs, margin } = Need::with(input.tail(model), head);
        let peak_op = found.profile.steps.get(found.profile.peak_step());
        let file = input.file.format().has_weights().then(|| input.file.bytes().len() as u64);
        let side = Side {
            ops: graph.ops().len(),
            peak: found.profile.peak(),
            arena: found.arena.as_ref().map(|arena| arena.bytes),
            needs,
            margin,
            peak_op: peak_op.map(|step| graph.op_label(step.op)),
            macs: (input.graphs().len() == 1).then(|| macs(graph)),
            flash: file.filter(|_| !input.name.starts_with("zoo:")),
            unsupported: refused_by_tflm(input, model),
            plan_fault: plan_fault(input, model),
            unknown: main_graph(input.graphs(), &orders, model).unknown().to_vec(),
        };
        let needs = own_needs_by_kernels(input, model);
        Ok(Self { input, found, side, needs })
    }

    /// The boards that hold the model; `None` if TFLM is not the target, or if not all of the memory is known.
    fn boards(&self, model: MemoryModel) -> Option<Vec<&'static str>> {
        self.input.tail(model).filter(|_| self.side.counts_everything())?;
        if !self.side.can_run() {
            return Some(Vec::new());
        }
        let others: Vec<_> = self.needs.iter().filter(|need| !need.counted).copied().collect();
        let boards = boards_that_fit(self.side.need().to_be_safe(), &others);
        Some(boards.iter().map(|board| board.name).collect())
    }
}

/// The needs with each set of kernels. A single set is what the memory model names, and its need is stated anyway.
fn changed_needs(before: &[NeedWithKernels], after: &[NeedWithKernels]) -> Vec<ChangedNeed> {
    let pairs = before.iter().zip(after).filter(|_| before.len() > 1);
    let changed = |(before, after): (&NeedWithKernels, &NeedWithKernels)| ChangedNeed {
        kernels: before.kernels,
        before: before.whole(),
        after: after.whole(),
        counted: before.counted,
    };
    pairs.filter(|(before, after)| before.kernels == after.kernels).map(changed).collect()
}

/// The types of all operators.
fn kinds(input: &Input) -> BTreeSet<String> {
    let ops = input.graphs().iter().flat_map(Graph::ops);
    ops.map(|op| op.kind.as_str().to_owned()).filter(|kind| !kind.is_empty()).collect()
}

/// Multiply-accumulates of a graph.
pub(crate) fn macs(graph: &Graph) -> u64 {
    graph.op_ids().filter_map(|op| macs_of(graph, op)).fold(0, u64::saturating_add)
}

/// Each element of the result takes as many as its filter has elements.
fn macs_of(graph: &Graph, op: OpId) -> Option<u64> {
    let call = Call::new(graph, op);
    let filter = call.described(1)?;
    let filters = match call.operator() {
        Operator::CONV_2D | Operator::FULLY_CONNECTED | Operator::Conv => *filter.shape.first()?,
        Operator::DEPTHWISE_CONV_2D => filter.depth()?,
        _ => return None,
    };
    let taps = filter.elements()?.checked_div(filters)?;
    call.described_result(0)?.elements()?.checked_mul(taps)
}
