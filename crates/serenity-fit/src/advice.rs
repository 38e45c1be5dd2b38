//! Says how far down a model can go, and what is in the way.

use crate::{Made, Question, Row};
use serenity::Input;
use serenity::account::{Account, refused_by_tflm};
use serenity_runtimes::MemoryModel;

/// Sentences on a model that fits in no way.
pub(crate) fn advice(input: &Input, model: MemoryModel, rows: &[Row], question: &Question) -> Vec<String> {
    let refused = refused_by_tflm(input, model);
    let made = rows.iter().filter_map(|row| Some((row, row.outcome.as_ref().ok()?)));
    let Some((row, least)) = made.min_by_key(|(_, made)| made.need.to_be_safe()) else { return Vec::new() };
    let mut advice = vec![format!(
        "The least of all ways is {} bytes: {}{}.",
        least.need.to_be_safe(),
        row.way,
        if least.is_proved { ", and it is proved that nothing made this way needs less" } else { "" }
    )];
    if let Some(first) = refused.first() {
        advice.push(format!(
            "TFLM cannot run the model, whatever memory it gets: `{}` ({}). Only C code might.",
            first.name, first.reason
        ));
    }
    if !input.graph().unknown().is_empty() {
        advice.push("Sizes of some tensors are not known, so that figures are minimums.".to_owned());
    }
    advice.extend(who_sets_it(input, least));
    let inputs = bytes_of_inputs(input);
    if inputs > question.budget {
        advice.push(format!(
            "No way can fit: the inputs alone take {inputs} bytes, in every order and with any kernels."
        ));
    }
    advice.push(
        "A smaller input, fewer channels where the memory is widest, or a model cut in two would need less."
            .to_owned(),
    );
    advice
}

/// The operator that runs when most memory is in use.
fn who_sets_it(input: &Input, made: &Made) -> Option<String> {
    let found = made.found.as_ref()?;
    let account = Account::new(input, &found.model, &found.plan);
    let profile = account.profile_after();
    let step = profile.steps.iter().max_by_key(|step| step.during)?;
    let graph = found.model.graph();
    Some(format!(
        "Most of it is in use while `{}` ({}) runs: {} bytes.",
        graph.op_label(step.op),
        graph.op(step.op).kind,
        step.during
    ))
}

/// The inputs, as small as they can become: they are in memory before the first operator runs.
fn bytes_of_inputs(input: &Input) -> u64 {
    let quantized = input.with_quantized_io().ok();
    let model = quantized.as_ref().map_or(input, |(model, _)| model);
    let graph = model.graph();
    graph.inputs().iter().map(|&tensor| graph.tensor(tensor).bytes).fold(0, u64::saturating_add)
}
