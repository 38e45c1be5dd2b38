//! `serenity check`: verifies every claim of a plan, refutes it, or says that it is not verified.

mod channels;
mod choice;
mod devices;
mod footprints;
mod int8_io;
mod loops;
mod memories;
mod proofs;
mod rewrites;
mod session;
mod target;
mod verdict;

pub use verdict::{CheckedClaim, NO_CLAIM, StatedVerdict, Status, Verdict};

use crate::{Input, PlanFile};
use serenity_check::{
    Fault, ModelClaim, ModelReport, Offsets as Places, Place, Reproved, Shown, arena, check_model,
    placement_faults, reprove_model,
};
use serenity_ir::{Graph, OpId};
use serenity_runtimes::{MemoryModel, Offsets};
use serenity_search::Limits;

/// How to check a plan.
#[derive(Clone, Debug, Default)]
pub struct CheckOptions {
    /// The memory model to check it for, whatever the plan says.
    pub model: Option<MemoryModel>,
    /// Search again within these limits: the checker for an order below the bound if no single op proves it, and the
    /// pipeline for rewrites and divisions.
    pub deep: Option<Limits>,
}

/// Checks the claims of a plan about a model.
///
/// The independent checker (`serenity-check`, which shares no code with the searches) recomputes orders, peaks, arenas,
/// offsets and bounds, and follows loops row by row. The pipeline's own code makes the planned model again: changed
/// inputs and outputs, fewer channels, rewrites, loops. It also counts what devices need and, with
/// [`deep`](CheckOptions::deep), repeats the searches for rewrites and for a division among two memories.
///
/// The verdict covers every field of the plan.
///
/// ```
/// use serenity::{Options, PlanFile, check_plan, load, optimize};
/// use serenity::plan_check::CheckOptions;
/// # fn main() -> Result<(), serenity::Error> {
/// let input = load("zoo:swiftnet-a")?;
/// let plan = optimize(&input, &Options::for_input(&input))?.plan;
/// let mut json = plan.to_json();
/// assert!(check_plan(&input, &PlanFile::from_json(&json).unwrap(), &CheckOptions::default()).is_valid());
/// json["peak"] = 1.into();
/// let verdict = check_plan(&input, &PlanFile::from_json(&json).unwrap(), &CheckOptions::default());
/// assert!(verdict.problems().any(|problem| problem.starts_with("the peak is ") && problem.ends_with(", not 1")));
/// # Ok(()) }
/// ```
pub fn check_plan(input: &Input, plan: &PlanFile, options: &CheckOptions) -> Verdict {
    let model = options.model.or(plan.model).unwrap_or(input.default_model);
    let mut verdict = Verdict::new(model);
    for (field, fault) in &plan.malformed {
        verdict.refuted(field, fault);
    }
    // Without these, nothing is known about the model that the other fields are about.
    if plan
        .malformed
        .iter()
        .any(|(field, _)| ["int8_io", "constant_channels", "rewrites", "loops"].contains(&field.as_str()))
    {
        return verdict;
    }
    let Some(interfaced) = int8_io::redo(input, plan, &mut verdict) else { return verdict };
    let Some(narrowed) = channels::redo(&interfaced, plan, &mut verdict) else { return verdict };
    let Some(rewritten) = rewrites::redo(&narrowed, plan, &mut verdict) else { return verdict };
    let looped = plan.loops.as_ref().map(|claimed| loops::redo(&rewritten, claimed, &mut verdict));
    let (planned, looped) = match looped {
        None => (rewritten.clone(), None),
        Some(Some(looped)) => (looped.model.clone(), Some(looped)),
        Some(None) => return verdict,
    };
    check_figures(&planned, plan, options.deep.as_ref(), &mut verdict);
    if let Some(looped) = &looped {
        loops::follow(&rewritten, looped, plan, &mut verdict);
    }
    footprints::check(input, &planned, plan, &mut verdict);
    proofs::check(&planned, plan, &mut verdict);
    target::check(plan, &mut verdict);
    session::check(input, plan, &mut verdict);
    if verdict.is_valid() {
        memories::check(&planned, plan, options.deep.as_ref(), &mut verdict);
        devices::check(input, &planned, plan, &mut verdict);
    }
    // Last, because it takes longest.
    if verdict.is_valid() {
        choice::check_search(&narrowed, plan, options.deep.as_ref(), &mut verdict);
        name_the_rest(plan, &mut verdict);
    }
    verdict
}

/// Every other field claims nothing, or is not verified: none is passed over in silence.
fn name_the_rest(plan: &PlanFile, verdict: &mut Verdict) {
    for field in plan.fields.keys().filter(|field| !field.is_empty()) {
        if let Some((_, what)) = NO_CLAIM.iter().find(|(name, _)| name == field) {
            verdict.no_claim(field, *what);
        } else if verdict.status(field).is_none() {
            verdict.not_verified(field, "this check does not know the field");
        }
    }
}

