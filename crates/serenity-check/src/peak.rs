//! The peak of one order, by giving all memory a birth and a death.

use crate::holdings::holdings;
use serenity_ir::{Graph, MemoryModel, OpId};

/// The peak of `order`, which must be one that can run, and the first op at which it is reached.
///
/// # Panics
/// If `order` is empty or names an op that does not exist.
pub fn peak(graph: &Graph, model: MemoryModel, order: &[OpId]) -> (u64, OpId) {
    let mut time = vec![0; order.len()];
    for (position, op) in order.iter().enumerate() {
        time[op.index()] = position;
    }
    let end = order.len() - 1;
    let mut changes = vec![0_i128; order.len() + 1];
    for memory in holdings(graph, model).iter() {
        let at = |op: &OpId| time[op.index()];
        // Both ends are included. What the caller provides is there from the first op on.
        let birth = memory.writers.iter().map(at).min().unwrap_or(0);
        let last_use = memory.readers.iter().map(at).max().unwrap_or(birth);
        let death = if memory.kept { end } else { last_use };
        changes[birth] += i128::from(memory.bytes);
        changes[death + 1] -= i128::from(memory.bytes);
    }
    let mut in_use = 0;
    let (mut peak, mut at) = (-1, 0);
    for (position, change) in changes[..order.len()].iter().enumerate() {
        in_use += change;
        if in_use > peak {
            (peak, at) = (in_use, position);
        }
    }
    (u64::try_from(peak).unwrap_or(0), order[at])
}
