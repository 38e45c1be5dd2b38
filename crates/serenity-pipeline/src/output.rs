//! A planned model as a graph, and as a file of its original format.

use crate::{Error, Input, Plan};
use serenity_formats::PlanNote;
use serenity_ir::{Graph, OpId};

/// The main graph with its ops in the file order of the plan.
///
/// # Errors
/// If the plan belongs to another model.
pub fn reordered_graph(input: &Input, plan: &Plan) -> Result<Graph, Error> {
    input.graph().reordered(plan.file_order()).map_err(|error| Error::WrongPlan { reason: error.to_string() })
}

/// The bytes of the model with its ops in the file order of the plan, and with the memory plan if there is one.
/// Everything else stays as it is.
///
/// # Errors
/// If the plan belongs to another model, or the file holds something that cannot be kept.
pub fn planned_model(input: &Input, plan: &Plan) -> Result<Vec<u8>, Error> {
    let orders: Vec<&[OpId]> =
        std::iter::once(plan.file_order()).chain(plan.bodies.iter().map(Vec::as_slice)).collect();
    let lean = plan.model.ort().filter(|setup| !setup.reuse && input.file.session() != Some(*setup));
    let written = match lean {
        // The figures of the plan hold only if the session knows the shapes.
        Some(setup) => {
            let made_by = concat!("serenity ", env!("CARGO_PKG_VERSION"));
            input.file.for_session(plan.file_order(), setup, made_by).map(|file| file.bytes().into_owned())
        }
        None => input.file.planned(&orders, plan.offsets.as_ref(), note(plan).as_ref()),
    };
    written.map_err(|source| Error::File { path: input.name.clone(), source })
}

/// The note for the file that says for which kernels its memory plan was made.
fn note(plan: &Plan) -> Option<PlanNote> {
    let (kernels, arena) = plan.model.kernels().zip(plan.after.arena)?;
    let version = env!("CARGO_PKG_VERSION").to_owned();
    Some(PlanNote { version, kernels: kernels.to_string(), arena, bound: plan.least() })
}