/// The memory plan stored in the model, if the pipeline would keep it: it ignores one that is not safe.
fn own_offsets(input: &Input, model: MemoryModel) -> Option<Offsets> {
    let own = input.plan()?;
    let Some(kernels) = model.kernels().filter(|_| model.is_planned()) else { return Some(own) };
    let orders: Vec<Vec<OpId>> = input.graphs().iter().map(Graph::file_order).collect();
    let orders: Vec<&[OpId]> = orders.iter().map(Vec::as_slice).collect();
    let graphs: Vec<&Graph> = input.graphs().iter().collect();
    placement_faults(&graphs, &orders, kernels, &own, u64::MAX).is_empty().then_some(own)
}

/// The memory plan that the file keeps, if nothing in it changes and it gives the stated arena.
fn kept_offsets(planned: &Input, plan: &PlanFile, model: MemoryModel) -> Option<Offsets> {
    let is_own = |(graph, order): (&Graph, &Vec<OpId>)| graph.file_order() == *order;
    let orders = || std::iter::once(&plan.order).chain(&plan.bodies);
    let is_kept = plan.rewrites.is_empty()
        && plan.loops.is_none()
        && orders().count() == planned.graphs().len()
        && planned.graphs().iter().zip(orders()).all(is_own);
    let own = own_offsets(planned, model).filter(|_| is_kept)?;
    let graphs: Vec<&Graph> = planned.graphs().iter().collect();
    let orders: Vec<&[OpId]> = orders().map(Vec::as_slice).collect();
    (arena(&graphs, &orders, model, Some(&own)) == plan.arena).then_some(own)
}

fn check_figures(planned: &Input, plan: &PlanFile, deep: Option<&Limits>, verdict: &mut Verdict) {
    let graphs: Vec<&Graph> = planned.graphs().iter().collect();
    let kept = if plan.offsets.is_none() { kept_offsets(planned, plan, verdict.model) } else { None };
    let offsets = plan.offsets.as_ref().map(|places| Places { places, planned: true });
    let claim = ModelClaim {
        model: verdict.model,
        order: &plan.order,
        file_order: plan.file_order.as_deref(),
        bodies: &plan.bodies,
        offsets: offsets.or(kept.as_ref().map(|places| Places { places, planned: false })),
        peak: plan.peak,
        peak_bound: plan.peak_bound,
        arena: plan.arena,
        bound: plan.bound,
        optimal: plan.optimal,
        witness: plan.witness.as_ref(),
    };
    let report = check_model(&graphs, &claim);
    let ops = graphs[0].ops().len() as u64;
    match plan.ops {
        Some(said) if said != ops => verdict.refuted("ops", format!("there are {ops} ops, not {said}")),
        Some(_) => verdict.verified("ops", format!("{ops} ops")),
        None => {}
    }
    for (graph, offsets) in graphs.iter().zip(plan.offsets.iter().flatten()) {
        for (tensor, _) in graph.tensor_ids().zip(offsets).filter(|(_, offset)| offset.is_some()) {
            if graph.tensor(tensor).bytes == 0 {
                let label = graph.tensor_label(tensor);
                verdict
                    .refuted("offsets", format!("tensor {tensor} (`{label}`) takes no room and has a place"));
            }
        }
    }
    for fault in &report.faults {
        verdict.refuted(claim_of(fault), fault.to_string());
    }
    if verdict.is_valid() {
        confirm(plan, &report, verdict);
        check_bounds(&graphs, plan, &claim, &report, deep, verdict);
    }
    verdict.shown_bound = report.shown_need.bytes;
    verdict.shown_reason = report.shown_need.place.to_string();
}

/// The field of a plan that a fault is about.
fn claim_of(fault: &Fault) -> &'static str {
    match fault {
        Fault::Order(_) | Fault::Stale { .. } | Fault::OtherOrder { .. } => "order",
        Fault::Bodies { .. } | Fault::BodyOrder { .. } => "bodies",
        Fault::Peak { .. } => "peak",
        Fault::Arena { .. } | Fault::NoArena { .. } | Fault::EndlessArena { .. } => "arena",
        Fault::Offsets { .. } | Fault::Placement(_) => "offsets",
        Fault::Loop(_) => "loops",
        Fault::Witness { .. } => "witness",
        Fault::BoundAbovePeak { .. } | Fault::BoundRefuted { .. } => "peak_bound",
        Fault::NotProved { .. } | Fault::ArenaNotProved { .. } => "proof",
        _ => "bound",
    }
}

