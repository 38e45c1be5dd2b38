//! Another order than the file's.

use serenity_ir::{Graph, OpId};

/// Always the op that the file lists last among those that can run: as unlike the file's order as can be.
pub(crate) fn another_order(graph: &Graph) -> Vec<OpId> {
    let mut waits_for: Vec<usize> = graph.op_ids().map(|op| graph.predecessors(op).len()).collect();
    let mut ready: Vec<OpId> = graph.op_ids().filter(|op| waits_for[op.index()] == 0).collect();
    let mut order = Vec::new();
    while let Some(op) = ready.pop() {
        order.push(op);
        let mut readers: Vec<OpId> =
            graph.op(op).outputs.iter().flat_map(|&t| graph.consumers(t)).copied().collect();
        readers.sort_unstable();
        readers.dedup();
        for reader in readers {
            waits_for[reader.index()] -= 1;
            if waits_for[reader.index()] == 0 {
                ready.push(reader);
            }
        }
        ready.sort_unstable();
    }
    order
}
