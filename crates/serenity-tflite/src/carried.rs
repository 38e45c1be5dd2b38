//! The metadata `serenity.carried`: what a model carries from one run to the next.
//!
//! A list of pairs `[input, output]`, as JSON: positions in the lists of the main graph. A plan of the arena puts both at
//! one place, so that a run finds what the run before has left there. Whatever reads such an input must run before the
//! operator that writes its output.

use crate::sub_graph::SubGraph;
use crate::{Error, Model};

/// The metadata that lists what a model carries.
pub const CARRIED: &str = "serenity.carried";

/// The pairs of a model, which its own order obeys.
pub(crate) fn pairs(model: &Model) -> Result<Vec<(usize, usize)>, Error> {
    let Some(bytes) = model.metadata_bytes(CARRIED) else { return Ok(Vec::new()) };
    let pairs: Vec<(usize, usize)> =
        serde_json::from_slice(bytes).map_err(|_| invalid("it is no list of pairs [input, output]"))?;
    let main = model.sub_graphs.first().ok_or_else(|| invalid("there is no graph"))?;
    for &(input, output) in &pairs {
        let tensor = |list: &[usize], at: usize| list.get(at).map(|&tensor| &main.tensors[tensor]);
        let ends = tensor(&main.inputs, input).zip(tensor(&main.outputs, output));
        let (input, output) =
            ends.ok_or_else(|| invalid(&format!("there is no input {input} or no output {output}")))?;
        if (&input.shape, &input.dtype) != (&output.shape, &output.dtype) {
            let problem = format!("`{}` and `{}` differ in shape or type", input.name, output.name);
            return Err(invalid(&problem));
        }
    }
    pairs
        .iter()
        .try_for_each(|&(input, output)| is_read_first(main, main.inputs[input], main.outputs[output]))?;
    Ok(pairs)
}

/// Is what a run finds read before it writes what the next one finds?
fn is_read_first(main: &SubGraph, input: usize, output: usize) -> Result<(), Error> {
    let operators = || main.operators.iter().enumerate();
    let writer = operators().find(|(_, operator)| operator.present_outputs().any(|t| t == output));
    let (writer, _) =
        writer.ok_or_else(|| invalid(&format!("no operator writes `{}`", main.tensors[output].name)))?;
    let late =
        operators().skip(writer + 1).find(|(_, operator)| operator.present_inputs().any(|t| t == input));
    match late {
        None => Ok(()),
        Some((reader, _)) => {
            let name = &main.tensors[input].name;
            Err(invalid(&format!(
                "operator {reader} reads `{name}` after operator {writer} has written the next"
            )))
        }
    }
}

fn invalid(problem: &str) -> Error {
    Error::Invalid { place: format!("metadata `{CARRIED}`"), problem: problem.to_owned() }
}
