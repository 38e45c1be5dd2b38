//! The least peak where some ops need less if they run late.
//!
//! An op that may write its result over what it reads can do so if it is the last that reads it: in some orders, not in others. Both buffers are then one while it runs. With `s(X,u)` the bytes that `u` saves in this way
//! after `X`,
//!
//! ```text
//! during(X,u) = max(f(X), f(X + u), f(X) + sizes that u brings to life - s(X,u))
//! ```
//!
//! depends on the set alone, as everything else does: the sets of executed ops with the least peak at which each can be reached, lowest first, settle it.
//!
//! **Moves that cost nothing.** Let all that happened be within `t`, `during(X,u) <= t` and `f(X + u) <= f(X)`. Then `u` may run at once: take any order within `t` from `X` on, and move `u` to its front. `f` is submodular, so
//! every set is passed with `u` in it at no more than before. Another op `w` brings no more to life, and saves as much of that as before: whatever had run has run, and what it reads it still keeps in use.

use crate::{OpIndex, Problem, bits};
use serenity_search::{Limits, Watch};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};

/// Sets that are looked at before the search ends with what it has proved: a fraction of a second.
const MOST_SETS: u64 = 1 << 15;

/// What an op saves while it runs, if it runs late.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saving {
    /// The op.
    pub op: OpIndex,
    /// Bytes that it brings to life and need not, if all ops of one of the lists have run.
    pub bytes: u64,
    /// These lists.
    pub once: Vec<Vec<OpIndex>>,
}

/// What is known of all orders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WithSavings {
    /// No order peaks below this.
    pub at_least: u64,
    /// An order that peaks there, unless a limit ended the search.
    pub order: Option<Vec<OpIndex>>,
}

/// A set of executed ops.
struct Set {
    done: Vec<u64>,
    ready: Vec<u64>,
    in_use: u64,
    /// The least peak at which it was reached.
    peak: u64,
    /// Where it was reached from, and by which ops.
    before: usize,
    ops: Vec<u32>,
}

/// Finds the least peak of all orders, with what ops save; `floor` is known to be none too high.
pub fn with_savings(problem: &Problem, savings: &[Saving], floor: u64, limits: &Limits) -> WithSavings {
    let costs = Costs::new(problem, savings);
    let mut watch = Watch::new(limits, None);
    let start = Set {
        done: vec![0; problem.words()],
        ready: problem.sources(),
        in_use: problem.at_start(),
        peak: problem.at_start().max(floor),
        before: 0,
        ops: Vec::new(),
    };
    let mut sets = vec![costs.settled(start)];
    let mut known: HashSet<Vec<u64>> = HashSet::new();
    let mut open = BinaryHeap::from([(Reverse(sets[0].peak), sets[0].ops.len(), 0)]);
    while let Some((Reverse(at_least), length, at)) = open.pop() {
        if !known.insert(sets[at].done.clone()) {
            continue;
        }
        if length == problem.len() {
            return WithSavings { at_least, order: Some(read_back(&sets, at)) };
        }
        watch.visit(1);
        // A set is copied for every op that can run next.
        let words = (length as u64 + 1) * 4 * problem.words() as u64;
        let is_over = watch.time_to_look(words) && watch.stop(0).is_some();
        if watch.states > MOST_SETS || is_over {
            return WithSavings { at_least, order: None };
        }
        for op in bits::iter(&sets[at].ready).collect::<Vec<_>>() {
            let next = costs.settled(costs.after(&sets[at], at, op));
            if !known.contains(&next.done) {
                open.push((Reverse(next.peak), length + next.ops.len(), sets.len()));
                sets.push(next);
            }
        }
    }
    WithSavings { at_least: floor, order: None }
}

fn read_back(sets: &[Set], last: usize) -> Vec<OpIndex> {
    let mut order = Vec::new();
    let mut at = last;
    loop {
        order.extend(sets[at].ops.iter().rev().map(|&op| OpIndex(op)));
        if at == 0 {
            order.reverse();
            return order;
        }
        at = sets[at].before;
    }
}

/// What ops cost, by what has run.
struct Costs<'a> {
    problem: &'a Problem,
    /// By op: bytes, and the sets one of which must have run.
    savings: Vec<Vec<(u64, Vec<Vec<u64>>)>>,
}

