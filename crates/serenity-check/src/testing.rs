//! Small graphs, and what all their orders need.

use crate::peak::peak;
use serenity_facts::MemoryModel;
use serenity_ir::{Graph, GraphBuilder, OpId, Tensor};
use serenity_search::Random;
use std::ops::Range;

/// A graph in which tensors are read together, viewed and accumulated.
pub(crate) fn small_graph(random: &mut Random, ops: Range<u64>) -> Graph {
    let mut g = GraphBuilder::new("");
    let mut tensors = vec![g.input(Tensor::sized("", 1 + random.below(40)))];
    for _ in 0..ops.start + random.below(ops.end - ops.start) {
        let mut pick = || tensors[random.index(tensors.len())];
        let inputs = [pick(), pick()];
        let kind = ["X", "CONCAT", "ACCUMULATE"][random.index(3)];
        tensors.push(g.op("", kind, &inputs, Tensor::sized("", random.below(40))));
    }
    g.output(tensors[tensors.len() - 1]);
    g.build().unwrap()
}

/// The least peak of all orders of a graph.
pub(crate) fn least_peak(graph: &Graph, model: MemoryModel) -> u64 {
    fn least(graph: &Graph, model: MemoryModel, order: &mut Vec<OpId>) -> u64 {
        if order.len() == graph.ops().len() {
            return peak(graph, model, order).0;
        }
        let mut found = u64::MAX;
        for op in graph.op_ids() {
            if !order.contains(&op) && graph.predecessors(op).iter().all(|p| order.contains(p)) {
                order.push(op);
                found = found.min(least(graph, model, order));
                order.pop();
            }
        }
        found
    }
    least(graph, model, &mut Vec::new())
}