/// Verifies the claims in which no fault was found.
fn confirm(plan: &PlanFile, report: &ModelReport, verdict: &mut Verdict) {
    let model = verdict.model;
    let has_arena = model.is_runtime();
    let follows = model.ort_order().is_some() && plan.arena.is_some();
    let order = if follows { "ONNX Runtime runs the file in this order" } else { "an order that can run" };
    verdict.verified("order", order);
    match &plan.file_order {
        Some(_) if follows => verdict.verified("file_order", "ONNX Runtime makes `order` of it"),
        Some(_) => {
            verdict.not_verified("file_order", "an order that can run, but no `arena` is stated for it");
        }
        None => {}
    }
    if plan.fields.contains_key("bodies") {
        let graphs = plan.bodies.len();
        verdict.verified("bodies", format!("orders in which {graphs} sub-graphs can run"));
    }
    verdict.verified("peak", format!("{} bytes", plan.peak));
    if let Some(arena) = plan.arena {
        verdict.verified("arena", format!("the runtime's planner, followed here, needs {arena} bytes"));
    } else if has_arena {
        verdict.no_claim("arena", "the plan states none");
    }
    if plan.offsets.is_some() {
        verdict.verified("offsets", "nothing is written over while it is needed");
    }
    if plan.witness.is_some() {
        verdict.verified("witness", format!("it proves {} bytes", report.shown.bytes));
    }
}

/// Checks the bounds: by one place in the order, by the witness, or by a search.
fn check_bounds(
    graphs: &[&Graph],
    plan: &PlanFile,
    claim: &ModelClaim,
    report: &ModelReport,
    deep: Option<&Limits>,
    verdict: &mut Verdict,
) {
    let is_plain_to_see = |verified: bool, place: &Place| {
        verified && !matches!(place, Place::Chains { .. } | Place::Cuts { .. })
    };
    let is_settled = is_plain_to_see(report.peak_bound_verified, &report.shown.place)
        && is_plain_to_see(report.bound_verified, &report.shown_need.place);
    if let Some(limits) = deep.filter(|_| !is_settled) {
        // A set of executed ops takes its bits twice (to do, and done) and some bookkeeping.
        let bytes_of_a_set = 2 * (graphs[0].ops().len() as u64 / 8 + 1) + 64;
        let most_states = limits.memory.unwrap_or(u64::MAX) / bytes_of_a_set;
        let proved = reprove_model(graphs, claim, most_states, &|| limits.interrupted().is_some());
        // With sub-graphs the search counts less than they need, so it refutes nothing.
        if proved.0 == Reproved::No && graphs.len() == 1 {
            let fault = Fault::BoundRefuted { bound: claim.peak_bound };
            verdict.refuted("peak_bound", fault.to_string());
            return;
        }
        verdict.deep = Some(proved);
    }
    let who = if claim.arena.is_some() { "no order and no plan" } else { "no order" };
    let state = |who: &str, verified: bool, bound: u64, shown: &Shown, deep: Option<Reproved>| match deep {
        Some(Reproved::Yes { states }) => Status::Verified { how: searched(states, bound) },
        _ if verified => {
            Status::Verified { how: format!("{who} needs less than {bound} bytes, because {}", shown.place) }
        }
        _ => Status::NotVerified {
            why: format!(
                "the plan claims that {who} needs less than {bound} bytes; by itself this check can only show {} ({})",
                shown.bytes, shown.place
            ),
        },
    };
    let (deep_peak, deep_need) = verdict.deep.unzip();
    let of_peak = state("no order", report.peak_bound_verified, claim.peak_bound, &report.shown, deep_peak);
    let of_need = state(who, report.bound_verified, claim.bound, &report.shown_need, deep_need);
    let optimality = match (&of_need, deep_need) {
        (Status::NotVerified { .. }, _) => Status::NotVerified {
            why: "the plan claims it, and nothing here confirms or refutes it".to_owned(),
        },
        (_, Some(Reproved::Yes { states })) => Status::Verified { how: searched(states, claim.bound) },
        _ => Status::Verified { how: format!("{who} needs less, because {}", report.shown_need.place) },
    };
    if !claim.optimal {
        verdict.no_claim("proof", "the plan calls nothing optimal");
    }
    let optimality = claim.optimal.then_some(optimality);
    let claims = [("bound", Some(of_need)), ("peak_bound", Some(of_peak)), ("proof", optimality)];
    for (claim, status) in claims {
        let is_made = claim != "peak_bound" || plan.fields.contains_key(claim);
        if let Some(status) = status.filter(|_| is_made) {
            verdict.claims.push(CheckedClaim { claim: claim.to_owned(), status });
        }
    }
}

fn searched(states: u64, bound: u64) -> String {
    format!("an independent search of {states} sets found no order below {bound} bytes")
}
