//! What a runtime adds to a graph: the memory of sub-graphs to the ops that run them, and constraints against its known
//! faults.

use crate::{MemoryModel, MemoryModelExt};
use serenity_ir::{Graph, Op, OpId, Unknown, UnknownKind};

/// The main graph of a model, annotated with the memory of its sub-graphs (for a runtime that runs them in the same
/// arena) and with what is unknown about the whole model. `bodies` are the orders of the sub-graphs; by default their
/// own.
///
/// # Panics
/// If there is no graph, or an order does not belong to its graph.
pub fn main_graph(graphs: &[Graph], bodies: &[Vec<OpId>], model: MemoryModel) -> Graph {
    let mut annotated = graphs.to_vec();
    let mut orders: Vec<Vec<OpId>> = graphs.iter().map(Graph::file_order).collect();
    for (order, given) in orders.iter_mut().skip(1).zip(bodies) {
        order.clone_from(given);
    }
    for index in callees_first(graphs) {
        annotate(&mut annotated, &orders, index, model);
    }
    annotated.swap_remove(0)
}

/// Annotates one graph with what the runtime adds: to each op the memory of the sub-graphs that it runs, which must be
/// annotated already; and which ops must keep their order.
pub fn annotate(graphs: &mut [Graph], orders: &[Vec<OpId>], index: usize, model: MemoryModel) {
    let mut graph = graphs[index].clone();
    let unknown = unknown(graphs, index, model);
    graph = graph.with_unknown(unknown);
    let runtime = model.runtime();
    let hazards = runtime.hazards(&graph);
    graph = graph.with_precedence(&hazards);
    if index == 0 {
        let hazards = graph.hazards_of_carried();
        graph = graph.with_precedence(&hazards);
    }
    if !runtime.shares_arena_with_bodies() {
        graphs[index] = graph;
        return;
    }
    for op in graph.op_ids() {
        let needs = graph.op(op).bodies().filter(|&body| body < graphs.len());
        // They run one after the other, so the largest counts.
        let most = needs.map(|body| model.lifetimes(&graphs[body]).profile(&orders[body]).peak()).max();
        if let Some(bytes) = most {
            graph = graph.with_workspace(op, bytes);
        }
    }
    graphs[index] = graph;
}

/// What is not known about a graph under this model: about the sub-graphs that it runs (which must be annotated
/// already) and by its runtime.
fn unknown(graphs: &[Graph], index: usize, model: MemoryModel) -> Vec<Unknown> {
    let (graph, runtime) = (&graphs[index], model.runtime());
    let mut unknown = Vec::new();
    for id in graph.op_ids() {
        let op = graph.op(id);
        for body in op.bodies() {
            match graphs.get(body) {
                Some(body) if runtime.shares_arena_with_bodies() => {
                    unknown.extend(body.unknown().iter().cloned());
                }
                Some(body) if needs_nothing(body) => {}
                Some(_) | None => {
                    let reason = format!("what `{}` runs is not counted", op.kind.as_str());
                    unknown.push(Unknown::new(UnknownKind::SubGraph, graph.op_label(id), reason));
                }
            }
        }
    }
    unknown.extend(runtime.unknown(graph));
    unknown
}

/// Has it nothing to count, as a graph that sets variables to constants?
fn needs_nothing(body: &Graph) -> bool {
    body.unknown().is_empty() && body.tensors().iter().all(|tensor| tensor.bytes == 0)
}

/// All graphs, each after those it runs; graphs that run each other without end come in any order.
pub fn callees_first(graphs: &[Graph]) -> Vec<usize> {
    let callees = |index: usize| -> Vec<usize> {
        graphs[index].ops().iter().flat_map(Op::bodies).filter(|&body| body < graphs.len()).collect()
    };
    let mut order = Vec::new();
    let mut seen = vec![false; graphs.len()];
    for root in 0..graphs.len() {
        // Depth first with a stack of our own: a file may nest as deep as it likes.
        let mut open = vec![(root, false)];
        while let Some((index, is_done)) = open.pop() {
            if is_done {
                order.push(index);
            } else if !std::mem::replace(&mut seen[index], true) {
                open.push((index, true));
                open.extend(callees(index).into_iter().map(|callee| (callee, false)));
            }
        }
    }
    order
}
