//! What a runtime adds to a graph: ops that run sub-graphs need what those need, and some orders would run into its faults.

use crate::arena::bodies;
use crate::{Error, Options, optimize};
use serenity_ir::{Graph, MemoryModel, OpId, litert_hazards};

/// The main graph of a model, whose ops know what their sub-graphs need, and the orders of those.
pub(crate) struct Settled {
    pub(crate) main: Graph,
    /// The orders of the graphs after the main one.
    pub(crate) orders: Vec<Vec<OpId>>,
}

/// Finds the best order of every sub-graph by itself, those that others run first.
pub(crate) fn settle(graphs: &[Graph], options: &Options) -> Result<Settled, Error> {
    let mut annotated = graphs.to_vec();
    let mut orders: Vec<Vec<OpId>> = graphs.iter().map(Graph::file_order).collect();
    for index in callees_first(graphs) {
        annotate(&mut annotated, &orders, index, options.model);
        if index > 0 && !graphs[index].ops().is_empty() {
            orders[index] = optimize::best_by_peak(&annotated[index], options)?.order;
        }
    }
    Ok(Settled { main: annotated.swap_remove(0), orders: orders.split_off(1) })
}

/// The main graph of a model with what its sub-graphs need, for a runtime that runs them in the same arena. `bodies` are their orders; their own
/// where none is given.
///
/// # Panics
/// If there is no graph, or an order is not one of its graph.
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

/// Writes into one graph what the runtime adds: into each op what the sub-graphs it runs need, which must have been written into those before; and
/// what must not change places.
fn annotate(graphs: &mut [Graph], orders: &[Vec<OpId>], index: usize, model: MemoryModel) {
    let mut graph = graphs[index].clone();
    if model == MemoryModel::Litert {
        let hazards = litert_hazards(&graph);
        graphs[index] = graph.with_precedence(&hazards);
        return;
    }
    // Only TFLM runs sub-graphs in the arena of the graph that calls them.
    if !model.shares_arena_with_bodies() {
        return;
    }
    for op in graph.op_ids() {
        let needs = bodies(graph.op(op)).into_iter().filter(|&body| body < graphs.len());
        // One after the other, so the largest counts.
        let most = needs.map(|body| model.lifetimes(&graphs[body]).profile(&orders[body]).peak()).max();
        if let Some(bytes) = most {
            graph = graph.with_workspace(op, bytes);
        }
    }
    graphs[index] = graph;
}

/// All graphs, each after those it runs; graphs that run each other without end come in any order.
fn callees_first(graphs: &[Graph]) -> Vec<usize> {
    let callees = |index: usize| -> Vec<usize> {
        graphs[index].ops().iter().flat_map(bodies).filter(|&body| body < graphs.len()).collect()
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
