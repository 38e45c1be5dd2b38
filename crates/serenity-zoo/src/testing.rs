//! What the tests of several files need: the order of Kahn, and a small exact search.

use serenity_ir::{Graph, OpId};
use serenity_runtimes::{MemoryModel, MemoryModelExt};
use std::collections::{HashMap, VecDeque};

/// First in, first out: what is ready at the start enters by index, then each op that becomes ready, by index.
pub(crate) fn kahn(graph: &Graph) -> Vec<OpId> {
    let mut waits_for: Vec<usize> = graph.op_ids().map(|op| graph.predecessors(op).len()).collect();
    let mut queue: VecDeque<OpId> = graph.op_ids().filter(|op| waits_for[op.index()] == 0).collect();
    let mut order = Vec::new();
    while let Some(op) = queue.pop_front() {
        order.push(op);
        let outputs = graph.op(op).outputs.iter();
        let mut readers: Vec<OpId> = outputs.flat_map(|&t| graph.consumers(t).iter().copied()).collect();
        readers.sort_unstable();
        readers.dedup();
        for reader in readers {
            waits_for[reader.index()] -= 1;
            if waits_for[reader.index()] == 0 {
                queue.push_back(reader);
            }
        }
    }
    order
}

/// The peak of the order of Kahn.
pub(crate) fn kahn_peak(graph: &Graph, model: MemoryModel) -> u64 {
    model.lifetimes(graph).profile(&kahn(graph)).peak()
}

/// The least peak of all orders, by dynamic programming over the sets of ops that have run. For at most 64 ops with
/// few parallel branches.
pub(crate) fn optimal_peak(graph: &Graph, model: MemoryModel) -> u64 {
    let lifetimes = model.lifetimes(graph);
    let set = |ops: &[OpId]| ops.iter().fold(0_u64, |set, op| set | 1 << op.index());
    let buffers: Vec<_> = lifetimes.buffers().iter().map(|b| (b, set(&b.writers), set(&b.readers))).collect();
    let needs: Vec<u64> = graph.op_ids().map(|op| set(&graph.predecessors(op))).collect();
    let during = |done: u64, op: usize| -> u64 {
        let alive = buffers.iter().filter(|(buffer, writers, readers)| {
            let born = buffer.from_start || writers & (done | 1 << op) != 0;
            born && (buffer.to_end || readers & !done != 0)
        });
        alive.map(|(buffer, _, _)| buffer.bytes).sum()
    };
    let mut level: HashMap<u64, u64> = HashMap::from([(0, 0)]);
    for _ in 0..needs.len() {
        let mut next = HashMap::new();
        for (&done, &peak) in &level {
            for op in (0..needs.len()).filter(|&op| done >> op & 1 == 0 && needs[op] & !done == 0) {
                let peak = peak.max(during(done, op));
                next.entry(done | 1 << op)
                    .and_modify(|best: &mut u64| *best = peak.min(*best))
                    .or_insert(peak);
            }
        }
        level = next;
    }
    level.into_values().min().expect("a graph has an order")
}
