//! What an op needs because it runs sub-graphs: TFLM runs them in the arena of the graph that calls them.

use crate::bound::shown;
use crate::holdings::{Figure, holdings};
use crate::peak::peak;
use crate::timeline::bodies;
use serenity_facts::MemoryModel;
use serenity_ir::{Graph, OpId};

/// The main graph, in which each op that runs others has the peak of the largest of them as workspace. For other
/// runtimes, as it is.
pub(crate) fn with_peaks(graphs: &[&Graph], orders: &[&[OpId]], model: MemoryModel) -> Graph {
    with(graphs, model, |body, graph| peak(graph, model, orders[body]).0)
}

/// The main graph, in which each op that runs others has as workspace what the largest of them needs in every order, as
/// far as one place in it shows. For other runtimes, as it is.
pub(crate) fn with_bounds(graphs: &[&Graph], model: MemoryModel, figure: Figure) -> Graph {
    with(graphs, model, |_, graph| shown(graph, &holdings(graph, model, figure)).bytes)
}

fn with(graphs: &[&Graph], model: MemoryModel, needs: impl Fn(usize, &Graph) -> u64) -> Graph {
    let is_tflm = model.kernels().is_some();
    if !is_tflm || graphs.len() == 1 {
        return graphs[0].clone();
    }
    let mut settled: Vec<Option<Graph>> = vec![None; graphs.len()];
    let mut is_entered = vec![false; graphs.len()];
    // Those that others run come first; with a stack of our own, since a file may nest as deep as it likes.
    for root in 0..graphs.len() {
        let mut open = vec![(root, false)];
        while let Some((index, callees_are_done)) = open.pop() {
            if callees_are_done {
                settled[index] = Some(settle(graphs, &settled, index, &needs));
            } else if !std::mem::replace(&mut is_entered[index], true) {
                open.push((index, true));
                let callees = graphs[index].ops().iter().flat_map(|op| bodies(op, graphs.len()));
                open.extend(callees.map(|callee| (callee, false)));
            }
        }
    }
    settled.swap_remove(0).unwrap_or_else(|| graphs[0].clone())
}

fn settle(
    graphs: &[&Graph],
    settled: &[Option<Graph>],
    index: usize,
    needs: &impl Fn(usize, &Graph) -> u64,
) -> Graph {
    let mut graph = graphs[index].clone();
    for op in graph.op_ids() {
        // One that is not settled runs itself without end: no figure for it means anything.
        let bodies = bodies(graph.op(op), graphs.len()).into_iter();
        let needed = bodies.map(|body| needs(body, settled[body].as_ref().unwrap_or(graphs[body])));
        // One after the other, so the largest counts.
        if let Some(most) = needed.max() {
            graph = graph.with_workspace(op, most);
        }
    }
    graph
}
