//! Checks what `optimize --json` says about devices, kernels and sessions. The pipeline's own code counts it again.

use super::verdict::Verdict;
use crate::account::Account;
use crate::{Input, Plan, PlanFile};
use serde_json::{Value, json};
use serenity_ir::Unknown;
use serenity_pipeline::Footprint;
use serenity_runtimes::main_graph;
use serenity_schedule::{Algorithm, Stats};
use serenity_search::{Proof, StopReason};

/// Fields that follow from the model and from the rest of the plan.
const FIELDS: [&str; 10] = [
    "needs",
    "fits",
    "missing",
    "boards",
    "by_kernels",
    "unsafe_kernels",
    "unsupported",
    "plan_fault",
    "plan_note",
    "session_options",
];

/// `input` is the model as it came, `planned` the model that the plan is for; the figures of the plan must have been
/// checked.
pub(super) fn check(input: &Input, planned: &Input, plan: &PlanFile, verdict: &mut Verdict) {
    if plan.fields.contains_key("code") {
        verdict.not_verified("code", "`serenity verify` compiles the code and compares what it computes");
    }
    let made: Vec<&str> = FIELDS.into_iter().filter(|field| plan.fields.contains_key(*field)).collect();
    if made.is_empty() {
        return;
    }
    let claimed = as_decided(planned, plan, verdict);
    let budget = plan.fields.get("budget").and_then(Value::as_u64);
    let is = json!(Account::new(input, planned, &claimed).stated(budget));
    for field in made {
        if plan.fields[field] == is[field] {
            verdict.verified(field, "counted again by the pipeline's own code");
        } else {
            verdict.refuted(field, format!("`{field}` is {}", is[field]));
        }
    }
}

/// The plan as if it had just been made, without a record of the search, which makes no difference here.
fn as_decided(planned: &Input, plan: &PlanFile, verdict: &Verdict) -> Plan {
    let graph = main_graph(planned.graphs(), &plan.bodies, verdict.model);
    let unknown: Vec<Unknown> = graph.unknown().to_vec();
    let after = Footprint { peak: plan.peak, arena: plan.arena, ops: planned.graph().ops().len() };
    Plan {
        graph: String::new(),
        model: verdict.model,
        algorithm: Algorithm::File,
        order: plan.order.clone(),
        steering: plan.file_order.clone(),
        bodies: plan.bodies.clone(),
        offsets: plan.offsets.clone(),
        int8_io: plan.int8_io.clone(),
        constant_channels: plan.constant_channels.clone(),
        rewrites: plan.rewrites.clone(),
        choice: None,
        loops: None,
        session: None,
        unknown,
        before: after,
        after,
        bound: plan.peak_bound,
        arena_bound: plan.arena.map(|_| plan.bound),
        proof: Proof::Gap { stopped: StopReason::Heuristic },
        places: None,
        interrupted: None,
        witness: None,
        stats: Stats::default(),
    }
}
