//! A planned model, as a graph and as a file of the format it came in.

use crate::{Error, Input, Plan, Source};
use serenity_ir::{Graph, OpId};

/// The main graph with its ops in the order that the plan has for the file.
///
/// # Errors
/// If the plan belongs to another model.
pub fn reordered_graph(input: &Input, plan: &Plan) -> Result<Graph, Error> {
    input.graph().reordered(plan.file_order()).map_err(|error| Error::WrongPlan { reason: error.to_string() })
}

/// The bytes of the model with its ops in the order that the plan has for the file. Everything else stays as it is, byte for byte.
///
/// # Errors
/// If the plan belongs to another model, if there is no model (the input was a graph), or if it holds what cannot be kept.
pub fn reordered_model(input: &Input, plan: &Plan) -> Result<Vec<u8>, Error> {
    match &input.source {
        Source::Graph => {
            Err(Error::WrongPlan { reason: "the input is a graph, not a model file".to_owned() })
        }
        Source::Tflite(model) => {
            let orders: Vec<Vec<OpId>> =
                std::iter::once(plan.file_order().to_vec()).chain(plan.bodies.iter().cloned()).collect();
            model.reordered(&orders).map_err(|source| Error::Tflite { path: input.name.clone(), source })
        }
        Source::Onnx(model) => {
            let written = model.reordered(plan.file_order());
            written.map_err(|source| Error::Onnx { path: input.name.clone(), source })
        }
    }
}
