//! tract, a runtime that also orders operators for memory: its `eval_order_opt_ram`, which every plan of tract uses
//! unless told not to.
//!
//! What that function does (0.23): it always runs the ready successor of the lowest number; where none is ready, it
//! starts the input-free node that the fewest others keep waiting. So sources such as constants come late, which is its
//! purpose. It reads no sizes, and its answer depends on how the nodes are numbered. Hence two orders:
//! [`Numbering::File`] for nodes numbered as the model lists them, and [`Numbering::Compact`] after tract's own
//! `compact`, which its optimiser runs before it makes a plan and which numbers nodes depth first from the outputs.

use serenity::ir::{Graph, OpId};
use std::error::Error;
use tract_core::internal::{DatumExt, InletId, OutletId, TVec, TractResult, TypedModel};
use tract_core::ops::dummy::Dummy;

/// Who numbers tract's nodes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Numbering {
    /// The model.
    File,
    /// tract.
    Compact,
}

/// An order of tract's.
pub(crate) struct PeerOrder {
    /// All ops, in an order that can run.
    pub(crate) order: Vec<OpId>,
    /// Ops that tract left out since no output needs them; here they run as soon as they can.
    pub(crate) appended: usize,
}

/// The order in which tract would run `graph`.
pub(crate) fn order(graph: &Graph, numbering: Numbering) -> Result<PeerOrder, Box<dyn Error>> {
    let mut model = model(graph)?;
    if numbering == Numbering::Compact {
        model.compact()?;
    }
    let nodes = model.eval_order_opt_ram()?;
    let mut order: Vec<OpId> = nodes.into_iter().filter_map(|node| op_of(&model.node(node).name)).collect();
    let appended = append_missing(graph, &mut order);
    graph.check_order(&order)?;
    Ok(PeerOrder { order, appended })
}

/// `graph` for tract: a source for each input, a dummy for each op, and for each tensor a vector of as many bytes.
///
/// Nodes are added, not wired: wiring folds ops that write empty tensors into constants.
fn model(graph: &Graph) -> TractResult<TypedModel> {
    let fact = |tensor| u8::fact([graph.tensor(tensor).bytes as usize]);
    let mut model = TypedModel::default();
    let mut outlets = vec![OutletId::new(usize::MAX, 0); graph.tensors().len()];
    for tensor in graph.tensor_ids().filter(|&tensor| graph.producer(tensor).is_none()) {
        outlets[tensor.index()] = model.add_source(format!("source {tensor}"), fact(tensor))?;
    }
    for op in graph.file_order() {
        let facts: TVec<_> = graph.op(op).outputs.iter().map(|&tensor| fact(tensor)).collect();
        let node = model.add_node(name_of(op), Dummy::new(), facts)?;
        for (slot, &tensor) in graph.op(op).inputs.iter().enumerate() {
            model.add_edge(outlets[tensor.index()], InletId::new(node, slot))?;
        }
        for (slot, &tensor) in graph.op(op).outputs.iter().enumerate() {
            outlets[tensor.index()] = OutletId::new(node, slot);
        }
    }
    let outputs: TVec<OutletId> = graph.outputs().iter().map(|&tensor| outlets[tensor.index()]).collect();
    model.select_output_outlets(&outputs)?;
    Ok(model)
}

/// Names survive a renumbering; numbers do not.
fn name_of(op: OpId) -> String {
    format!("op {}", op.0)
}

fn op_of(name: &str) -> Option<OpId> {
    name.strip_prefix("op ")?.parse().ok().map(OpId)
}

/// Puts every op that `order` lacks right after the last op that it waits for; says how many.
fn append_missing(graph: &Graph, order: &mut Vec<OpId>) -> usize {
    let mut is_there = vec![false; graph.ops().len()];
    for op in order.iter() {
        is_there[op.index()] = true;
    }
    let missing: Vec<OpId> = graph.file_order().into_iter().filter(|op| !is_there[op.index()]).collect();
    for &op in &missing {
        let before = graph.predecessors(op);
        let place = order.iter().rposition(|other| before.contains(other)).map_or(0, |last| last + 1);
        order.insert(place, op);
    }
    missing.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serenity::ir::{GraphBuilder, Tensor};

    #[test]
    fn every_order_can_run() {
        for spec in ["swiftnet", "darts-cifar", "random-window?ops=50", "random-stack", "random-dag?ops=30"] {
            let graph = serenity::zoo::build(spec).unwrap();
            for numbering in [Numbering::File, Numbering::Compact] {
                // It has checked itself.
                assert_eq!(order(&graph, numbering).unwrap().order.len(), graph.ops().len());
            }
        }
    }

    #[test]
    fn ops_that_tract_leaves_out_run_as_soon_as_they_can() {
        let mut builder = GraphBuilder::new("dead end");
        let x = builder.input(Tensor::sized("x", 1));
        let a = builder.op("a", "RELU", &[x], Tensor::sized("a", 1));
        let b = builder.op("b", "RELU", &[a], Tensor::sized("b", 0));
        builder.op("dead", "RELU", &[a], Tensor::sized("dead", 1));
        builder.output(b);
        let found = order(&builder.build().unwrap(), Numbering::File).unwrap();
        assert_eq!((found.order, found.appended), (vec![OpId(0), OpId(2), OpId(1)], 1));
    }
}
