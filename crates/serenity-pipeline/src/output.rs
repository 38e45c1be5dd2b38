//! A planned model, as a graph and as a file of the format it came in.

use crate::{Error, Input, Plan};
use serenity_formats::PlanNote;
use serenity_ir::{Graph, OpId};

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
/// If the plan belongs to another model, or the file holds what cannot be kept.
pub fn planned_model(input: &Input, plan: &Plan) -> Result<Vec<u8>, Error> {
    let orders: Vec<&[OpId]> =
        std::iter::once(plan.file_order()).chain(plan.bodies.iter().map(Vec::as_slice)).collect();
    let lean = plan.model.ort().filter(|setup| !setup.reuse && input.file.session() != Some(*setup));
    let written = match lean {
        // What is promised of such a session holds if it knows the shapes.
        Some(setup) => {
            let made_by = concat!("serenity ", env!("CARGO_PKG_VERSION"));
            input.file.for_session(plan.file_order(), setup, made_by).map(|file| file.bytes().into_owned())
        }
        None => input.file.planned(&orders, plan.offsets.as_ref(), note(plan).as_ref()),
    };
    written.map_err(|source| Error::File { path: input.name.clone(), source })
}

/// What is noted in the file about the plan of its arena: for which kernels it is.
fn note(plan: &Plan) -> Option<PlanNote> {
    let (kernels, arena) = plan.model.kernels().zip(plan.after.arena)?;
    let version = env!("CARGO_PKG_VERSION").to_owned();
    Some(PlanNote { version, kernels: kernels.to_string(), arena, bound: plan.least() })
}
