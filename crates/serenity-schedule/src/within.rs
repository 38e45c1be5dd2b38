//! All orders within a budget: how many partial schedules a search over them keeps, and some of them, each drawn with
//! equal probability.
//!
//! The sets of executed ops that orders within the budget pass are found level by level, as the dynamic programming
//! does. From the last to the first, the number of ways to go on from a set is the sum over its moves; a walk from the
//! empty set that takes every move with the share of the ways behind it draws all orders alike.

use crate::distribution::CountError;
use crate::rng::{Rng, hash_keys};
use crate::set_table::{Move, SetTable};
use crate::{Limits, OpIndex, Problem, bits};
use serenity_search::Watch;

/// The orders within a budget.
#[derive(Clone, Debug, PartialEq)]
pub struct Within {
    /// Sets of executed ops that a search under this budget visits.
    pub states: u64,
    /// The number of orders, to the precision of a float; 0 if the budget is too small for any.
    pub orders: f64,
    /// The drawn orders; empty if there are none within the budget.
    pub drawn: Vec<Vec<OpIndex>>,
}

/// A way from a set of executed ops to one of the next level.
#[derive(Clone, Copy)]
struct Edge {
    from: u32,
    to: u32,
    op: u32,
}

/// Visits all orders that need no more than `budget`, and draws `count` of them. Equal seeds draw equal orders on every
/// machine.
///
/// # Errors
/// If a limit ended it.
///
/// ```
/// use serenity_schedule::{Buffer, Limits, OpIndex, Problem, within::orders_within};
/// let kept = |op: u32| Buffer::produced(1, OpIndex(op), []).kept();
/// let problem = Problem::new(3, (0..3).map(kept).collect(), [(OpIndex(0), OpIndex(1))]).unwrap();
/// let found = orders_within(&problem, 3, 10, 1, &Limits::default()).unwrap();
/// assert_eq!((found.orders, found.drawn.len()), (3.0, 10));
/// ```
pub fn orders_within(
    problem: &Problem,
    budget: u64,
    count: usize,
    seed: u64,
    limits: &Limits,
) -> Result<Within, CountError> {
    let keys = hash_keys(problem.ops);
    let mut watch = Watch::new(limits, None);
    let (mut levels, mut sizes): (Vec<Vec<Edge>>, Vec<usize>) = (Vec::new(), Vec::new());
    let mut found = Within { states: 0, orders: 0.0, drawn: Vec::new() };
    if problem.at_start() > budget {
        return Ok(found);
    }
    let mut current = SetTable::start(problem);
    let mut edges_memory = 0;
    let work = 2 * problem.words() as u64 + 16;
    for _ in 0..problem.len() {
        let mut next = SetTable::new(problem);
        let mut edges = Vec::new();
        for from in 0..current.len() {
            found.states += 1;
            for op in bits::iter(current.ready(from)) {
                if watch.time_to_look(work)
                    && let Some(reason) = watch.stop(current.memory() + next.memory() + edges_memory)
                {
                    return Err(CountError::Stopped(reason));
                }
                let during = current.in_use(from) + problem.allocated(current.done(from), op);
                if during > budget {
                    continue;
                }
                let step = Move { from, op, key: keys[op as usize], during };
                let (to, _) = next.reach(problem, &current, step);
                edges.push(Edge { from: from as u32, to: to as u32, op });
            }
        }
        edges_memory += (edges.capacity() * size_of::<Edge>()) as u64;
        levels.push(edges);
        sizes.push(current.len());
        current = next;
    }
    if current.len() == 0 {
        return Ok(found);
    }
    // By level, by set: the ways from there to the end.
    let mut ways: Vec<Vec<f64>> = vec![vec![1.0]];
    for (edges, &sets) in levels.iter().zip(&sizes).rev() {
        let behind = &ways[ways.len() - 1];
        let mut here = vec![0.0; sets];
        for edge in edges {
            here[edge.from as usize] += behind[edge.to as usize];
        }
        ways.push(here);
    }
    ways.reverse();
    found.orders = ways[0][0];
    let mut random = Rng::new(seed);
    found.drawn = (0..count).map(|_| draw(&levels, &ways, &mut random)).collect();
    Ok(found)
}

fn draw(levels: &[Vec<Edge>], ways: &[Vec<f64>], random: &mut Rng) -> Vec<OpIndex> {
    /// As many different numbers as a float between 0 and 1 can tell apart.
    const FINEST: u64 = 1 << 53;
    let mut at = 0_u32;
    let mut order = Vec::with_capacity(levels.len());
    for (level, edges) in levels.iter().enumerate() {
        let share = random.below(FINEST) as f64 / FINEST as f64;
        let mut left = share * ways[level][at as usize];
        // Edges come in the order of the sets that they leave.
        let first = edges.partition_point(|edge| edge.from < at);
        let mut taken = None;
        for edge in edges[first..].iter().take_while(|edge| edge.from == at) {
            let behind = ways[level + 1][edge.to as usize];
            if behind > 0.0 {
                taken = Some(edge);
                left -= behind;
                if left < 0.0 {
                    break;
                }
            }
        }
        // A set with a way to the end has an edge that is one.
        let Some(edge) = taken else { return order };
        order.push(OpIndex(edge.op));
        at = edge.to;
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Buffer;
    use crate::distribution;
    use std::collections::BTreeMap;

    /// Four ops, the last of which reads the results of the first two: some orders need less than others.
    fn problem() -> Problem {
        let buffers = vec![
            Buffer::produced(4, OpIndex(0), [OpIndex(3)]),
            Buffer::produced(2, OpIndex(1), [OpIndex(3)]),
            Buffer::produced(8, OpIndex(2), []),
            Buffer::produced(1, OpIndex(3), []).kept(),
        ];
        Problem::new(4, buffers, []).unwrap()
    }

    #[test]
    fn they_are_as_many_as_are_counted_and_each_is_drawn_as_often() {
        let limits = Limits::default();
        let all = distribution::count(&problem(), &limits, None).unwrap();
        for (budget, _) in all.peaks() {
            let found = orders_within(&problem(), budget, 6_000, 7, &limits).unwrap();
            assert_eq!(found.orders as u128, all.within(budget));
            let mut often: BTreeMap<Vec<u32>, u64> = BTreeMap::new();
            for order in &found.drawn {
                *often.entry(order.iter().map(|op| op.0).collect()).or_default() += 1;
            }
            assert_eq!(often.len() as u128, all.within(budget), "all of them");
            let fair = 6_000.0 / found.orders;
            assert!(often.values().all(|&times| (times as f64 - fair).abs() < 0.15 * fair), "{often:?}");
        }
        let none = orders_within(&problem(), all.quantile(0.0).unwrap() - 1, 5, 1, &limits).unwrap();
        assert!(none.drawn.is_empty() && none.orders < 1.0);
    }
}
