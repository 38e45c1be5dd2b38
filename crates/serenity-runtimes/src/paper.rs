//! The memory model of the paper's figures: a concatenation is a view, and partial results are written into one buffer.

use crate::Runtime;
use serenity_ir::{BufferId, Graph, OpId, Role, Storage, TensorId};

/// The most pieces that all readers of views together may need. A file can ask for the square of its size, or for more
/// if views hold views; this is a hundred times what the largest network of the literature has.
const MOST_WANTED_PIECES: usize = 1 << 22;

pub(crate) struct Paper;

impl Paper {
    /// Can its views be followed?
    pub(crate) fn can_follow(graph: &Graph) -> bool {
        storage(graph, MOST_WANTED_PIECES).is_some()
    }
}

impl Runtime for Paper {
    fn storage(&self, graph: &Graph) -> Storage {
        storage(graph, usize::MAX).unwrap_or_else(|| unreachable!("nothing is more than the largest number"))
    }

    fn accumulates(&self) -> bool {
        true
    }
}

/// `None` if readers of views want more than `most` pieces together.
fn storage(graph: &Graph, most: usize) -> Option<Storage> {
    let mut storage = Storage::one_buffer_a_tensor(graph);
    let mut wanted = 0_usize;
    // In an order that can run, the pieces of a view have their places before the view gets its own.
    for op in graph.file_order() {
        match graph.op(op).kind.role() {
            Role::Concat => make_view(&mut storage, graph, op),
            Role::Accumulate => accumulate(&mut storage, graph, op),
            Role::Compute => {}
        }
        for &view in graph.op(op).outputs.iter().filter(|view| storage.is_view[view.index()]) {
            let readers = graph.consumers(view).len();
            wanted = wanted.saturating_add(storage.of[view.index()].len().saturating_mul(1 + readers));
        }
        if wanted > most {
            return None;
        }
    }
    Some(storage)
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

/// Partial results share the buffer of their sum, if no other op reads them.
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
