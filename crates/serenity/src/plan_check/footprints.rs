//! Checks what a plan says the model needs before and after.

use super::own_offsets;
use super::verdict::Verdict;
use crate::account::{StatedFootprint, WholeArena};
use crate::{Input, PlanFile};
use serenity_check::{arena, model_peak, ort_order};
use serenity_ir::{Graph, OpId};
use serenity_runtimes::MemoryModel;

/// `input` is the model as it came, `planned` the model that the plan is for.
pub(super) fn check(input: &Input, planned: &Input, plan: &PlanFile, verdict: &mut Verdict) {
    // The model came as another file, and ran in a default session.
    let is_fast = plan.fields.contains_key("session") && input.file.session().is_some();
    if is_fast && plan.before.is_some() {
        verdict.not_verified("before", "a default session of the model that the file was made of");
    } else if let Some(claimed) = plan.before {
        let is = before(input, plan, verdict.model);
        compare("before", claimed, is, "in the order of the model", verdict);
    }
    if let Some(claimed) = plan.after {
        let total = total(planned, verdict.model, plan.arena.unwrap_or(plan.peak));
        let ops = planned.graph().ops().len();
        let is = StatedFootprint { peak: plan.peak, arena: plan.arena, total, ops };
        compare("after", claimed, is, "the same figures as above", verdict);
    }
}

fn compare(field: &str, claimed: StatedFootprint, is: StatedFootprint, how: &str, verdict: &mut Verdict) {
    let number = |value: Option<u64>| value.map_or("null".to_owned(), |value| value.to_string());
    let whole = |value: Option<WholeArena>| {
        value.map_or("null".to_owned(), |WholeArena { arm32, x86_64, margin }| {
            // A margin that the plan does not state is not compared.
            let margin = margin.filter(|_| claimed.total.is_some_and(|total| total.margin.is_some()));
            let margin = margin.map_or_else(String::new, |margin| format!(", with a margin of {margin}"));
            format!("{arm32} on Arm and {x86_64} on x86-64{margin}")
        })
    };
    let faults: Vec<String> = [
        ("peak", number(Some(is.peak)), number(Some(claimed.peak))),
        ("arena", number(is.arena), number(claimed.arena)),
        ("ops", is.ops.to_string(), claimed.ops.to_string()),
        ("total", whole(is.total), whole(claimed.total)),
    ]
    .into_iter()
    .filter(|(_, is, said)| is != said)
    .map(|(what, is, said)| format!("`{field}.{what}` is {is}, not {said}"))
    .collect();
    if faults.is_empty() {
        let estimate = if claimed.total.is_some() {
            "; `total` is the estimate of the pipeline's own code, made again"
        } else {
            ""
        };
        verdict.verified(field, format!("{how}{estimate}"));
    }
    for fault in faults {
        verdict.refuted(field, fault);
    }
}

/// The need of the model as it came: in its own orders, with its own memory plan.
fn before(input: &Input, plan: &PlanFile, model: MemoryModel) -> StatedFootprint {
    let graphs: Vec<&Graph> = input.graphs().iter().collect();
    let own: Vec<Vec<OpId>> = graphs.iter().map(|graph| graph.file_order()).collect();
    // Without a plan of ours no bytes are handed over.
    let as_it_is = model.without_plan();
    let mut orders: Vec<&[OpId]> = own.iter().map(Vec::as_slice).collect();
    let offsets = own_offsets(input, model);
    let arena = plan.arena.and_then(|_| arena(&graphs, &orders, as_it_is, offsets.as_deref()));
    let runs = ort_order(graphs[0], &own[0], model);
    orders[0] = &runs;
    let peak = model_peak(&graphs, &orders, as_it_is, offsets.as_deref());
    let total = total(input, model, arena.unwrap_or(peak));
    StatedFootprint { peak, arena, total, ops: graphs[0].ops().len() }
}

/// The whole TFLM arena, by the pipeline's own estimate.
fn total(input: &Input, model: MemoryModel, head: u64) -> Option<WholeArena> {
    input.tail(model).map(|tail| WholeArena::of(&tail, head))
}
