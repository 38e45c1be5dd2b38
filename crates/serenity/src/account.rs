//! The facts about an optimised model that every front end reports: the command, the page, and other languages.

use crate::boards::{Board, boards_that_fit};
use crate::{Format, Input, Plan};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serenity_formats::PlanNote;
use serenity_ir::{Graph, OpId, Profile, Unknown};
use serenity_pipeline::peak;
use serenity_pipeline::{Footprint, Need, NeedWithKernels, StatedPlan, kernels_to_avoid, needs_by_kernels};
use serenity_runtimes::{
    Kernels, MemoryModel, MemoryModelExt, OrtOrder, Tail, TflmArena, Unsupported, main_graph, unsupported,
};
use serenity_search::Proved;

/// A model as it came, as it is planned, and its plan.
#[derive(Clone, Debug)]
pub struct Account<'a> {
    /// The model as it came.
    pub came: &'a Input,
    /// The model that the plan is for: as it came, or rewritten.
    pub planned: &'a Input,
    /// The plan.
    pub plan: &'a Plan,
    /// What TFLM keeps in the arena besides the head, before and after. `None` if TFLM is not the target, or if the
    /// model lacks the tensors of its file.
    pub tails: Option<(Tail, Tail)>,
}

impl<'a> Account<'a> {
    /// The account of a model that came as `came` and is planned as `planned`.
    pub fn new(came: &'a Input, planned: &'a Input, plan: &'a Plan) -> Self {
        let tails = came.tail(plan.model).zip(planned.tail(plan.model));
        Self { came, planned, plan, tails }
    }

    /// The memory that a device had to have for the model as it came.
    pub fn needed(&self) -> Need {
        Need::with(self.tails.map(|(before, _)| before), self.plan.before.needs())
    }

    /// The memory that a device must have for the planned model.
    pub fn need(&self) -> Need {
        Need::of(self.planned, self.plan)
    }

    /// Does the planned model fit `budget` bytes? Not if it may need more than is known.
    pub fn fits(&self, budget: u64) -> bool {
        self.plan.fits(self.need(), budget)
    }

    /// How many bytes the planned model is over a budget; `None` if it may need more than is known.
    pub fn missing(&self, budget: u64) -> Option<u64> {
        self.plan.counts_everything().then(|| self.need().to_be_safe().saturating_sub(budget))
    }

    /// Boards with at least `bytes` of RAM. If the plan is for any kernels, a board whose own kernels need more must
    /// have that much.
    pub fn boards(&self, bytes: u64) -> Vec<Board> {
        if !refused_by_tflm(self.came, self.plan.model).is_empty() {
            return Vec::new();
        }
        let mut others = needs_by_kernels(self.planned, self.plan);
        others.retain(|need| !need.counted);
        boards_that_fit(bytes, &others)
    }

    /// Memory over time of the model as it came. For a default session of ONNX Runtime only the total is known, so this
    /// is then the planned model in its own order.
    pub fn profile_before(&self) -> Profile {
        let model = self.plan.model;
        let came = if matches!(self.plan.session, Some(Ok(_))) { self.planned } else { self.came };
        let orders: Vec<Vec<OpId>> = came.graphs().iter().map(Graph::file_order).collect();
        let graph = main_graph(came.graphs(), &orders[1..], model);
        let order = model.execution_order(&graph, &orders[0]);
        peak::profile(came.graphs(), (&order, &orders[1..]), model, came.plan().as_ref())
    }

    /// Memory over time of the planned model. Values that a loop hands on lie in the same bytes and count once.
    pub fn profile_after(&self) -> Profile {
        let Plan { model, order, bodies, offsets, .. } = self.plan;
        peak::profile(self.planned.graphs(), (order, bodies), *model, offsets.as_ref())
    }

