//! Checks that the rewrites of a plan can be made and are as it says.

use super::choice;
use super::verdict::Verdict;
use crate::{Input, PlanFile, Rewrites};
use serenity_ir::Graph;
use serenity_pipeline::AppliedRewrite;
use serenity_pipeline::stages::rewrite::{
    cancelled_transposes, costs, possible_rewrites, rewrite_settings, rewrite_with_bounds,
};
use serenity_rewrite::{ErrorBounds, Patch, Settings, Sums, apply};
use serenity_runtimes::MemoryModel;

/// The model with the rewrites of the plan made again; `None` if they cannot be made, with the reason in the verdict.
pub(super) fn redo(input: &Input, plan: &PlanFile, verdict: &mut Verdict) -> Option<Input> {
    let mut current = input.clone();
    let (mut done, mut round) = (0, 0);
    while done < plan.rewrites.len() {
        let claimed: Vec<&AppliedRewrite> =
            plan.rewrites[done..].iter().take_while(|claimed| claimed.round == round).collect();
        if claimed.is_empty() {
            verdict.refuted("rewrites", "`rewrites` must come round by round, from round 0 on");
            return None;
        }
        done += claimed.len();
        round += 1;
        let patches = match find_again(&current, &claimed, verdict.model) {
            Ok(patches) => patches,
            Err(fault) => {
                verdict.refuted("rewrites", refusal(plan, &fault));
                return None;
            }
        };
        check_what_is_said(current.graph(), &claimed, &patches, verdict);
        current = match rewrite_with_bounds(&current, &patches, verdict.model) {
            Ok((next, bounds)) => {
                check_bounds(&claimed, &patches, &bounds, verdict);
                next
            }
            Err(error) => {
                verdict.refuted("rewrites", refusal(plan, &error.to_string()));
                return None;
            }
        };
    }
    if done > 0 {
        let exact = plan.rewrites.iter().filter(|rewrite| rewrite.exact).count();
        verdict.verified(
            "rewrites",
            format!(
                "{done} found and made again by the pipeline's own rules, {exact} of them exact; `serenity verify` runs both models and compares"
            ),
        );
    } else if plan.fields.contains_key("rewrites") {
        verdict.verified("rewrites", "none");
    }
    choice::check(plan, verdict);
    Some(current)
}

fn refusal(plan: &PlanFile, fault: &str) -> String {
    let count = plan.rewrites.len();
    let places = if count == 1 { "1 place".to_owned() } else { format!("{count} places") };
    format!(
        "the plan is for a model that was rewritten in {places}, and this one cannot be rewritten in the same ({fault}); check the plan with the \
         model that was optimised, not with the file that was written"
    )
}

fn find_again(input: &Input, claimed: &[&AppliedRewrite], model: MemoryModel) -> Result<Vec<Patch>, String> {
    // This set includes all rewrites that may have been asked for.
    let mut possible = possible_rewrites(input, model, Rewrites::Approximate);
    possible.extend(cancelled_transposes(input, model));
    let find = |claimed: &&AppliedRewrite| {
        let found = possible.iter().find(|patch| claimed.rule == patch.rule && claimed.ops == patch.ops());
        let found = found.ok_or_else(|| {
            let ops: Vec<String> = claimed.ops.iter().map(ToString::to_string).collect();
            format!("no `{}` at op {}", claimed.rule, ops.join(", "))
        })?;
        Ok(found.clone().with_order(claimed.order.clone()))
    };
    let patches = claimed.iter().map(find).collect::<Result<Vec<Patch>, String>>()?;
    let draft = Settings { sums: Sums::Draft, ..rewrite_settings(model, Rewrites::default()) };
    let draft = apply(input.graph(), &patches, &draft).map_err(|error| error.to_string())?;
    for (claimed, patch) in claimed.iter().zip(&patches) {
        let terms = draft.terms.get(&patch.op()).map_or(0, Vec::len);
        let mut sorted = claimed.order.clone();
        sorted.sort_unstable();
        let is_order = sorted.is_empty() || sorted == (0..terms).collect::<Vec<_>>();
        if !is_order || patch.order() != claimed.order {
            return Err(format!(
                "the `order` of `{}` must hold each of its {terms} terms once",
                claimed.rule
            ));
        }
    }
    Ok(patches)
}

/// Checks that each rewrite is what the plan says, at the stated cost.
fn check_what_is_said(graph: &Graph, claimed: &[&AppliedRewrite], patches: &[Patch], verdict: &mut Verdict) {
    let costs = costs(graph, patches, rewrite_settings(verdict.model, Rewrites::default()));
    for ((claimed, patch), cost) in claimed.iter().zip(patches).zip(costs) {
        let name = format!("the rewrite `{}` of op {}", claimed.rule, patch.op());
        if claimed.exact != patch.exact {
            let is = if patch.exact { "is exact" } else { "is not exact" };
            verdict.refuted("rewrites", format!("{name} {is}, the plan says otherwise"));
        }
        if claimed.rounds_in != patch.rounds_in {
            verdict.refuted("rewrites", format!("`rounds_in` of {name} is {:?}", patch.rounds_in));
        }
        if claimed.text != patch.identity {
            verdict.refuted("rewrites", format!("{name} is another: `{}`", patch.identity));
        }
        for (what, said, is) in [
            ("extra_ops", claimed.cost.ops, cost.ops),
            ("extra_weight_bytes", claimed.cost.weight_bytes, cost.weight_bytes),
            ("extra_additions", claimed.cost.additions, cost.additions),
        ] {
            if said != is {
                verdict.refuted("rewrites", format!("`{what}` of {name} is {is}, not {said}"));
            }
        }
    }
}

/// Checks the stated error of rewrites that round more than once.
fn check_bounds(claimed: &[&AppliedRewrite], patches: &[Patch], bounds: &ErrorBounds, verdict: &mut Verdict) {
    for (claimed, patch) in claimed.iter().zip(patches) {
        let bound = bounds.get(&patch.op()).copied();
        // Written as decimals and read again, so all digits are there.
        if claimed.error != bound {
            let is = bound.map_or("is not rounded more than once".to_owned(), |steps| {
                format!("may be off by {steps} steps")
            });
            let name = format!("the rewrite `{}` of op {}", claimed.rule, patch.op());
            verdict.refuted("rewrites", format!("{name} {is}, the plan says otherwise"));
        }
    }
}
