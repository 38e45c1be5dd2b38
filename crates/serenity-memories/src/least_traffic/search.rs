//! Improves an order by moving single ops so that it moves fewer bytes.
//!
//! A move stays if it lowers the traffic of a quick plan, or keeps it and brings the ops that touch a buffer closer
//! together.

use serenity_ir::{Graph, OpId};
use serenity_pipeline::Options;
use serenity_pipeline::stages::order::unchecked;
use serenity_pipeline::stages::refine;
use serenity_pipeline::stages::refine::with_moved;
use serenity_schedule::Algorithm;
use serenity_traffic::Touches;

/// Steps of orders that are visited per on-chip size: a second or two, counted so that the result does not depend on
/// the clock.
const MOST_STEPS: usize = 600_000;

/// The most positions that are tried for one op in one round.
const MOST_PLACES: usize = 12;

/// The search starts from this many of the best known orders.
const MOST_STARTS: usize = 2;

/// Bytes moved, then bytes times steps: less is better.
type Cost = (u64, u128);

/// Orders to start from: the given ones, and those that heuristics make.
pub(super) fn starts(graph: &Graph, mut orders: Vec<Vec<OpId>>, options: &Options) -> Vec<Vec<OpId>> {
    let by = |algorithm| unchecked(graph, &Options { algorithm, ..options.clone() }).order;
    orders.extend([Algorithm::Dfs, Algorithm::Greedy].map(by));
    orders
}

/// The best order found from `starts`, for `on_chip` bytes.
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
                    // The positions of the op have changed; the next round will try them.
                    break;
                }
            }
        }
    }
    (best, order)
}

/// Positions that `op` can move to: all, or some evenly spread over its window, including both ends.
fn places(graph: &Graph, order: &[OpId], op: OpId) -> Vec<usize> {
    let (earliest, now, latest) = refine::window(graph, order, op);
    let width = latest - earliest;
    let count = width.clamp(1, MOST_PLACES - 1);
    let mut places: Vec<usize> = (0..=count).map(|i| earliest + i * width / count).collect();
    places.dedup();
    places.retain(|&place| place != now);
    places
}
