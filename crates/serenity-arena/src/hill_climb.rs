//! A search over orders for first fit, as in Arm's Vela and in TVM's unified static memory planner.
//!
//! Both start from an order of buffers, find what the topmost buffer rests on, exchange two of the buffers involved and
//! keep the new order unless it is worse. This is that idea with first fit and fixed random numbers, for comparison; it
//! proves nothing.

use crate::exact::Answer;
use crate::first_fit::{FirstFit, Packing};
use crate::{Problem, StopReason};
use serenity_search::{Random, Watch};

/// Orders that are tried.
const ATTEMPTS: usize = 1000;

/// Ends at once when the height is proved or within the capacity.
pub(crate) fn search(problem: &Problem, capacity: Option<u64>, bound: u64, watch: &mut Watch) -> Answer {
    let mut first_fit = FirstFit::new(problem);
    let mut order = first_fit.by_size();
    let mut best = first_fit.pack(&order, watch);
    let mut random = Random(1);
    let mut stopped = StopReason::Heuristic;
    for _ in 0..ATTEMPTS {
        if best.height <= bound || order.len() < 2 {
            break;
        }
        if capacity.is_some_and(|capacity| best.height <= capacity) {
            stopped = StopReason::Capacity;
            break;
        }
        (watch.best, watch.bound) = (best.height, bound);
        watch.states += 1;
        if let Some(reason) = watch.stop(0) {
            stopped = reason;
            break;
        }
        let (one, other) = exchange(problem, &order, &best, &mut random);
        order.swap(one, other);
        let packing = first_fit.pack(&order, watch);
        if packing.height <= best.height {
            best = packing;
        } else {
            order.swap(one, other);
        }
    }
    Answer { offsets: best.offsets, at_least: bound, stopped: Some(stopped) }
}

/// Two positions of the order to exchange: of the buffers below a topmost one, and of those that live with it.
fn exchange(problem: &Problem, order: &[usize], packing: &Packing, random: &mut Random) -> (usize, usize) {
    let buffers = problem.buffers();
    let is_topmost = |&&b: &&usize| packing.offsets[b] + buffers[b].size == packing.height;
    let topmost: Vec<usize> = order.iter().filter(is_topmost).copied().collect();
    // What is fixed may be the topmost; then any will do.
    let top = if topmost.is_empty() {
        order[random.index(order.len())]
    } else {
        topmost[random.index(topmost.len())]
    };
    let mut involved = vec![false; buffers.len()];
    let mut beneath = Some(top);
    while let Some(b) = beneath.filter(|&b| !involved[b]) {
        involved[b] = true;
        beneath = packing.supports[b];
    }
    let concerns = |b: usize| involved[b] || buffers[b].lives_with(&buffers[top]);
    let positions: Vec<usize> = (0..order.len()).filter(|&at| concerns(order[at])).collect();
    let one = positions[random.index(positions.len())];
    // The other one may be any that comes before, or else any.
    let other = if one > 0 { random.index(one) } else { random.index(order.len()) };
    (one, other)
}
