//! Loops: a `for` if they count, otherwise a `while`.

mod asked;

use super::moves::placed;
use crate::emitter::{At, Scope, whole_numbers};
use crate::refused::Refused;
use crate::source::{DataPlace, SourceGraph};
use std::fmt::Write;

/// More iterations than rows of any image.
const MOST: i64 = 100_000;

/// A `WHILE`: a `for` if it counts from 0 up to a constant, otherwise its condition is asked each time.
pub(super) fn lowered(at: &mut At) -> Result<String, Refused> {
    let source = at.emitter.source;
    let graph = |index: usize| source.graphs.get(index).filter(|_| index != 0).map(|graph| (index, graph));
    let [condition, body] = at.op.bodies[..] else { return Err(at.refused("it runs no graphs")) };
    let (Some(condition), Some(body)) = (graph(condition), graph(body)) else {
        return Err(at.refused("it runs no graphs"));
    };
    if at.scope.graph != 0 {
        return Err(at.refused("it is inside another loop"));
    }
    let states = at.op.outputs.len();
    if at.op.inputs.len() != states || body.1.inputs.len() != states || body.1.outputs.len() != states {
        return Err(at.refused("its graphs have other states"));
    }
    match counter(condition.1) {
        Some(counter) if at.fixed_numbers(counter.0) == Some(vec![0]) => counted(at, body, counter),
        _ => asked::lowered(at, condition, body),
    }
}

/// A `WHILE` whose state has a counter among it, from 0 to a constant.
fn counted(
    at: &mut At,
    (body_index, body): (usize, &SourceGraph),
    (counter, end): (usize, i64),
) -> Result<String, Refused> {
    let states = at.op.outputs.len();
    if !(1..=MOST).contains(&end) {
        return Err(at.refused("it does not count from 0 up to a constant"));
    }
    let mut scope = Scope::new(body_index, end as usize);
    scope.numbers.insert(body.inputs[counter], (0..end).map(|i| vec![i]).collect());
    let calls = at.emitter.graph(&mut scope)?;
    let next: Vec<Vec<i64>> = (1..=end).map(|i| vec![i]).collect();
    if scope.numbers.get(&body.outputs[counter]) != Some(&next) {
        return Err(at.refused("it does not count by one"));
    }

    let [mut before, mut enter, mut leave] = [const { String::new() }; 3];
    for state in (0..states).filter(|&state| state != counter) {
        let (inside, result) = (body.inputs[state], body.outputs[state]);
        if scope.numbers.contains_key(&result) || scope.numbers.contains_key(&inside) {
            return Err(at.refused("it carries numbers besides its counter"));
        }
        let to = at.write(state)?;
        let offset = at.offset(at.output_id(state));
        let bytes = at.output(state)?.bytes;
        before.push_str(&placed(at, state, &to, offset)?.unwrap_or_default());
        let places = [inside, result].map(|tensor| match body.tensors[tensor].place {
            DataPlace::Arena(offset) if body.tensors[tensor].bytes == bytes => Some(offset),
            _ => None,
        });
        let ([Some(inside), Some(result)], Some(outside)) = (places, offset) else {
            return Err(at.refused("a state of it has no place"));
        };
        let [into, out_of, around] = [inside, result, outside].map(|offset| at.emitter.address(offset));
        if inside != outside {
            let _ = writeln!(enter, "    memmove({into}, {around}, {bytes});");
        }
        if result != outside {
            let _ = writeln!(leave, "    memmove({around}, {out_of}, {bytes});");
        }
    }
    let calls = calls.join("\n    ");
    Ok(format!("{before}for (int32_t i = 0; i < {end}; ++i) {{\n{enter}    {calls}\n{leave}}}\n"))
}

/// Which of the state is the counter, and what it counts up to.
fn counter(condition: &SourceGraph) -> Option<(usize, i64)> {
    let [less] = &condition.ops[..] else { return None };
    let ("LESS", &[Some(counter), Some(end)]) = (less.kind.as_str(), &less.inputs[..]) else { return None };
    if condition.outputs[..] != [less.outputs.first().copied().flatten()?] {
        return None;
    }
    let DataPlace::Constant(bytes) = &condition.tensors[end].place else { return None };
    let [end] = whole_numbers(&condition.tensors[end].dtype, bytes)?[..] else { return None };
    Some((condition.inputs.iter().position(|&input| input == counter)?, end))
}
