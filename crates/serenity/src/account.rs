//! The facts about an optimised model that every front end reports: the command, the page, and other languages.

use crate::boards::{Board, boards_that_fit};
use crate::{Format, Input, Plan};
use serde_json::{Value, json};
use serenity_ir::Profile;
use serenity_pipeline::peak;
use serenity_pipeline::{Footprint, Need, NeedWithKernels, kernels_to_avoid, needs_by_kernels};
use serenity_runtimes::{MemoryModel, MemoryModelExt, OrtOrder, Tail, Unsupported, main_graph, unsupported};

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
        let graph = main_graph(came.graphs(), &[], model);
        model.lifetimes(&graph).profile(&model.execution_order(&graph, &graph.file_order()))
    }

    /// Memory over time of the planned model. Values that a loop hands on lie in the same bytes and count once.
    pub fn profile_after(&self) -> Profile {
        let Plan { model, order, bodies, offsets, .. } = self.plan;
        peak::profile(self.planned.graphs(), (order, bodies), *model, offsets.as_ref())
    }

    /// The plan as a JSON object, with the need before and after, the boards that it fits, and what is required to run
    /// it.
    pub fn to_json(&self, budget: Option<u64>) -> Value {
        let Self { came, planned, plan, tails } = *self;
        let mut object = plan.to_json();
        object["before"] = footprint(plan.before, tails.map(|(before, _)| before));
        object["after"] = footprint(plan.after, tails.map(|(_, after)| after));
        let by_kernels = needs_by_kernels(planned, plan);
        if !by_kernels.is_empty() {
            object["by_kernels"] = by_kernels.into_iter().map(NeedWithKernels::to_json).collect();
        }
        if plan.model.kernels().is_some() {
            let avoid = kernels_to_avoid(planned, plan);
            object["unsafe_kernels"] = avoid.iter().map(ToString::to_string).collect();
        }
        object["unsupported"] = refused_to_json(came, plan.model);
        object["plan_fault"] = plan_fault(came, plan.model).into();
        object["plan_note"] = note_to_json(came, plan.model);
        object["needs"] = self.need().bytes.into();
        object["budget"] = budget.into();
        object["fits"] = budget.map(|budget| self.fits(budget)).into();
        object["missing"] = budget.and_then(|budget| self.missing(budget)).into();
        if let Some(options) = session_options(came, plan.model) {
            object["session_options"] = options;
        }
        if tails.is_some() && plan.counts_everything() {
            object["boards"] = self.boards(self.need().to_be_safe()).iter().map(|board| board.name).collect();
        }
        object
    }
}

fn footprint(footprint: Footprint, tail: Option<Tail>) -> Value {
    let total = tail.map(|tail| whole_to_json(&tail, footprint.needs()));
    json!({"peak": footprint.peak, "arena": footprint.arena, "total": total, "ops": footprint.ops})
}

/// TFLM's whole arena for a head of `head` bytes, as JSON.
pub fn whole_to_json(tail: &Tail, head: u64) -> Value {
    let needed = tail.needed(head);
    json!({"arm32": needed.arm32, "x86_64": needed.x86_64, "margin": tail.margin(head)})
}

/// The operators that TFLM refuses, each with the index of its graph. Empty for other runtimes and for models of other
/// formats.
pub fn refused_by_tflm(input: &Input, model: MemoryModel) -> Vec<(usize, Unsupported)> {
    if model.kernels().is_none() || input.file.format() != Format::TfLite {
        return Vec::new();
    }
    let of_graph = |(index, graph)| unsupported(graph).into_iter().map(move |refused| (index, refused));
    input.graphs().iter().enumerate().flat_map(of_graph).collect()
}

/// The operators that TFLM refuses, as JSON. Empty for other runtimes and for models of other formats.
pub fn refused_to_json(input: &Input, model: MemoryModel) -> Value {
    let of_op = |(graph, refused): &(usize, Unsupported)| {
        let name = input.graphs()[*graph].op_label(refused.op);
        json!({"graph": graph, "op": refused.op.0, "name": name, "reason": refused.reason})
    };
    refused_by_tflm(input, model).iter().map(of_op).collect()
}

/// Why the memory plan stored in a model is wrong for the TFLM kernels in question; `None` if it is right, or for other
/// runtimes.
pub fn plan_fault(input: &Input, model: MemoryModel) -> Option<String> {
    input.plan_fault(model.kernels()?)
}

/// The memory plan stored in a model, as JSON: for which kernels it was made, and whether those are the kernels in
/// question.
pub fn note_to_json(input: &Input, model: MemoryModel) -> Value {
    let Some(note) = input.plan_note() else { return Value::Null };
    let mut object = note.to_json();
    object["serves"] = model.kernels().and_then(|kernels| input.plan_serves(kernels)).into();
    object
}

/// The options of the session that the figures hold for; `None` if the model is for another runtime.
fn session_options(input: &Input, model: MemoryModel) -> Option<Value> {
    if input.file.format() != Format::Onnx {
        return None;
    }
    let setup = model.ort().unwrap_or_default();
    let execution_order = match setup.order {
        OrtOrder::Priority => "PRIORITY_BASED",
        OrtOrder::Default => "DEFAULT",
    };
    Some(json!({
        "graph_optimization_level": "ORT_DISABLE_ALL",
        "execution_order": execution_order,
        "enable_mem_reuse": setup.reuse,
        "enable_mem_pattern": false,
    }))
}
