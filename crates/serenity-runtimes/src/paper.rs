//! The count under which the figures of the paper come out: a concatenation is a view, and partial results are written into one buffer.

use crate::Runtime;
use serenity_ir::{BufferId, Graph, OpId, Role, Storage, TensorId};

pub(crate) struct Paper;

impl Runtime for Paper {
    fn storage(&self, graph: &Graph) -> Storage {
        let mut storage = Storage::one_buffer_a_tensor(graph);
        // In an order that can run, the pieces of a view have their places before the view gets its own.
        for op in graph.file_order() {
            match graph.op(op).kind.role() {
                Role::Concat => make_view(&mut storage, graph, op),
                Role::Accumulate => accumulate(&mut storage, graph, op),
                Role::Compute => {}
            }
        }
        storage
    }

    fn accumulates(&self) -> bool {
        true
    }
}

/// The output of a concatenation lies where its pieces lie.
fn make_view(storage: &mut Storage, graph: &Graph, op: OpId) {
    let op = graph.op(op);
    let [view] = op.outputs[..] else { return };
    if op.inputs.is_empty() {
        return;
    }
    let mut pieces: Vec<BufferId> =
        op.inputs.iter().flat_map(|t| storage.of[t.index()].iter().copied()).collect();
    pieces.sort_unstable();
    pieces.dedup();
    storage.of[view.index()] = pieces;
    storage.is_view[view.index()] = true;
}

/// Partial results share the buffer of their sum, if nobody else wants to see them.
pub(crate) fn accumulate(storage: &mut Storage, graph: &Graph, op: OpId) {
    let (id, op) = (op, graph.op(op));
    let [sum] = op.outputs[..] else { return };
    let private = |&t: &TensorId| {
        graph.producer(t).is_some_and(|p| graph.op(p).kind.role() == Role::Compute)
            && graph.consumers(t) == [id]
            && !graph.is_output(t)
    };
    if !op.inputs.iter().all(private) {
        return;
    }
    for partial in &op.inputs {
        let bytes = storage.bytes[partial.index()];
        storage.bytes[sum.index()] = storage.bytes[sum.index()].max(bytes);
        storage.of[partial.index()] = vec![BufferId(sum.0)];
    }
}
