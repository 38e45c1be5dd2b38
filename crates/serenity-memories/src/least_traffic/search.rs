//! Looking around an order for one that moves less.
//!
//! Ops are moved one at a time while that lowers the traffic of a quick plan, or keeps it and brings the ops that touch a buffer closer together.

use serenity_ir::{Graph, OpId};
use serenity_pipeline::Options;
use serenity_pipeline::stages::order::unchecked;
use serenity_pipeline::stages::refine;
use serenity_pipeline::stages::refine::with_moved;
use serenity_schedule::Algorithm;
use serenity_traffic::Touches;

/// Steps of orders looked at for one on-chip size, at most: a second or two, and a fixed number, so that the result does not depend on the clock.
const MOST_STEPS: usize = 600_000;

/// Places tried for one op in one round, at most.
const MOST_PLACES: usize = 12;

/// From so many of the best orders known the search sets out.
const MOST_STARTS: usize = 2;

/// Less is better: bytes moved, then bytes times steps.
type Cost = (u64, u128);

/// Orders worth starting from: those given, and the ones that heuristics make.
pub(super) fn starts(graph: &Graph, mut orders: Vec<Vec<OpId>>, options: &Options) -> Vec<Vec<OpId>> {
    let by = |algorithm| unchecked(graph, &Options { algorithm, ..options.clone() }).order;
    orders.extend([Algorithm::Dfs, Algorithm::Greedy].map(by));
    orders
}

/// The best order found from `starts` on, for `on_chip` bytes.
pub(super) fn search(
    graph: &Graph,
    touches: &Touches,
    starts: &[Vec<OpId>],
    on_chip: u64,
    is_over: &dyn Fn() -> bool,
) -> Vec<OpId> {
    let cost = |order: &[OpId]| -> Cost {
        let demand = touches.in_order(order);
        (demand.estimate(on_chip).bytes(), demand.residence())
    };
    let mut known: Vec<(Cost, &Vec<OpId>)> = starts.iter().map(|order| (cost(order), order)).collect();
    known.sort_by_key(|&(cost, _)| cost);
    known.dedup_by(|a, b| a.1 == b.1);
    let mut best = (known[0].0, known[0].1.clone());
    for (start_cost, start) in known.into_iter().take(MOST_STARTS) {
        let found = climb(graph, start.clone(), start_cost, &cost, is_over);
        if found.0 < best.0 {
            best = found;
        }
    }
    best.1
}

/// Moves ops while that helps.
fn climb(
    graph: &Graph,
    start: Vec<OpId>,
    start_cost: Cost,
    cost: &dyn Fn(&[OpId]) -> Cost,
    is_over: &dyn Fn() -> bool,
) -> (Cost, Vec<OpId>) {
    let mut left = MOST_STEPS / MOST_STARTS / start.len().max(1);
    let (mut best, mut order) = (start_cost, start);
    let mut improved = true;
    while improved && best.0 > 0 {
        improved = false;
        for op in graph.op_ids() {
            for place in places(graph, &order, op) {
                if left == 0 || best.0 == 0 || is_over() {
                    return (best, order);
                }
                left -= 1;
                let moved = with_moved(&order, op, place);
                let moved_cost = cost(&moved);
                if moved_cost < best {
                    (order, best, improved) = (moved, moved_cost, true);
                    // Its places are others now; the next round will try them.
                    break;
                }
            }
        }
    }
    (best, order)
}

/// Places that `op` can move to: all, or some evenly spread over its window, both ends among them.
fn places(graph: &Graph, order: &[OpId], op: OpId) -> Vec<usize> {
    let (earliest, now, latest) = refine::window(graph, order, op);
    let width = latest - earliest;
    let count = width.clamp(1, MOST_PLACES - 1);
    let mut places: Vec<usize> = (0..=count).map(|i| earliest + i * width / count).collect();
    places.dedup();
    places.retain(|&place| place != now);
    places
}
