//! A planned model, as a graph and as a file of the format it came in.

use crate::{Error, Input, Offsets, Plan, Source};
use serenity_ir::{Graph, OpId};
use serenity_tflite::{Model, OFFLINE_PLAN, OfflinePlan, OperatorSource};

/// The main graph with its ops in the order that the plan has for the file.
///
/// # Errors
/// If the plan belongs to another model.
pub fn reordered_graph(input: &Input, plan: &Plan) -> Result<Graph, Error> {
    input.graph().reordered(plan.file_order()).map_err(|error| Error::WrongPlan { reason: error.to_string() })
}

/// The bytes of the model with its ops in the order that the plan has for the file, and with the plan of its arena if one was made. Everything else stays as it is.
///
/// # Errors
/// If the plan belongs to another model, if there is no model (the input was a graph), or if it holds what cannot be kept.
pub fn planned_model(input: &Input, plan: &Plan) -> Result<Vec<u8>, Error> {
    match &input.source {
        Source::Graph => {
            Err(Error::WrongPlan { reason: "the input is a graph, not a model file".to_owned() })
        }
        Source::Tflite(model) => {
            let orders: Vec<Vec<OpId>> =
                std::iter::once(plan.order.clone()).chain(plan.bodies.iter().cloned()).collect();
            let written = match &plan.offsets {
                None => model.reordered(&orders),
                Some(offsets) => with_offline_plan(model, &orders, offsets)?,
            };
            written.map_err(|source| Error::Tflite { path: input.name.clone(), source })
        }
        Source::Onnx(model) => {
            let written = model.reordered(plan.file_order());
            written.map_err(|source| Error::Onnx { path: input.name.clone(), source })
        }
    }
}

/// The model in other orders, with a plan that TFLM obeys.
fn with_offline_plan(
    model: &Model,
    orders: &[Vec<OpId>],
    offsets: &Offsets,
) -> Result<Result<Vec<u8>, serenity_tflite::Error>, Error> {
    let wrong = |reason: &str| Error::WrongPlan { reason: reason.to_owned() };
    let mut entries = Vec::new();
    for (sub_graph, offsets) in model.sub_graphs().iter().zip(offsets) {
        for index in 0..sub_graph.tensors().len() {
            let offset = sub_graph.graph_tensor(index).and_then(|t| *offsets.get(t.index())?);
            let entry = offset.map_or(Ok(-1), i32::try_from);
            entries.push(entry.map_err(|_| wrong("an offset beyond 2 GiB cannot be written"))?);
        }
    }
    let plan = OfflinePlan { sub_graphs: model.sub_graphs().len() as i32, offsets: entries };
    let mut edit = model.edit();
    for (index, (sub_graph, order)) in model.sub_graphs().iter().zip(orders).enumerate() {
        let kept = |&op: &OpId| sub_graph.file_operator(op).map(OperatorSource::Kept);
        let operators = order
            .iter()
            .map(kept)
            .collect::<Option<Vec<_>>>()
            .ok_or_else(|| wrong("it names an op too many"))?;
        if let Err(error) = edit.set_operators(index, operators) {
            return Ok(Err(error));
        }
    }
    edit.set_metadata(OFFLINE_PLAN, plan.to_bytes());
    Ok(edit.finish().map(|edited| edited.bytes))
}
