//! From the file's tables to a graph of activations.
//!
//! Ops stand for operators one by one, in the file's order, and are named after their first output, since the format
//! has no names for them. Tensors keep the file's order; constants and variables are left out; at the end come made-up
//! tensors of 0 bytes, which keep operators on the same state in order. Further choices:
//! - A graph input or output that is a constant or a variable is no activation, so the graph does not list it.
//! - A tensor without elements that nothing writes is an empty constant.
//! - What an Ethos-U operator reads and nothing writes is the working memory of that processor: it is there from the
//!   start, as an input is.
//! - The output of `VAR_HANDLE` counts 0 bytes: TFLM keeps that handle in the operator's own data, outside the arena.

use crate::attributes;
use crate::budget::Budget;
use crate::carried;
use crate::declared::{Contradiction, contradiction};
use crate::state::States;
use crate::sub_graph::SubGraph;
use crate::tensor::{FileTensor, Storage};
use crate::{Error, Model};
use serde_json::{Map, json};
use serenity_ir::{CARRIED, Graph, GraphBuilder, Op, OpKind, Tensor, TensorId, Unknown, UnknownKind};
use std::collections::BTreeSet;

/// A graph, and which part of the file each part of it stands for.
pub(crate) struct Lowered {
    pub(crate) graph: Graph,
    pub(crate) graph_tensors: Vec<Option<TensorId>>,
    pub(crate) file_tensors: Vec<usize>,
    pub(crate) file_operators: Vec<usize>,
    /// By tensor of the file.
    pub(crate) storage: Vec<Storage>,
}

/// `control`: pairs of operators, the first to run before the second, that the file itself asks for.
pub(crate) fn lower(
    model: &Model,
    index: usize,
    states: &States,
    control: &[(usize, usize)],
    fold_constants: bool,
    budget: &mut Budget,
) -> Result<Lowered, Error> {
    let sub_graph = &model.sub_graphs[index];
    let mut storage: Vec<Storage> = sub_graph.tensors.iter().map(|tensor| tensor.storage).collect();
    let (file_operators, workspaces) = trace_values(index, sub_graph, states, fold_constants, &mut storage)?;

    let mut builder = GraphBuilder::new(sub_graph.name.as_str());
    let mut graph_tensors = vec![None; sub_graph.tensors.len()];
    let mut file_tensors = Vec::new();
    let handles = handles(sub_graph);
    for (number, tensor) in sub_graph.tensors.iter().enumerate() {
        if storage[number] == Storage::Activation {
            let bytes = if handles[number] { 0 } else { tensor.bytes };
            graph_tensors[number] = Some(builder.tensor(ir_tensor(tensor, bytes)));
            if tensor.has_no_size() {
                let reason = format!("a tensor of type `{}` has no size before the run", tensor.dtype);
                builder.unknown(Unknown::new(UnknownKind::Size, tensor.name.as_str(), reason));
            }
            file_tensors.push(number);
        }
    }
    let mut ops = Vec::new();
    for &number in &file_operators {
        let operator = &sub_graph.operators[number];
        let ids = |operands: &[Option<usize>]| {
            operands.iter().flatten().filter_map(|&operand| graph_tensors[operand]).collect::<Vec<_>>()
        };
        let name = operator.present_outputs().next().map_or("", |output| &sub_graph.tensors[output].name);
        ops.push(Op {
            name: name.to_owned(),
            kind: OpKind::new(operator.kind.as_str()),
            inputs: ids(&operator.inputs),
            outputs: ids(&operator.outputs),
            attributes: attributes::describe(model, index, number, &storage, budget)?,
            extra: Map::new(),
        });
    }
    let mut pairs = states.required_order(index, sub_graph);
    for number in held_for_want_of_knowledge(index, sub_graph, states, &pairs) {
        if let Ok(op) = file_operators.binary_search(&number) {
            let Op { name, kind, .. } = &ops[op];
            let reason = format!("nobody says whether `{}` may change places with others", kind.as_str());
            builder.unknown(Unknown::new(UnknownKind::Order, name, reason));
        }
    }
    pairs.extend(control);
    keep_in_order(&mut builder, &mut ops, &file_operators, pairs);
    for op in ops {
        builder.push_op(op);
    }
    let activations =
        |list: &[usize]| list.iter().filter_map(|&tensor| graph_tensors[tensor]).collect::<Vec<_>>();
    for id in activations(&sub_graph.inputs).into_iter().chain(activations(&workspaces)) {
        builder.mark_input(id);
    }
    for id in activations(&sub_graph.outputs) {
        builder.output(id);
    }
    let carried = if index == 0 { carried::pairs(model)? } else { Vec::new() };
    if !carried.is_empty() {
        let listed =
            |list: &[usize], at: usize| list[..at].iter().filter(|&&t| graph_tensors[t].is_some()).count();
        let ends = |pair: &(usize, usize)| [sub_graph.inputs[pair.0], sub_graph.outputs[pair.1]];
        let is_there = |pair: &&(usize, usize)| ends(pair).iter().all(|&t| graph_tensors[t].is_some());
        let positions = carried
            .iter()
            .filter(is_there)
            .map(|&(input, output)| [listed(&sub_graph.inputs, input), listed(&sub_graph.outputs, output)]);
        let positions: Vec<[usize; 2]> = positions.collect();
        builder.extra(Map::from_iter([(CARRIED.to_owned(), json!(positions))]));
    }
    // A body may just pass on what it is given; a model that computes nothing is a mistake.
    // A model without operators passes on what it is given.
    let graph = builder.build_body();
    let graph = graph.map_err(|source| Error::Graph { sub_graph: index, source })?;
    if let Some(Contradiction { op, tensor, made, declared }) = contradiction(&graph) {
        let (number, name) = (file_tensors[tensor.index()], &graph.tensor(tensor).name);
        let kind = graph.op(op).kind.as_str();
        let problem = format!(
            "`{kind}` makes {made} of what it is given, but tensor {number} (`{name}`), which it writes, is declared as {declared}; the file is damaged: convert the model again"
        );
        let place = format!("sub-graph {index}, operator {}", file_operators[op.index()]);
        return Err(Error::Invalid { place, problem });
    }
    Ok(Lowered { graph, graph_tensors, file_tensors, file_operators, storage })
}

