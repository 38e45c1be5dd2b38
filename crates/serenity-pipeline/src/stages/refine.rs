//! Improves an order for a runtime's own planner by moving single ops.
//!
//! The planners of the runtimes are greedy: an order with a lower peak may get a larger arena. Ops are moved one at a
//! time, as early or as late as they can go, while that shrinks the arena, or keeps it and shortens lifetimes.

use serenity_ir::{Graph, Lifetimes, OpId};

/// The arena, the peak, and bytes times steps, compared in this order: less is better.
pub(crate) type Cost = (u64, u64, u128);

/// The cost of `order`; `arena` is the arena that the runtime makes of it.
pub(crate) fn cost(lifetimes: &Lifetimes, order: &[OpId], arena: u64) -> Cost {
    // Called for thousands of orders, so it makes only two allocations, unlike a whole profile.
    let mut place = vec![0; order.len()];
    for (position, op) in order.iter().enumerate() {
        place[op.index()] = position;
    }
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
    (arena, in_use.max().and_then(|peak| u64::try_from(peak).ok()).unwrap_or(0), bytes_times_steps)
}

/// The best order found from `start`, with its cost. Ends when no single move helps, when the arena is down to
/// `target`, when the limit on visited steps is reached, or when `stop` says so.
pub(crate) fn refine(
    graph: &Graph,
    start: Vec<OpId>,
    (target, steps): (u64, usize),
    evaluate: impl Fn(&[OpId]) -> Cost,
    stop: impl Fn() -> bool,
) -> (Vec<OpId>, Cost) {
    let mut best = evaluate(&start);
    let mut order = start;
    let mut left = steps / order.len().max(1);
    let mut improved = true;
    while improved && best.0 > target {
        improved = false;
        for op in graph.op_ids() {
            let (earliest, now, latest) = window(graph, &order, op);
            for place in [earliest, latest].into_iter().filter(|&place| place != now) {
                if left == 0 || best.0 <= target || stop() {
                    return (order, best);
                }
                left -= 1;
                let moved = with_moved(&order, op, place);
                let cost = evaluate(&moved);
                if cost < best {
                    (order, best, improved) = (moved, cost, true);
                }
            }
        }
    }
    (order, best)
}

/// The earliest position that `op` can move to, its own, and the latest.
pub fn window(graph: &Graph, order: &[OpId], op: OpId) -> (usize, usize, usize) {
    let mut place = vec![0; order.len()];
    for (position, op) in order.iter().enumerate() {
        place[op.index()] = position;
    }
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