impl<'a> Costs<'a> {
    fn new(problem: &'a Problem, list: &[Saving]) -> Self {
        let mut savings = vec![Vec::new(); problem.len()];
        for Saving { op, bytes, once } in list {
            let set_of = |ops: &Vec<OpIndex>| {
                let mut set = vec![0; problem.words()];
                for op in ops {
                    bits::insert(&mut set, op.0);
                }
                set
            };
            savings[op.index()].push((*bytes, once.iter().map(set_of).collect()));
        }
        Self { problem, savings }
    }

    /// Memory in use while `op` runs, and after.
    fn of(&self, set: &Set, op: u32) -> (u64, u64) {
        let has_run = |ops: &Vec<u64>| ops.iter().zip(&set.done).all(|(wanted, done)| wanted & !done == 0);
        let applies = |(_, once): &&(u64, Vec<Vec<u64>>)| once.iter().any(has_run);
        let saved: u64 = self.savings[op as usize].iter().filter(applies).map(|(bytes, _)| bytes).sum();
        let full = set.in_use + self.problem.allocated(&set.done, op);
        let after = full - self.problem.freed(&set.done, op);
        (full.saturating_sub(saved).max(set.in_use).max(after), after)
    }

    fn run(&self, set: &mut Set, op: u32) {
        let (during, after) = self.of(set, op);
        (set.peak, set.in_use) = (set.peak.max(during), after);
        bits::insert(&mut set.done, op);
        self.problem.advance(&set.done, &mut set.ready, op);
        set.ops.push(op);
    }

    /// One op later.
    fn after(&self, set: &Set, at: usize, op: u32) -> Set {
        let (done, ready) = (set.done.clone(), set.ready.clone());
        let mut next = Set { done, ready, before: at, ops: Vec::new(), ..*set };
        self.run(&mut next, op);
        next
    }

    /// After all moves that cost nothing.
    fn settled(&self, mut set: Set) -> Set {
        loop {
            let is_free = |&op: &u32| {
                let (during, after) = self.of(&set, op);
                during <= set.peak && after <= set.in_use
            };
            let Some(op) = bits::iter(&set.ready).find(is_free) else { return set };
            self.run(&mut set, op);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Buffer, Options, schedule};

    /// `length` ops in a row, each of which reads what the one before has written and what all began with.
    fn ladder(length: u32) -> Problem {
        let mut buffers = vec![Buffer::given(8, (0..length).map(OpIndex))];
        buffers.extend((0..length).map(|op| {
            let next = (op + 1 < length).then_some(OpIndex(op + 1));
            Buffer::produced(8, OpIndex(op), next)
        }));
        Problem::new(length, buffers, []).unwrap()
    }

    #[test]
    fn nothing_saved_is_the_least_peak() {
        let problem = ladder(5);
        let least = schedule(&problem, &Options::default()).peak;
        let found = with_savings(&problem, &[], 0, &Limits::default());
        assert_eq!((found.at_least, least), (24, 24));
        assert_eq!(found.order.map(|order| order.len()), Some(5));
    }

    #[test]
    fn what_is_saved_late_counts_only_then() {
        // Two read what a third gives, and either may write over it, but only as the last: 0 -> 1, 0 -> 2, both -> 3.
        let op = OpIndex;
        let buffers = vec![
            Buffer::produced(8, op(0), [op(1), op(2)]),
            Buffer::produced(8, op(1), [op(3)]),
            Buffer::produced(8, op(2), [op(3)]),
            Buffer::produced(8, op(3), []).kept(),
        ];
        let problem = Problem::new(4, buffers, []).unwrap();
        let over =
            |op: u32, after: u32| Saving { op: OpIndex(op), bytes: 8, once: vec![vec![OpIndex(after)]] };
        let last = Saving { op: op(3), bytes: 8, once: vec![vec![]] };
        assert_eq!(with_savings(&problem, &[], 0, &Limits::default()).at_least, 24);
        let found = with_savings(&problem, &[over(1, 2), over(2, 1), last], 0, &Limits::default());
        assert_eq!(found.at_least, 16);
    }

    #[test]
    fn a_floor_that_is_reached_ends_it() {
        assert_eq!(with_savings(&ladder(4), &[], 30, &Limits::default()).at_least, 30);
    }
}
