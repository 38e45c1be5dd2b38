//! Checks what a plan says about the choice of its rewrites.

use super::verdict::{Status, Verdict};
use crate::{Input, Optimized, Options, PlanFile, Rewrites};
use serenity_formats::QuantizedIo;
use serenity_pipeline::{RewriteChoice, StatedChoice, best_rewritten};
use serenity_rewrite::CANCELLED_TRANSPOSES;
use serenity_runtimes::{MemoryModel, MemoryModelExt};
use serenity_search::Limits;

/// Checks that the choice agrees with the rest of the plan.
pub(super) fn check(plan: &PlanFile, verdict: &mut Verdict) {
    match plan.rewrite_choice {
        None if plan.rewrites.is_empty() => {}
        None => verdict.no_claim("rewrite_choice", "the plan does not say how they were chosen"),
        Some((choice, proved)) => {
            for fault in faults(plan, choice, proved) {
                verdict.refuted("rewrite_choice", fault);
            }
        }
    }
}

/// Checks what other rewrites need. Only the search that made the plan can tell: with `deep` it runs again. `input` is
/// the model before it was rewritten.
pub(super) fn check_search(input: &Input, plan: &PlanFile, deep: Option<&Limits>, verdict: &mut Verdict) {
    let has_gains = plan.rewrites.iter().any(|rewrite| rewrite.gain.is_some());
    let claims = [(plan.rewrite_choice.is_some(), "rewrite_choice"), (has_gains, "gain")];
    let claims: Vec<&str> =
        claims.into_iter().filter_map(|(is_made, claim)| is_made.then_some(claim)).collect();
    if claims.is_empty() {
        return;
    }
    let model = verdict.model;
    let found = deep.map(|limits| {
        let mut levels = levels(plan, model).into_iter();
        levels.any(|rewrites| chooses_the_same(input, plan, model, rewrites, limits))
    });
    for claim in claims {
        match found {
            Some(true) => {
                verdict.verified(claim, "the pipeline's own search, run again, finds the same to the byte");
            }
            Some(false) => verdict.not_verified(
                claim,
                "the pipeline's own search, run again with the usual effort, ends with other rewrites or figures",
            ),
            None => verdict
                .not_verified(claim, "what other rewrites need rests on the search; --deep runs that again"),
        }
    }
    if plan.rewrite_choice.is_some() {
        qualify_optimality(found == Some(true), verdict);
    }
}

/// Limits what the checker has shown to these rewrites.
fn qualify_optimality(is_chosen_again: bool, verdict: &mut Verdict) {
    let proofs = verdict.claims.iter_mut().filter(|checked| checked.claim == "proof");
    for checked in proofs {
        if let Status::Verified { how } = &checked.status {
            checked.status = if is_chosen_again {
                Status::Verified {
                    how: format!("{how}; that no rewrites need less, the pipeline found again"),
                }
            } else {
                Status::NotVerified {
                    why: format!("{how}; but that no rewrites need less rests on the search"),
                }
            };
        }
    }
}

/// The disagreements between the choice and the rest of the plan.
fn faults(plan: &PlanFile, choice: RewriteChoice, proved: bool) -> Vec<String> {
    let needs = plan.arena.unwrap_or(plan.peak);
    let mut faults = Vec::new();
    // Loops come after the choice.
    if choice.with != needs && plan.loops.is_none() {
        faults.push(format!("`rewrite_choice.with` is {needs} bytes, not {}", choice.with));
    }
    let are_chosen = plan.rewrites.iter().any(|rewrite| rewrite.rule != CANCELLED_TRANSPOSES);
    if choice.with > choice.without || (choice.with == choice.without && are_chosen) {
        faults.push(format!("`rewrite_choice.without` must be above {} bytes", choice.with));
    }
    if choice.floor > choice.with {
        faults.push(format!("`rewrite_choice.floor` must not be above {} bytes", choice.with));
    }
    if choice.stopped.is_some() == choice.is_proved() {
        faults.push(
            "`rewrite_choice.stopped` must say why others may need less, and nothing if none do".to_owned(),
        );
    }
    let is_known = plan.unknown.as_ref().is_none_or(Vec::is_empty);
    if proved != (choice.is_proved() && is_known) {
        faults.push("`rewrite_choice.proved` does not agree with its `floor`".to_owned());
    }
    faults
}

/// The sets of rewrites that may have been allowed, the likeliest first: a plan does not say which.
fn levels(plan: &PlanFile, model: MemoryModel) -> Vec<Rewrites> {
    if plan.rewrites.iter().any(|rewrite| rewrite.error.is_some()) {
        return vec![Rewrites::Approximate];
    }
    let mut levels = vec![Rewrites::All];
    if plan.rewrites.iter().all(|rewrite| rewrite.exact) {
        levels.push(Rewrites::Exact);
    }
    if model.runtime().accumulates() || plan.rewrites.iter().all(|rewrite| rewrite.gain.is_none()) {
        levels.push(Rewrites::Paper);
    }
    levels.push(Rewrites::Approximate);
    levels
}

/// Does the search with these rewrites end with the rewrites and the figures of the plan?
fn chooses_the_same(
    input: &Input,
    plan: &PlanFile,
    model: MemoryModel,
    rewrites: Rewrites,
    limits: &Limits,
) -> bool {
    let is_as_it_came =
        plan.constant_channels.is_none() && plan.int8_io.as_ref().is_none_or(QuantizedIo::is_unchanged);
    let options = Options {
        model: model.without_plan(),
        plan_arena: model.is_planned() || model.kernels().is_none(),
        given_plan: input.plan().filter(|_| is_as_it_came),
        rewrites,
        limits: limits.clone(),
        ..Options::default()
    };
    let Ok(Optimized { plan: found, .. }) = best_rewritten(input, &options) else { return false };
    let stated = |choice| StatedChoice::of(choice, true);
    let said = plan.rewrite_choice.map(|(choice, _)| stated(choice));
    found.rewrites == plan.rewrites && (said.is_none() || found.choice.map(stated) == said)
}
