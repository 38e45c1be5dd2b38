//! The peak of one order, by giving all memory a birth and a death.

use crate::holdings::{Figure, Holding, Holdings, holdings};
use serenity_facts::MemoryModel;
use serenity_ir::{Graph, OpId};

/// The peak of `order`, which must be one that can run, and the first op at which it is reached; without ops, what is
/// there before and after.
///
/// # Panics
/// If `order` names an op that does not exist.
pub fn peak(graph: &Graph, model: MemoryModel, order: &[OpId]) -> (u64, Option<OpId>) {
    peak_of(&holdings(graph, model, Figure::Peak), order)
}

/// The peak of `order` in memory that is known already, and the first op at which it is reached.
pub(crate) fn peak_of(holdings: &Holdings, order: &[OpId]) -> (u64, Option<OpId>) {
    let mut time = vec![0; order.len()];
    for (position, op) in order.iter().enumerate() {
        time[op.index()] = position;
    }
    let end = order.len().saturating_sub(1);
    let mut changes = vec![0_i128; end + 2];
    for memory in holdings.iter() {
        let at = |op: &OpId| time[op.index()];
        // Both ends are included. What the caller provides is there from the first op on.
        let birth = memory.writers.iter().map(at).min().unwrap_or(0);
        let last_use = memory.readers.iter().map(at).max().unwrap_or(birth);
        let death = if memory.kept { end } else { last_use };
        changes[birth] += memory.bytes;
        changes[death + 1] -= memory.bytes;
    }
    let mut in_use = 0;
    let (mut peak, mut at) = (-1, 0);
    for (position, change) in changes[..=end].iter().enumerate() {
        in_use += change;
        let is_last = |memory: &Holding| {
            !memory.kept && memory.readers.iter().all(|reader| time[reader.index()] <= position)
        };
        let saved =
            order.get(position).map_or(0, |&op| holdings.in_place.saved(op, &holdings.tensors, is_last));
        if in_use - saved > peak {
            (peak, at) = (in_use - saved, position);
        }
    }
    (u64::try_from(peak).unwrap_or(if peak < 0 { 0 } else { u64::MAX }), order.get(at).copied())
}
