//! Loops that count: a `for`.

use super::moves::placed;
use crate::emitter::{At, Scope, whole_numbers};
use crate::refused::Refused;
use crate::source::{DataPlace, SourceGraph};
use std::fmt::Write;

/// More iterations than rows of any image.
const MOST: i64 = 100_000;

/// A `WHILE` whose state begins with, or has among it, a counter from 0 to a constant.
pub(super) fn counted(at: &mut At) -> Result<String, Refused> {
    let source = at.emitter.source;
    let [condition, body_index] = at.op.bodies[..] else { return Err(at.refused("it runs no graphs")) };
    let (Some(condition), Some(body)) = (source.graphs.get(condition), source.graphs.get(body_index)) else {
        return Err(at.refused("it runs no graphs"));
    };
    if at.scope.iterations > 1 {
        return Err(at.refused("it is inside another loop"));
    }
    let states = at.op.outputs.len();
    if at.op.inputs.len() != states || body.inputs.len() != states || body.outputs.len() != states {
        return Err(at.refused("its graphs have other states"));
    }
    let (counter, end) =
        counter(condition).ok_or_else(|| at.refused("it does not count up to a constant"))?;
    if at.fixed_numbers(counter) != Some(vec![0]) || !(1..=MOST).contains(&end) {
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