    /// The plan as JSON states it, with the need before and after, the boards that it fits, and what is required to
    /// run it.
    pub fn stated(&self, budget: Option<u64>) -> StatedAccount<'a> {
        let Self { came, planned, plan, tails } = *self;
        let boards = || self.boards(self.need().to_be_safe()).iter().map(|board| board.name).collect();
        StatedAccount {
            plan: StatedPlan::of(plan),
            before: StatedFootprint::of(plan.before, tails.map(|(before, _)| before)),
            after: StatedFootprint::of(plan.after, tails.map(|(_, after)| after)),
            by_kernels: needs_by_kernels(planned, plan),
            unsafe_kernels: plan.model.kernels().map(|_| kernels_to_avoid(planned, plan)),
            unsupported: refused_by_tflm(came, plan.model),
            plan_fault: plan_fault(came, plan.model),
            plan_note: StatedNote::of(came, plan.model),
            needs: self.need().bytes,
            budget,
            fits: budget.map(|budget| self.fits(budget)),
            missing: budget.and_then(|budget| self.missing(budget)),
            session_options: SessionOptions::of(came, plan.model),
            boards: (tails.is_some() && plan.counts_everything()).then(boards),
        }
    }
}

/// What `serenity optimize` reports about a model: its plan, and what follows from it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StatedAccount<'a> {
    /// The plan.
    #[serde(flatten)]
    pub plan: StatedPlan<'a>,
    /// The need of the model as it came.
    pub before: StatedFootprint,
    /// The need of the planned model.
    pub after: StatedFootprint,
    /// For TFLM: the need of the planned model with each set of kernels that the plan is for. A plan for any kernels
    /// also lists the sets that need too much to be counted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by_kernels: Vec<NeedWithKernels>,
    /// For TFLM: the sets of kernels with which the planned model may compute wrong results, because its tensors
    /// overlap where these kernels do not allow it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<Kernels>")]
    pub unsafe_kernels: Option<Vec<Kernels>>,
    /// For a .tflite on TFLM: operators that it cannot run, whatever memory it gets.
    pub unsupported: Vec<Refused>,
    /// Why TFLM with these kernels cannot run the model with the memory plan that it came with, or may compute wrong
    /// results; null if neither is so.
    pub plan_fault: Option<String>,
    /// The note in the model about the memory plan that it came with; null if there is none.
    pub plan_note: Option<StatedNote>,
    /// The memory that a device must have: for TFLM the whole arena on a 32-bit device where it is known, otherwise the
    /// need under the memory model. A budget must hold the margin too.
    pub needs: u64,
    /// The budget, as given by --budget.
    pub budget: Option<u64>,
    /// Is the need, with its margin, within the budget? Null without one.
    pub fits: Option<bool>,
    /// Bytes over the budget, 0 if it fits; null without one.
    pub missing: Option<u64>,
    /// For an .onnx: the options that the session of ONNX Runtime must get.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SessionOptions")]
    pub session_options: Option<SessionOptions>,
    /// For a .tflite on TFLM: boards whose RAM holds the whole arena of a 32-bit device.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>")]
    pub boards: Option<Vec<&'static str>>,
}

/// What is proved of an answer, and what stands in the way.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StatedVerdict<'a> {
    /// Is it proved that nothing needs less?
    pub proof: Proved,
    /// Why the search ended, if `proof` is `gap`.
    pub stopped: Option<String>,
    /// What is not known of the model. If anything is, nothing is proved, and figures are minimums.
    pub unknown: &'a [Unknown],
}

impl<'a> StatedVerdict<'a> {
    /// What is proved of a plan.
    pub fn of(plan: &'a Plan) -> Self {
        Self { proof: plan.overall().in_a_word(), stopped: plan.stopped(), unknown: &plan.unknown }
    }
}

/// Whether a budget is kept.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct StatedBudget {
    /// The budget, as given by --budget.
    pub budget: Option<u64>,
    /// Is the need, with its margin, within the budget? Null without one.
    pub fits: Option<bool>,
    /// Bytes over the budget, 0 if it fits; null without one, and if more bytes would not help.
    pub missing: Option<u64>,
}

