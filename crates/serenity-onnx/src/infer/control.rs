//! Operators that run other graphs: what their bodies say about their outputs.

use super::{Call, Scope, Settings};
use crate::data_type::DataType;
use crate::fact::Fact;
use crate::proto::{Graph, Node};

pub(super) fn infer<'a>(
    node: &Node<'a>,
    scope: &Scope<'a, '_>,
    settings: &Settings<'a, '_>,
) -> Option<Vec<Fact>> {
    let call = Call::new(node, scope, settings.opset);
    let run = |body: &Graph<'a>, arguments: &[Fact]| {
        let inner = Scope::infer(body, arguments, Some(scope), settings);
        body.outputs.iter().map(|o| inner.get(o.name).cloned().unwrap_or_default()).collect::<Vec<Fact>>()
    };
    match node.op_type {
        "If" => {
            let branches: Vec<Vec<Fact>> = node.bodies().map(|body| run(body, &[])).collect();
            let (first, others) = branches.split_first()?;
            Some(others.iter().fold(first.clone(), |all, branch| {
                all.into_iter().zip(branch).map(|(a, b)| common(a, b)).collect()
            }))
        }
        "Loop" => loop_outputs(&call, node.bodies().next()?, run),
        "Scan" if settings.opset >= 9 => scan_outputs(&call, node.bodies().next()?, run),
        _ => None,
    }
}

/// What two facts agree on.
fn common(a: Fact, b: &Fact) -> Fact {
    let data_type = a.data_type.filter(|_| a.data_type == b.data_type);
    Fact::of(data_type, a.shape.filter(|shape| Some(shape) == b.shape.as_ref()))
}

/// A fact without its values: those of a state change from one turn to the next.
fn any_value(fact: Option<&Fact>) -> Fact {
    fact.map_or_else(Fact::default, |fact| Fact::of(fact.data_type, fact.shape.clone()))
}

/// Inputs: number of turns, condition, states. Outputs: states, then one stack a scanned output, of as many turns as
/// there were, which nobody knows before.
fn loop_outputs<'a>(
    call: &Call<'_, 'a>,
    body: &Graph<'a>,
    run: impl Fn(&Graph<'a>, &[Fact]) -> Vec<Fact>,
) -> Option<Vec<Fact>> {
    let states: Vec<Fact> = (2..call.input_count()).map(|position| any_value(call.input(position))).collect();
    let scalar = |data_type| Fact::of(Some(data_type), Some(Vec::new()));
    let mut arguments = vec![scalar(DataType::INT64), scalar(DataType::BOOL)];
    arguments.extend(states.iter().cloned());
    let after = run(body, &arguments);
    let after_states = after.get(1..=states.len())?;
    // A state that changes its shape from turn to turn has no size of its own.
    let stable = states.into_iter().zip(after_states).map(|(before, after)| common(before, after));
    Some(stable.collect())
}

/// Inputs: states, then tensors that are taken apart along an axis. Outputs: states, then stacks.
fn scan_outputs<'a>(
    call: &Call<'_, 'a>,
    body: &Graph<'a>,
    run: impl Fn(&Graph<'a>, &[Fact]) -> Vec<Fact>,
) -> Option<Vec<Fact>> {
    let scanned = usize::try_from(call.int_attribute("num_scan_inputs")?).ok()?;
    let state_count = call.input_count().checked_sub(scanned)?;
    let mut arguments: Vec<Fact> = (0..state_count).map(|position| any_value(call.input(position))).collect();
    let states = arguments.clone();
    let axis_of =
        |name: &str, n: usize| call.ints_attribute(name).and_then(|axes| axes.get(n).copied()).unwrap_or(0);
    let mut turns = None;
    for n in 0..scanned {
        let mut shape = call.shape(state_count + n)?.to_vec();
        let axis = super::call::axis_index(axis_of("scan_input_axes", n), shape.len())?;
        turns = Some(shape.remove(axis));
        arguments.push(Fact::of(call.data_type(state_count + n), Some(shape)));
    }
    let turns = turns?;
    let after = run(body, &arguments);
    let (after_states, pieces) = after.split_at_checked(state_count)?;
    let mut outputs: Vec<Fact> = states.into_iter().zip(after_states).map(|(b, a)| common(b, a)).collect();
    for (n, piece) in pieces.iter().enumerate() {
        let stacked = piece.shape.clone().and_then(|mut shape| {
            let axis = super::call::axis_index(axis_of("scan_output_axes", n), shape.len() + 1)?;
            shape.insert(axis, turns);
            Some(shape)
        });
        outputs.push(Fact::of(piece.data_type, stacked));
    }
    Some(outputs)
}
