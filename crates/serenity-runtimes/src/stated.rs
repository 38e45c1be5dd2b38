//! Sharing that a graph states itself, for frameworks that know their own kernels: aliases, and outputs that may take
//! the place of an input ([`Op::in_place`](serenity_ir::Op::in_place)).
//!
//! An alias lies in the memory of the tensor that it renames, and both live as long as either is needed. An op may
//! write `y` over `x` if both have the same size, `x` is all of its memory, the op reads that memory only as `x`, the
//! caller does not need it, and all its other readers have run. All but the last follows from the graph; the last
//! depends on the order ([`HandOver`](serenity_ir::HandOver)).

use serenity_ir::{BufferId, Graph, OpId, Storage, TensorId};
use std::collections::BTreeSet;

/// The buffers of the tensors, and which of them may be written over which.
pub(crate) fn storage(graph: &Graph) -> Storage {
    let mut storage = Storage::one_buffer_a_tensor(graph);
    if !graph.states_sharing() {
        return storage;
    }
    for op in graph.file_order() {
        for &y in &graph.op(op).outputs {
            make_view(graph, op, y, &mut storage);
        }
    }
    storage.hand_overs = graph.op_ids().flat_map(|op| hand_overs(graph, op, &storage)).collect();
    storage
}

/// An alias lies where the tensors lie that it renames.
fn make_view(graph: &Graph, op: OpId, y: TensorId, storage: &mut Storage) {
    let pieces: BTreeSet<BufferId> = graph
        .op(op)
        .aliases()
        .filter(|(output, _)| *output == y)
        .flat_map(|(_, x)| storage.of[x.index()].clone())
        .collect();
    if !pieces.is_empty() {
        storage.of[y.index()] = pieces.into_iter().collect();
        storage.is_view[y.index()] = true;
    }
}

/// What an op may write over what, if it is the last reader.
fn hand_overs(graph: &Graph, op: OpId, storage: &Storage) -> Vec<(OpId, BufferId, BufferId)> {
    let inputs: BTreeSet<TensorId> = graph.op(op).inputs.iter().copied().collect();
    let reads_as =
        |buffer: BufferId| inputs.iter().filter(move |t| storage.of[t.index()].contains(&buffer)).count();
    let pair = |(y, x): (TensorId, TensorId)| {
        let [old] = storage.of[x.index()][..] else { return None };
        let is_whole = storage.bytes[old.index()] == graph.tensor(y).bytes;
        (is_whole && !storage.is_view[y.index()] && reads_as(old) == 1).then_some((op, BufferId(y.0), old))
    };
    graph.op(op).in_place().filter_map(pair).collect()
}
