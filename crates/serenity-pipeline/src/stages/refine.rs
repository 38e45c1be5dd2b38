//! Improves an order for a runtime's own planner by moving single ops.
//!
//! The planners of the runtimes are greedy: an order with a lower peak may get a larger arena. Ops are moved one at a
//! time, as early or as late as they can go, while that shrinks the arena, or keeps it and shortens lifetimes.

use serenity_ir::{Graph, Lifetimes, OpId};
use std::ops::RangeInclusive;

/// The arena, the peak, and bytes times steps, compared in this order: less is better.
pub(crate) type Cost = (u64, u64, u128);

/// An order that was judged.
pub(crate) struct Judged {
    pub(crate) cost: Cost,
    /// The first and last position at which it needs all of its arena. `None` if that is unknown, or if a move can
    /// change what is needed at other positions than it moves ops between.
    pub(crate) highest: Option<(usize, usize)>,
}

impl Judged {
    pub(crate) fn of(cost: Cost) -> Self {
        Self { cost, highest: None }
    }

    /// Could an order that differs only at these positions have a smaller arena?
    fn may_shrink(&self, changed: &RangeInclusive<usize>) -> bool {
        self.highest.is_none_or(|(first, last)| changed.contains(&first) && changed.contains(&last))
    }
}

/// The peak of an order, and bytes times steps.
pub(crate) fn spread(lifetimes: &Lifetimes, order: &[OpId]) -> (u64, u128) {
    // Called for thousands of orders, so it makes only two allocations, unlike a whole profile.
    let place = positions(order);
    let mut changes = vec![0_i128; order.len() + 1];
    let mut bytes_times_steps = 0;
    for buffer in lifetimes.buffers() {
        let at = |op: &OpId| place[op.index()];
        let first = if buffer.from_start { 0 } else { buffer.writers.iter().map(at).min().unwrap_or(0) };
        let last = buffer.readers.iter().map(at).max().filter(|_| !buffer.to_end);
        let end = last.map_or(order.len(), |last| last + 1);
        changes[first] += i128::from(buffer.bytes);
        changes[end] -= i128::from(buffer.bytes);
        bytes_times_steps += u128::from(buffer.bytes) * (end - first) as u128;
    }
    let in_use = changes.iter().scan(0, |sum, change| {
        *sum += change;
        Some(*sum)
    });
    (in_use.max().and_then(|peak| u64::try_from(peak).ok()).unwrap_or(0), bytes_times_steps)
}

/// The best order found from `start`, with its cost. Ends when no single move helps, when the arena is down to
/// `target`, when the limit on visited steps is reached, or when `stop` says so.
///
/// `judge` gets an order and, if only its spread can make it better than the best so far, the cost to beat: then it may
/// return `None`.
pub(crate) fn refine(
    graph: &Graph,
    start: Vec<OpId>,
    (target, steps): (u64, usize),
    judge: impl Fn(&[OpId], Option<&Cost>) -> Option<Judged>,
    stop: impl Fn() -> bool,
) -> (Vec<OpId>, Cost) {
    let mut order = start;
    let mut best = judge(&order, None).unwrap_or(Judged::of((u64::MAX, u64::MAX, u128::MAX)));
    let mut left = steps / order.len().max(1);
    let mut improved = true;
    while improved && best.cost.0 > target {
        improved = false;
        for op in graph.op_ids() {
            let (earliest, now, latest) = window(graph, &order, op);
            for place in [earliest, latest].into_iter().filter(|&place| place != now) {
                if left == 0 || best.cost.0 <= target || stop() {
                    return (order, best.cost);
                }
                left -= 1;
                let moved = with_moved(&order, op, place);
                let may_shrink = best.may_shrink(&(place.min(now)..=place.max(now)));
                let to_beat = (!may_shrink).then_some(&best.cost);
                if let Some(other) = judge(&moved, to_beat).filter(|other| other.cost < best.cost) {
                    (order, best, improved) = (moved, other, true);
                }
            }
        }
    }
    (order, best.cost)
}

/// The position of each op.
fn positions(order: &[OpId]) -> Vec<usize> {
    let mut place = vec![0; order.len()];
    for (position, op) in order.iter().enumerate() {
        place[op.index()] = position;
    }
    place
}

/// The earliest position that `op` can move to, its own, and the latest.
pub fn window(graph: &Graph, order: &[OpId], op: OpId) -> (usize, usize, usize) {
    let place = positions(order);
    let at = |op: &OpId| place[op.index()];
    let now = at(&op);
    let earliest = graph.predecessors(op).iter().map(at).max().map_or(0, |last| last + 1);
    let readers = graph.op(op).outputs.iter().flat_map(|&t| graph.consumers(t));
    let latest = readers.map(at).min().unwrap_or(order.len()) - 1;
    (earliest, now, latest)
}

/// The order with `op` moved to position `to`.
pub fn with_moved(order: &[OpId], op: OpId, to: usize) -> Vec<OpId> {
    let mut moved: Vec<OpId> = order.iter().copied().filter(|&other| other != op).collect();
    moved.insert(to, op);
    moved
}
