//! The least that a model needs in any way, what sets it, and which change of the model would lower it.

use crate::{Made, Question, Row, Way};
use serenity::account::{Account, refused_by_tflm};
use serenity::{Input, Optimized};
use serenity_ir::BufferId;
use serenity_loops::Because;
use serenity_report::{ShortLabels, grouped};
use serenity_runtimes::{MemoryModel, MemoryModelExt, main_graph};

/// Tensors of the widest step that are named.
const MOST_NAMED: usize = 2;
/// The longest that names get.
const LONGEST_NAME: usize = 40;
/// An input with fewer rows or columns than this is no picture.
const SMALLEST_PICTURE: u64 = 8;

/// Sentences on a model that does not fit: its floor, what sets it, and what would lower it.
pub(crate) fn advice(input: &Input, model: MemoryModel, rows: &[Row], question: &Question) -> Vec<String> {
    let made = rows.iter().filter_map(|row| Some((row.way, row.outcome.as_ref().ok()?)));
    // Of equals one with a plan, which tells what sets the need.
    let least = made.min_by_key(|(_, made)| (made.need.to_be_safe(), made.found.is_none()));
    let Some((way, least)) = least else { return Vec::new() };
    let mut advice = vec![floor(way, least)];
    if let Some(first) = refused_by_tflm(input, model).first() {
        let has_code = rows.iter().any(|row| row.way.is_code && row.outcome.is_ok());
        let only = if has_code { " Only C code can." } else { "" };
        advice.push(format!(
            "TFLM cannot run the model, whatever its memory: `{}` ({}).{only}",
            first.name, first.reason
        ));
    }
    if !input.graph().unknown().is_empty() {
        advice.push("Some tensors have unknown sizes, so all figures are minimums.".to_owned());
    }
    advice.extend(least.found.as_ref().and_then(|found| what_sets_it(input, found)));
    // Rows that are pushed need no input in memory.
    let is_pushed = rows.iter().any(|row| row.way.is_pushed && row.outcome.is_ok());
    let inputs = if is_pushed { 0 } else { bytes_of_inputs(input) };
    if inputs > question.budget {
        advice.push(format!(
            "The network's input itself takes {} bytes, so no way can fit {} bytes.",
            grouped(inputs.into()),
            grouped(question.budget.into())
        ));
    }
    advice.push(change_of_the_model(input, least.need.to_be_safe().max(inputs), question.budget));
    advice
}

fn floor(way: Way, least: &Made) -> String {
    let proved = if least.is_proved { "; proved: nothing made this way needs less" } else { "" };
    format!("Floor: {} bytes ({way}{proved}).", grouped(least.need.to_be_safe().into()))
}

/// What keeps a planned model from needing less: the floor of its loops, or the step with the most memory in use.
fn what_sets_it(input: &Input, found: &Optimized) -> Option<String> {
    let plan = &found.plan;
    if let Some(loops) = &plan.loops {
        let why = match &loops.floor.why {
            Because::Inputs => "the network's input itself".to_owned(),
            Because::Op(name) => format!("a tensor that `{name}` needs as a whole"),
        };
        return Some(format!("Loops cannot go below {} bytes: {why}.", grouped(loops.floor.bytes.into())));
    }
    let profile = Account::new(input, &found.model, plan).profile_after();
    let at = profile.peak_step();
    let step = profile.steps.get(at)?;
    let graph = main_graph(found.model.graphs(), &plan.bodies, plan.model);
    let labels = ShortLabels::of(&graph, LONGEST_NAME);
    let lifetimes = plan.model.lifetimes(&graph);
    let named = |b: BufferId| {
        let buffer = lifetimes.buffer(b);
        let &tensor = buffer.tensors.first()?;
        let shape =
            graph.tensor(tensor).shape.as_deref().map_or_else(String::new, |dims| format!(", {}", by(dims)));
        Some(format!("`{}` ({} bytes{shape})", labels.tensors[tensor.index()], grouped(buffer.bytes.into())))
    };
    let alive = lifetimes.alive_during(&plan.order, at).into_iter();
    let tensors: Vec<String> = alive.filter_map(named).take(MOST_NAMED).collect();
    Some(format!(
        "Most is in use while `{}` ({}) runs: {} bytes, the largest are {}.",
        labels.ops[step.op.index()],
        graph.op(step.op).kind,
        grouped(step.during.into()),
        tensors.join(" and ")
    ))
}

/// What the model itself would have to be. Rows and columns shrink most activations alike, so for pictures a smaller
/// input is named.
fn change_of_the_model(input: &Input, floor: u64, budget: u64) -> String {
    let graph = input.graph();
    let share = (budget as f64 / floor.max(1) as f64).sqrt();
    let picture = graph.inputs().iter().find_map(|&tensor| match graph.tensor(tensor).shape.as_deref()? {
        &[1, height, width, channels] if height >= SMALLEST_PICTURE && width >= SMALLEST_PICTURE => {
            Some([height, width, channels])
        }
        _ => None,
    });
    let smaller = |side: u64| (side as f64 * share).floor() as u64;
    let by_smaller = picture.map(|[height, width, channels]| {
        (
            smaller(height).min(smaller(width)),
            by(&[smaller(height), smaller(width), channels]),
            by(&[height, width, channels]),
        )
    });
    let input = match by_smaller {
        Some((side, smaller, now)) if share < 1.0 && side >= SMALLEST_PICTURE => {
            format!("an input of about {smaller} instead of {now}")
        }
        _ => "a smaller input".to_owned(),
    };
    format!(
        "To need less, the model itself must change: {input}, fewer channels in the tensors above, or two models that run one after the other."
    )
}

/// Dimensions as people write them: 96x96x3.
fn by(dims: &[u64]) -> String {
    dims.iter().map(ToString::to_string).collect::<Vec<_>>().join("x")
}

/// The inputs, as small as they can become: they are in memory before the first operator runs.
fn bytes_of_inputs(input: &Input) -> u64 {
    let quantized = input.with_quantized_io().ok();
    let model = quantized.as_ref().map_or(input, |(model, _)| model);
    let graph = model.graph();
    graph.inputs().iter().map(|&tensor| graph.tensor(tensor).bytes).fold(0, u64::saturating_add)
}
