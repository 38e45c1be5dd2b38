//! Checks that a plan calls proved only what its figures prove, and admits what is unknown.

use super::verdict::Verdict;
use crate::{Input, PlanFile};
use serde_json::json;
use serenity_pipeline::{Decision, StatedProof};
use serenity_runtimes::main_graph;
use serenity_search::Proved;

/// `planned` is the model that the plan is for.
pub(super) fn check(planned: &Input, plan: &PlanFile, verdict: &mut Verdict) {
    let is_known = check_unknown(planned, plan, verdict);
    let needs = plan.arena.unwrap_or(plan.peak);
    let choice = plan.rewrite_choice.map(|(choice, _)| choice);
    let order = (Decision::Order, is_known && needs <= plan.bound, plan.bound);
    let rewrites = choice.map(|choice| match plan.loops {
        None => (Decision::Rewrites, is_known && choice.is_proved(), choice.floor),
        // The rewrites were chosen for the model without loops.
        Some(_) => (Decision::Rewrites, false, plan.bound),
    });
    let proved: Vec<(Decision, bool, u64)> = rewrites.into_iter().chain([order]).collect();
    if plan.optimal
        && let Some((decision, ..)) = proved.iter().find(|(_, is_proved, _)| !is_proved)
    {
        let why = if is_known { "its figures do not prove it" } else { "something is unknown" };
        verdict.refuted("proof", format!("the plan is called optimal, but of its {} {why}", decision.name()));
    }
    let Some(claimed) = &plan.proofs else { return };
    let mut faults = Vec::new();
    for (decision, is_proved, bound) in proved {
        match claimed.of(decision) {
            None => faults.push(format!("`proofs.{}` is missing", decision.name())),
            Some(proof) => faults.extend(fault(decision, proof, is_proved, bound)),
        }
    }
    let stated = |(name, decision)| Some((name, decision, claimed.of(decision)?));
    let claimed: Vec<(&str, Decision, StatedProof)> = Decision::all().filter_map(stated).collect();
    for &(name, decision, proof) in &claimed {
        let is_optimal = proof.proof == Proved::Optimal;
        if is_optimal == proof.stopped.is_some() {
            faults
                .push(format!("`proofs.{name}.stopped` must say why, if it is not proved, and nothing else"));
        }
        match decision {
            Decision::Rewrites if choice.is_none() => {
                faults.push("`proofs.rewrites` speaks of a choice, and there was none".to_owned());
            }
            Decision::Places if plan.offsets.is_none() => {
                faults.push("`proofs.places` speaks of places, and none are planned".to_owned());
            }
            // More may be proved for one order than for all.
            Decision::Places => {
                let is_proved = is_optimal && is_known;
                let must_be = is_known && needs <= plan.bound;
                let bound = if is_optimal { needs } else { plan.bound };
                faults.extend(fault(decision, proof, is_proved || must_be, bound));
            }
            Decision::Rewrites | Decision::Order => {}
        }
    }
    let all = claimed.iter().all(|(.., proof)| proof.proof == Proved::Optimal);
    if faults.is_empty() && all != plan.optimal {
        faults.push("`proof` must be \"optimal\" if all of `proofs` are, and only then".to_owned());
    }
    if faults.is_empty() {
        verdict.verified("proofs", "they follow from the bounds that the plan states");
    }
    for fault in faults {
        verdict.refuted("proofs", fault);
    }
}

fn fault(decision: Decision, proof: StatedProof, is_proved: bool, bound: u64) -> Option<String> {
    let (name, is) = (decision.name(), Proved::if_so(is_proved));
    if proof.bound != bound {
        Some(format!("`proofs.{name}.bound` is {bound} by the rest of the plan, not {}", proof.bound))
    } else if proof.proof != is {
        Some(format!("`proofs.{name}.proof` is \"{}\" by the rest of the plan", is.name()))
    } else {
        None
    }
}

/// Is everything known about the model? Checks that the plan says so.
fn check_unknown(planned: &Input, plan: &PlanFile, verdict: &mut Verdict) -> bool {
    let fits = plan.bodies.len() + 1 == planned.graphs().len()
        && planned.graphs()[1..]
            .iter()
            .zip(&plan.bodies)
            .all(|(graph, order)| graph.check_order(order).is_ok());
    let bodies = if fits { &plan.bodies[..] } else { &[] };
    let graph = main_graph(planned.graphs(), bodies, verdict.model);
    let is: Vec<_> = graph.unknown().iter().map(|unknown| json!(unknown)).collect();
    match &plan.unknown {
        Some(said) if *said != is => {
            let [is, said] = [is.len(), said.len()];
            verdict.refuted(
                "unknown",
                format!("`unknown` is not what is unknown of the model: {is} entries, here {said}"),
            );
        }
        Some(_) => verdict
            .verified("unknown", format!("{} entries, found again by the pipeline's own code", is.len())),
        None => {}
    }
    is.is_empty()
}
