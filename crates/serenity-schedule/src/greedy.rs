//! The greedy heuristic: always runs the ready op that leaves the least memory in use.

use crate::Problem;
use crate::walk::{Waiting, Walk};
use std::collections::BTreeSet;

/// What decides: memory left in use, memory needed while it runs, the op itself.
type Cost = (i64, u64, u32);

/// Always runs the ready op that leaves the least memory in use; of several, the one that needs the least while it runs; of
/// several, the first.
///
/// Running an op changes what another costs only where they share a buffer that comes to life or has one reader left, and each
/// buffer does either once: `O(e log n)` for `e` edges between ops and buffers.
pub(crate) fn order(problem: &Problem) -> Vec<u32> {
    order_and_work(problem).0
}

/// The order, and how often the cost of an op was found to have changed.
fn order_and_work(problem: &Problem) -> (Vec<u32>, u64) {
    let mut work = 0;
    let mut walk = Walk::new(problem);
    let mut waiting = Waiting::new(problem);
    let mut ready: BTreeSet<Cost> = waiting.ready().map(|op| cost(&walk, op)).collect();
    let mut order = Vec::with_capacity(problem.len());
    let mut stale = Vec::new();
    while let Some((_, _, op)) = ready.pop_first() {
        walk.run_and_tell(op, |before, other| {
            work += 1;
            if ready.remove(&cost(before, other)) {
                stale.push(other);
            }
        });
        ready.extend(stale.drain(..).map(|other| cost(&walk, other)));
        waiting.run(problem, op, |next| {
            ready.insert(cost(&walk, next));
        });
        order.push(op);
    }
    (order, work)
}

fn cost(walk: &Walk, op: u32) -> Cost {
    let (allocated, freed) = (walk.allocated(op), walk.freed(op));
    (allocated as i64 - freed as i64, allocated, op)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Buffer, OpIndex, bits};

    /// The rule itself, with every cost computed anew at every step.
    fn by_definition(problem: &Problem) -> Vec<u32> {
        let mut done = vec![0; problem.words()];
        let mut ready = problem.sources();
        let mut order = Vec::new();
        loop {
            let cost = |op: u32| {
                let allocated = problem.allocated(&done, op);
                (allocated as i64 - problem.freed(&done, op) as i64, allocated, op)
            };
            let Some((_, _, op)) = bits::iter(&ready).map(cost).min() else { return order };
            bits::insert(&mut done, op);
            problem.advance(&done, &mut ready, op);
            order.push(op);
        }
    }

    #[test]
    fn keeping_costs_up_to_date_gives_the_order_of_the_definition() {
        let mut random = crate::rng::Rng::new(7);
        for _ in 0..300 {
            let ops = 2 + random.below(12) as u32;
            let mut draw = |count: u64| -> Vec<OpIndex> {
                (0..=random.below(count)).map(|_| OpIndex(random.below(u64::from(ops)) as u32)).collect()
            };
            let buffers = (0..ops)
                .map(|_| {
                    let (from_start, to_end) = (draw(3).len() == 1, draw(3).len() == 1);
                    let bytes = 1 + draw(20).len() as u64;
                    Buffer { bytes, writers: draw(3), readers: draw(4), from_start, to_end }
                })
                .collect();
            // Ops of one writer order its readers, so not every draw is acyclic.
            if let Ok(problem) = Problem::new(ops, buffers, []) {
                assert_eq!(order(&problem), by_definition(&problem), "{problem:?}");
            }
        }
    }

    #[test]
    fn what_is_handed_over_is_kept_up_to_date_too() {
        for problem in crate::exact::testing::with_hand_overs(3) {
            assert_eq!(order(&problem), by_definition(&problem), "{problem:?}");
        }
    }

    #[test]
    fn a_wide_star_changes_few_costs() {
        let readers = 20_000;
        let mut buffers = vec![Buffer::given(1, (0..readers).map(OpIndex))];
        buffers.extend((0..readers).map(|op| Buffer::produced(2, OpIndex(op), [OpIndex(readers)])));
        let problem = Problem::new(readers + 1, buffers, []).unwrap();
        let (order, work) = order_and_work(&problem);
        assert_eq!(order.len(), problem.len());
        // That of the last reader of a buffer changes once, and every buffer has one.
        assert!(work <= u64::from(2 * readers), "{work}");
    }
}
