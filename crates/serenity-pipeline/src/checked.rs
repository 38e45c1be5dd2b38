//! Nothing leaves the pipeline that the independent checker does not accept.

use crate::Plan;
use serenity_check::{Fault, ModelClaim, Offsets as Places, check_model};
use serenity_ir::Graph;
use serenity_runtimes::Offsets;

/// What the independent checker finds wrong with a plan that was just made. `own` is the plan of the arena that the
/// model came with, if the model is kept as it is.
pub(crate) fn plan_faults(graphs: &[&Graph], plan: &Plan, own: Option<&Offsets>) -> Vec<Fault> {
    let ours = plan.offsets.as_ref().map(|offsets| Places { places: offsets, planned: true });
    let claim = ModelClaim {
        model: plan.model,
        order: &plan.order,
        file_order: plan.steering.as_deref(),
        bodies: &plan.bodies,
        offsets: ours.or(own.map(|offsets| Places { places: offsets, planned: false })),
        peak: plan.after.peak,
        peak_bound: plan.bound,
        arena: plan.after.arena,
        bound: plan.least(),
        optimal: plan.proof.is_optimal(),
        witness: plan.witness.as_ref(),
    };
    check_model(graphs, &claim).faults
}
