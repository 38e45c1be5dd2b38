//! A planned model, as a graph and as a file of the format it came in.

use crate::{Error, Input, Plan, PlanNote};
use serenity_ir::{Graph, OpId};
use std::path::Path;

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

/// Would the model find its constants if it were written to `target`? `.onnx` models may keep them in other files, named relative to their own
/// folder; those are neither read nor copied.
///
/// # Errors
/// If one of them is not there.
pub fn check_side_files(input: &Input, target: &str) -> Result<(), Error> {
    let folder = Path::new(target).parent().unwrap_or(Path::new(""));
    match input.file.side_files().iter().find(|file| !folder.join(file).is_file()) {
        Some(file) => Err(Error::SideFile { path: target.to_owned(), file: file.clone() }),
        None => Ok(()),
    }
}
