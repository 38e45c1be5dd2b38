//! Loops that ask a condition before each iteration.
//!
//! State is copied as TFLM copies it, in the same order: what a plan for TFLM allows to overlap, this copies right as well.

use crate::emitter::{At, Scope};
use crate::refused::Refused;
use crate::source::{DataPlace, SourceGraph};

type Numbered<'s> = (usize, &'s SourceGraph);

/// A `WHILE` of any condition: state lies in the results of the operator between iterations.
pub(super) fn lowered(at: &mut At, condition: Numbered, body: Numbered) -> Result<String, Refused> {
    let states = at.op.outputs.len();
    if condition.1.inputs.len() != states || condition.1.outputs.len() != 1 {
        return Err(at.refused("its graphs have other states"));
    }
    let ask = run(at, condition.0)?;
    let go = run(at, body.0)?;
    let [mut begin, mut around, mut after, mut again] = [const { String::new() }; 4];
    for state in 0..states {
        let bytes = at.output(state)?.bytes;
        at.refuse_misfit(at.input(state)?.bytes != bytes)?;
        let (from, to) = (at.read(state)?, at.write(state)?);
        if let Some(asked) = entered(at, condition.1, state, bytes)? {
            begin.push_str(&copied(&asked, &from, bytes));
            again.push_str(&copied(&asked, &to, bytes));
        }
        if let Some(inside) = entered(at, body.1, state, bytes)? {
            around.push_str(&copied(&inside, &to, bytes));
        }
        after.push_str(&copied(&to, &place(at, body.1, body.1.outputs[state], bytes)?, bytes));
    }
    // All of the condition is filled before any result is written.
    for state in 0..states {
        let (from, to, bytes) = (at.read(state)?, at.write(state)?, at.output(state)?.bytes);
        begin.push_str(&copied(&to, &from, bytes));
    }
    let answer = place(at, condition.1, condition.1.outputs[0], 1)?;
    let lines = |code: &str| code.lines().fold(String::new(), |text, line| text + "    " + line + "\n");
    Ok(format!(
        "{begin}{ask}while (*({answer}) != 0) {{\n{}}}\n",
        lines(&format!("{around}{go}{after}{again}{ask}"))
    ))
}

/// What runs a graph.
fn run(at: &mut At, graph: usize) -> Result<String, Refused> {
    let mut scope = Scope::new(graph, 1);
    let calls = at.emitter.graph(&mut scope)?;
    let graph = &at.emitter.source.graphs[graph];
    if graph.outputs.iter().any(|output| scope.numbers.contains_key(output)) {
        return Err(at.refused("a state of it is known before it runs"));
    }
    Ok(calls.iter().fold(String::new(), |text, call| text + call + "\n"))
}

/// Where a graph expects a state; `None` if it reads none of it.
fn entered(at: &At, graph: &SourceGraph, state: usize, bytes: u64) -> Result<Option<String>, Refused> {
    let tensor = graph.inputs[state];
    let mut read = graph.ops.iter().flat_map(|op| op.inputs.iter().flatten()).chain(&graph.outputs);
    if read.any(|&other| other == tensor) { place(at, graph, tensor, bytes).map(Some) } else { Ok(None) }
}

fn place(at: &At, graph: &SourceGraph, tensor: usize, bytes: u64) -> Result<String, Refused> {
    let tensor = &graph.tensors[tensor];
    match tensor.place {
        DataPlace::Arena(offset) if tensor.bytes == bytes => Ok(at.emitter.address(offset)),
        _ => Err(at.refused("a state of it has no place, or another size inside")),
    }
}

fn copied(to: &str, from: &str, bytes: u64) -> String {
    if to == from { String::new() } else { format!("memmove({to}, {from}, {bytes});\n") }
}