/// The operators that must keep an order because nothing is known of them; not those on state that is known.
fn held_for_want_of_knowledge(
    index: usize,
    sub_graph: &SubGraph,
    states: &States,
    pairs: &[(usize, usize)],
) -> BTreeSet<usize> {
    let tied = pairs.iter().flat_map(|&(first, second)| [first, second]);
    tied.filter(|&number| states.is_secret(index, number, &sub_graph.operators[number])).collect()
}

/// The operator into which Arm's compiler for Ethos-U processors turns all that runs there.
const ETHOS_U: &str = "CUSTOM:ethos-u";

/// Goes through the operators as the runtime does: what is not there when it is read can only be an empty constant, or
/// the working memory of a processor. Returns the operators that remain if those on constants alone are folded, and
/// that memory.
fn trace_values(
    index: usize,
    sub_graph: &SubGraph,
    states: &States,
    fold_constants: bool,
    storage: &mut [Storage],
) -> Result<(Vec<usize>, Vec<usize>), Error> {
    let mut exists = vec![false; sub_graph.tensors.len()];
    let mut workspaces = Vec::new();
    for &input in &sub_graph.inputs {
        exists[input] = true;
    }
    let mut remaining = Vec::new();
    for (number, operator) in sub_graph.operators.iter().enumerate() {
        let place = |what| format!("sub-graph {index}, operator {number}, {what}");
        for operand in operator.present_inputs() {
            if storage[operand] == Storage::Activation && !exists[operand] {
                let tensor = &sub_graph.tensors[operand];
                if tensor.bytes > 0 && operator.kind == ETHOS_U {
                    exists[operand] = true;
                    workspaces.push(operand);
                    continue;
                }
                if tensor.bytes > 0 || tensor.is_handle() {
                    let name = &tensor.name;
                    let problem =
                        format!("tensor {operand} (`{name}`) is read before anything has written it");
                    return Err(Error::Invalid { place: place("inputs"), problem });
                }
                storage[operand] = Storage::Constant;
            }
        }
        let constant_inputs = operator.present_inputs().all(|operand| storage[operand] == Storage::Constant);
        let folds = fold_constants
            && constant_inputs
            && operator.present_inputs().next().is_some()
            && operator.bodies.is_empty()
            && !operator.kind.starts_with("CUSTOM:")
            && !states.touches(index, number, operator);
        for output in operator.present_outputs() {
            if storage[output] == Storage::Constant {
                let name = &sub_graph.tensors[output].name;
                let problem = format!("tensor {output} (`{name}`) is a constant and cannot be written");
                return Err(Error::Invalid { place: place("outputs"), problem });
            }
            exists[output] = true;
        }
        if folds {
            operator.present_outputs().for_each(|output| storage[output] = Storage::Constant);
        } else {
            remaining.push(number);
        }
    }
    for &output in &sub_graph.outputs {
        if !exists[output] && sub_graph.tensors[output].bytes == 0 && storage[output] == Storage::Activation {
            storage[output] = Storage::Constant;
        }
    }
    Ok((remaining, workspaces))
}

/// By tensor: is it a handle that `VAR_HANDLE` keeps?
fn handles(sub_graph: &SubGraph) -> Vec<bool> {
    let mut result = vec![false; sub_graph.tensors.len()];
    for operator in sub_graph.operators.iter().filter(|operator| operator.kind == "VAR_HANDLE") {
        operator.present_outputs().for_each(|output| result[output] = true);
    }
    result
}

fn ir_tensor(tensor: &FileTensor, bytes: u64) -> Tensor {
    let mut extra = Map::new();
    if let Some(signature) = &tensor.shape_signature {
        extra.insert("shape_signature".to_owned(), json!(signature));
    }
    Tensor {
        shape: Some(tensor.shape.clone()),
        dtype: Some(tensor.dtype.clone()),
        quantization: tensor.quantization.clone(),
        extra,
        ..Tensor::sized(tensor.name.as_str(), bytes)
    }
}

/// Gives each first operator of a pair one more output, of 0 bytes, that the second one reads.
fn keep_in_order(
    builder: &mut GraphBuilder,
    ops: &mut [Op],
    file_operators: &[usize],
    mut pairs: Vec<(usize, usize)>,
) {
    pairs.sort_unstable();
    pairs.dedup();
    let mut current = None;
    for (first, second) in pairs {
        // Folded operators touch no state; a pair that the file asks for may still name one.
        let position = |operator| file_operators.binary_search(&operator);
        let (Ok(from), Ok(to)) = (position(first), position(second)) else { continue };
        let token = match current {
            Some((op, token)) if op == from => token,
            _ => {
                let token = builder.tensor(Tensor::sized(format!("state after operator {first}"), 0));
                ops[from].outputs.push(token);
                current = Some((from, token));
                token
            }
        };
        ops[to].inputs.push(token);
    }
}
