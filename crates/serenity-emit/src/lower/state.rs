//! State that is kept from one run to the next.

use crate::emitter::{At, Scope, StateKey};
use crate::refused::Refused;
use crate::source::SourceTensor;

/// A handle is a name: there is nothing to do.
pub(super) fn handle(at: &mut At) -> Result<Option<String>, Refused> {
    let name = format!("{}/{}", at.word("container").unwrap_or(""), at.word("shared_name").unwrap_or(""));
    let output = at.output_id(0).ok_or_else(|| at.refused("result 0 is missing"))?;
    at.scope.handles.insert(output, name);
    Ok(None)
}

fn place(at: &mut At, value: &SourceTensor) -> Result<String, Refused> {
    let name = at.input_id(0).and_then(|id| at.scope.handles.get(&id).cloned());
    let name = name.ok_or_else(|| at.refused("its state comes from somewhere else than `VAR_HANDLE`"))?;
    let zero = value.quantization.as_ref().and_then(|q| q.zero_points.first().copied()).unwrap_or(0);
    let begins_with = if value.item() == 1 { zero as u8 } else { 0 };
    let key = StateKey::Shared(name);
    let place = at.emitter.state.place(key.clone(), value.bytes, begins_with);
    if at.emitter.state.places[&key].1 != value.bytes {
        return Err(at.refused("its state has another size elsewhere"));
    }
    Ok(format!("{}_state + {place}", at.emitter.prefix))
}

pub(super) fn read(at: &mut At) -> Result<String, Refused> {
    let output = at.output(0)?;
    let (from, to) = (place(at, output)?, at.write(0)?);
    Ok(format!("memcpy({to}, {from}, {});\n", output.bytes))
}

pub(super) fn assign(at: &mut At) -> Result<String, Refused> {
    let input = at.input(1)?;
    let (from, to) = (at.read(1)?, place(at, input)?);
    Ok(format!("memcpy({to}, {from}, {});\n", input.bytes))
}

/// A graph that runs once, before all else.
pub(super) fn once(at: &mut At) -> Result<Option<String>, Refused> {
    let [body] = at.op.bodies[..] else { return Err(at.refused("it runs no graph")) };
    if at.scope.graph != 0 {
        return Err(at.refused("it is inside another graph"));
    }
    let calls = at.emitter.graph(&mut Scope::new(body, 1))?;
    at.emitter.state.once.extend(calls);
    Ok(None)
}
