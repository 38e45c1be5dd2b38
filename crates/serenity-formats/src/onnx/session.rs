//! A file made for a session of ONNX Runtime: it says so itself, because in another session it may need more.

use serenity_ir::OpId;
use serenity_onnx::{Error, Model};
use serenity_runtimes::{OrtSetup, ort_overwrites};

/// Keys of the notes that a file carries: the session, and who optimised it.
const SESSION: &str = "serenity.ort_session";
const MADE_BY: &str = "serenity.made_by";
/// The order of the file, graph optimisation off, no reuse.
const FAST: &str = "fast";

/// The session that a file was made for.
pub(super) fn of(model: &Model) -> Option<OrtSetup> {
    (model.note(SESSION) == Some(FAST)).then_some(OrtSetup::LEAN)
}

/// The file in this order for this session, with what ONNX Runtime must know of its shapes, read again.
pub(super) fn prepared(
    model: &Model,
    order: &[OpId],
    setup: OrtSetup,
    made_by: &str,
) -> Result<Model, Error> {
    let notes = [(SESSION, FAST), (MADE_BY, made_by)];
    let notes = if setup == OrtSetup::LEAN { &notes[..] } else { &[] };
    let new = model.successor(model.declared(order, &ort_overwrites(model.graph()), notes)?)?;
    let wanted = model.graph().reordered(order)?;
    if !new.graph().computes_as(&wanted) {
        return Err(Error::Unfaithful("the graph with its shapes".to_owned()));
    }
    Ok(new)
}
