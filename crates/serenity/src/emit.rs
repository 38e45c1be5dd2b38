//! A planned model as C.

use crate::loops::orders;
use crate::planning::is_safe;
use crate::{Error, Format, Input, Plan, ReadOptions, load_bytes, planned_model};
use serenity_emit::{Emitted, c_code};
use serenity_ir::Graph;
use serenity_runtimes::{Kernels, TflmFacts, plans_of_arena};
use serenity_search::Limits;

/// The work on places of a model that came with good ones: enough for all that small models need.
const WORK: u64 = 100_000;

/// The C of a model at the places of its plan, without an interpreter. All names in it begin with `prefix`.
///
/// # Errors
/// If the model has no places, or holds what is not covered; then there is nothing to write.
pub fn emit_c(input: &Input, plan: &Plan, prefix: &str) -> Result<Emitted, Error> {
    // As it would be written: what is emitted is what a file with this plan says.
    let bytes = planned_model(input, &placed(input, plan))?;
    let planned = load_bytes(&input.name, bytes, Format::TfLite, &ReadOptions::default())?;
    if planned.plan_serves(Kernels::Emitted) == Some(false) {
        let reason = "its places are for other kernels than those of emitted C".to_owned();
        return Err(Error::WrongPlan { reason });
    }
    let mut source =
        planned.file.source().map_err(|source| Error::File { path: input.name.clone(), source })?;
    crate::write::file_name(&input.name).clone_into(&mut source.about);
    c_code(&source, prefix).map_err(|source| Error::Emit { path: input.name.clone(), source })
}

/// The plan with places: where nothing was gained, it leaves them to the runtime.
fn placed(input: &Input, plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    if plan.offsets.is_some() || input.plan().is_some() {
        return plan;
    }
    let graphs: Vec<&Graph> = input.graphs().iter().collect();
    let facts = TflmFacts::new(&graphs, Kernels::Emitted);
    let limits = Limits::default().working(WORK);
    let found = plans_of_arena(&facts, &orders(&plan.order, &plan.bodies), limits).unwrap_or_default();
    let safe = found.into_iter().filter(|one| is_safe(input.graphs(), &one.offsets, Kernels::Emitted));
    plan.offsets = safe.min_by_key(|one| one.arena.bytes).map(|one| one.offsets);
    plan
}