/// What a model needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatedFootprint {
    /// The most memory in use at any time.
    pub peak: u64,
    /// The runtime's arena; null for a memory model that is no runtime.
    #[serde(deserialize_with = "Option::deserialize")]
    pub arena: Option<u64>,
    /// For a .tflite on TFLM: the whole arena, head and tail.
    #[serde(deserialize_with = "Option::deserialize")]
    pub total: Option<WholeArena>,
    /// The number of ops.
    pub ops: usize,
}

/// TFLM's whole arena, head and tail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WholeArena {
    /// On a 32-bit device: an estimate.
    pub arm32: u64,
    /// On a 64-bit computer.
    pub x86_64: u64,
    /// Bytes to add on a 32-bit device to be safe, because versions and compilers differ. A budget must hold them too.
    #[serde(default)]
    #[schemars(with = "u64")]
    pub margin: Option<u64>,
}

/// The note in a model about the memory plan that it came with.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StatedNote {
    /// The note.
    #[serde(flatten)]
    pub note: PlanNote,
    /// Is the plan safe with the kernels in question? Null if there are none.
    pub serves: Option<bool>,
}

/// An operator that TFLM refuses.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Refused {
    /// The index of its graph; 0 for the main graph.
    pub graph: usize,
    /// The operator.
    pub op: OpId,
    /// Its name.
    pub name: String,
    /// Why TFLM refuses it.
    pub reason: String,
}

/// The options of the ONNX Runtime session that the figures hold for.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct SessionOptions {
    /// `graph_optimization_level` of the session.
    pub graph_optimization_level: &'static str,
    /// `execution_order` of the session.
    pub execution_order: &'static str,
    /// `enable_mem_reuse` of the session.
    pub enable_mem_reuse: bool,
    /// `enable_mem_pattern` of the session, if every run is to need what the first one needs.
    pub enable_mem_pattern: bool,
}

impl StatedFootprint {
    fn of(footprint: Footprint, tail: Option<Tail>) -> Self {
        let Footprint { peak, arena, ops } = footprint;
        Self { peak, arena, total: tail.map(|tail| WholeArena::of(&tail, footprint.needs())), ops }
    }
}

impl WholeArena {
    /// TFLM's whole arena for a head of `head` bytes.
    pub fn of(tail: &Tail, head: u64) -> Self {
        let TflmArena { arm32, x86_64 } = tail.needed(head);
        Self { arm32, x86_64, margin: Some(tail.margin(head)) }
    }
}

impl StatedNote {
    /// The note in a model, and whether its memory plan is for the kernels in question; `None` if there is none.
    pub fn of(input: &Input, model: MemoryModel) -> Option<Self> {
        let serves = model.kernels().and_then(|kernels| input.plan_serves(kernels));
        input.plan_note().map(|note| Self { note, serves })
    }
}

impl SessionOptions {
    /// The options for a model; `None` if it is for another runtime.
    fn of(input: &Input, model: MemoryModel) -> Option<Self> {
        let setup = model.ort().unwrap_or_default();
        (input.file.format() == Format::Onnx).then_some(Self {
            graph_optimization_level: "ORT_DISABLE_ALL",
            execution_order: match setup.order {
                OrtOrder::Priority => "PRIORITY_BASED",
                OrtOrder::Default => "DEFAULT",
            },
            enable_mem_reuse: setup.reuse,
            enable_mem_pattern: false,
        })
    }
}

/// The operators that TFLM refuses. Empty for other runtimes and for models of other formats.
pub fn refused_by_tflm(input: &Input, model: MemoryModel) -> Vec<Refused> {
    if model.kernels().is_none() || input.file.format() != Format::TfLite {
        return Vec::new();
    }
    let of_graph = |(index, graph): (usize, &Graph)| {
        let refused =
            |Unsupported { op, reason }| Refused { graph: index, op, name: graph.op_label(op), reason };
        unsupported(graph).into_iter().map(refused).collect::<Vec<_>>()
    };
    input.graphs().iter().enumerate().flat_map(of_graph).collect()
}

/// Why the memory plan stored in a model is wrong for the TFLM kernels in question; `None` if it is right, or for other
/// runtimes.
pub fn plan_fault(input: &Input, model: MemoryModel) -> Option<String> {
    input.plan_fault(model.kernels()?)
}
