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
//!
//! **Valleys.** Rule R1 holds as it stands: `T ∪ C_i` in place of `C_i` lets every op run later. So where something as low as the start is reached, the search goes on from the lowest set between, if the ops that lead there do so
//! within the same peak: by R3 they do if savings are sure, and otherwise it is seen.
//!
//! **Waypoints.** If every op saves the same `s(u)` after whatever set, rules R4 and R5 hold as they stand. Of a chain `C_i` that comes to run `u`, they take `C_i ∩ M` or `C_i ∪ M` instead, with `u` begun in it; `f` is
//! submodular on sets of ops begun and ended, and at the waypoint `M` none is under way, so `f` after, before and with `u` begun is at most what it was, and `s(u)` comes off on both sides. So the problem in which all savings are sure falls
//! into parts. Its least peak is a bound for the one in which some are not; if an order of it saves all that this one has, it is the answer. An op that reads but one tensor saves nothing by a saving that it should
//! not have: what it does not let go is in use after it, and that counts as well.

use crate::exact::{self, LARGEST_WHOLE, commit};
use crate::{OpIndex, Problem, bits};
use serenity_search::{Limits, Watch};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};

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

/// Finds the least peak of all orders, with what ops save; `floor` is known to be none too high. Between two waypoints it looks at so many moves from one set
/// of executed ops to the next, and then ends with what it has proved.
pub fn with_savings(
    problem: &Problem,
    savings: &[Saving],
    floor: u64,
    most_moves: u64,
    limits: &Limits,
) -> WithSavings {
    let costs = Costs::new(problem, savings);
    let mut watch = Watch::new(limits, None);
    let found = in_parts(problem, &costs.at_most(), floor, most_moves, &mut watch);
    let is_reached = found.order.as_ref().is_some_and(|order| costs.peak_of(order) <= found.at_least);
    if is_reached || costs.are_sure() || problem.len() > LARGEST_WHOLE {
        return WithSavings { order: found.order.filter(|_| is_reached), ..found };
    }
    costs.search(found.at_least, most_moves, &mut watch)
}

/// The same if ops save what they can, late or not, from part to part between waypoints: a bound for those that do not.
fn in_parts(
    problem: &Problem,
    savings: &[u64],
    floor: u64,
    most_moves: u64,
    watch: &mut Watch,
) -> WithSavings {
    let mut found = WithSavings { at_least: floor, order: Some(Vec::new()) };
    for part in exact::between_waypoints(problem, &watch.stopper()) {
        let savings = part.ops.iter().map(|&op| savings[op as usize]);
        let once = || vec![Vec::new()];
        let costs = Costs {
            problem: &part.problem,
            savings: savings
                .map(|bytes| if bytes > 0 { vec![(bytes, once())] } else { Vec::new() })
                .collect(),
        };
        if part.problem.len() > LARGEST_WHOLE {
            found.order = None;
            continue;
        }
        let best = costs.search(found.at_least, most_moves, watch);
        found.at_least = best.at_least;
        found.order = found.order.zip(best.order).map(|(mut all, order)| {
            all.extend(order.iter().map(|op| OpIndex(part.ops[op.index()])));
            all
        });
    }
    found
}

/// Where a search has come to.
enum Valley {
    /// Nowhere yet; no order peaks below this.
    None { at_least: u64 },
    /// A set that some best order passes through, and how to get there.
    At { set: Set, ops: Vec<u32> },
    /// The end, at this peak.
    End { peak: u64, ops: Vec<u32> },
}

/// The ops from the first of the sets to the one at `at`.
fn way_to(sets: &[Set], mut at: usize) -> Vec<u32> {
    let mut ops = Vec::new();
    while at > 0 {
        ops.extend(sets[at].ops.iter().rev());
        at = sets[at].before;
    }
    ops.reverse();
    ops
}

impl Set {
    /// When it is its turn, as a heap takes the largest.
    fn turn(&self, at: usize) -> (Reverse<u64>, Reverse<u64>, usize, usize) {
        let size = self.done.iter().map(|word| word.count_ones() as usize).sum();
        (Reverse(self.peak), Reverse(self.in_use), size, at)
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
            // No words where there are no ops: a graph may have a saving for each op.
            let set_of = |ops: &Vec<OpIndex>| {
                let mut set = vec![0; if ops.is_empty() { 0 } else { problem.words() }];
                for op in ops {
                    bits::insert(&mut set, op.0);
                }
                set
            };
            savings[op.index()].push((*bytes, once.iter().map(set_of).collect()));
        }
        Self { problem, savings }
    }

    /// What each op saves if it runs late enough for all of it.
    fn at_most(&self) -> Vec<u64> {
        self.savings.iter().map(|list| list.iter().map(|(bytes, _)| bytes).sum()).collect()
    }

    /// Is everything saved whenever its op runs?
    fn are_sure(&self) -> bool {
        let is_empty = |ops: &Vec<u64>| ops.iter().all(|&word| word == 0);
        self.savings.iter().flatten().all(|(_, once)| once.iter().any(is_empty))
    }

    fn start(&self, floor: u64) -> Set {
        Set {
            done: vec![0; self.problem.words()],
            ready: self.problem.sources(),
            in_use: self.problem.at_start(),
            peak: self.problem.at_start().max(floor),
            before: 0,
            ops: Vec::new(),
        }
    }

    /// Itself, and what it holds: what has run, and what can.
    fn bytes_of_a_set(&self) -> u64 {
        (size_of::<Set>() + 2 * 8 * self.problem.words()) as u64
    }

    fn peak_of(&self, order: &[OpIndex]) -> u64 {
        let mut set = self.start(0);
        for op in order {
            self.run(&mut set, op.0);
        }
        set.peak
    }

    /// Looks at sets of executed ops, those reached at the least peak first; of those, the ones with least in use.
    fn search(&self, floor: u64, most_moves: u64, watch: &mut Watch) -> WithSavings {
        let last = watch.states.saturating_add(most_moves);
        let mut order = Vec::new();
        let mut root = self.settled(self.start(floor));
        loop {
            order.append(&mut root.ops);
            let (at_least, found) = match self.valley(root, last, watch) {
                Valley::None { at_least } => (at_least, None),
                Valley::End { peak, ops } => (peak, Some(ops)),
                Valley::At { set, ops } => {
                    order.extend(ops);
                    root = set;
                    continue;
                }
            };
            let order = found.map(|ops| order.into_iter().chain(ops).map(OpIndex).collect());
            return WithSavings { at_least, order };
        }
    }

    /// The first set on the way from `root` that some best order passes through, if it is not the end that comes first.
    fn valley(&self, root: Set, last: u64, watch: &mut Watch) -> Valley {
        let mut sets = vec![root];
        let mut known: HashSet<Vec<u64>> = HashSet::new();
        let mut open = BinaryHeap::from([sets[0].turn(0)]);
        while let Some((Reverse(peak), Reverse(in_use), _, at)) = open.pop() {
            if !known.insert(sets[at].done.clone()) {
                continue;
            }
            if sets[at].ready.iter().all(|&word| word == 0) {
                return Valley::End { peak, ops: way_to(&sets, at) };
            }
            if at > 0
                && in_use <= sets[0].in_use
                && let Some(valley) = self.committed(&sets, at)
            {
                return valley;
            }
            let moves: Vec<u32> = bits::iter(&sets[at].ready).collect();
            watch.visit(moves.len() as u64);
            // A set is copied for every op that can run next.
            let words = 4 * self.problem.words() as u64 * (1 + self.problem.words() as u64);
            let is_over =
                watch.time_to_look(words) && watch.stop(sets.len() as u64 * self.bytes_of_a_set()).is_some();
            if watch.states > last || is_over {
                return Valley::None { at_least: peak };
            }
            for op in moves {
                let next = self.settled(self.after(&sets[at], at, op));
                if !known.contains(&next.done) {
                    open.push(next.turn(sets.len()));
                    sets.push(next);
                }
            }
        }
        Valley::None { at_least: sets[0].peak }
    }

    /// The lowest set between the first of these and the one at `at`; `None` if it cannot be reached within the same peak, because what leads there runs too early to save.
    fn committed(&self, sets: &[Set], at: usize) -> Option<Valley> {
        let (root, moves) = (&sets[0], way_to(sets, at));
        let ops = commit::kept(self.problem, (&root.done, root.in_use), &moves, &moves);
        let mut set = Set { done: root.done.clone(), ready: root.ready.clone(), ops: Vec::new(), ..*root };
        for &op in &ops {
            self.run(&mut set, op);
        }
        set.ops.clear();
        let is_within = set.peak <= sets[at].peak;
        set.peak = sets[at].peak;
        is_within.then(|| Valley::At { set: self.settled(set), ops })
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
    use crate::exact::testing;
    use crate::rng::Rng;
    use crate::{Buffer, Options, schedule};
    use std::collections::BTreeMap;

    const MANY: u64 = 1 << 15;

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
        let found = with_savings(&problem, &[], 0, MANY, &Limits::default());
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
        assert_eq!(with_savings(&problem, &[], 0, MANY, &Limits::default()).at_least, 24);
        let found = with_savings(&problem, &[over(1, 2), over(2, 1), last], 0, MANY, &Limits::default());
        assert_eq!(found.at_least, 16);
    }

    /// The least peak by all sets that can have run, row by row.
    fn least(costs: &Costs) -> u64 {
        let mut row = vec![costs.start(0)];
        for _ in 0..costs.problem.len() {
            let mut next: BTreeMap<Vec<u64>, Set> = BTreeMap::new();
            for set in &row {
                for op in bits::iter(&set.ready) {
                    let after = costs.after(set, 0, op);
                    let is_better = next.get(&after.done).is_none_or(|known| after.peak < known.peak);
                    if is_better {
                        next.insert(after.done.clone(), after);
                    }
                }
            }
            row = next.into_values().collect();
        }
        row[0].peak
    }

    /// Savings of some ops, sure or only once others have run.
    fn some_savings(random: &mut Rng, problem: &Problem, are_sure: bool) -> Vec<Saving> {
        let ops = u64::from(problem.ops);
        let mut savings = Vec::new();
        for op in (0..problem.ops).map(OpIndex) {
            if random.below(3) > 0 {
                let others = if are_sure { 0 } else { random.below(3) };
                let once = (0..others).map(|_| OpIndex(random.below(ops) as u32)).collect();
                savings.push(Saving { op, bytes: 1 + random.below(9), once: vec![once] });
            }
        }
        savings
    }

    #[test]
    fn no_order_saves_more() {
        let mut random = Rng::new(1);
        let (mut gains, mut parts) = (0, 0);
        for round in 0..20 {
            for problem in testing::problems() {
                let savings = some_savings(&mut random, &problem, round % 2 == 0);
                let costs = Costs::new(&problem, &savings);
                let found = with_savings(&problem, &savings, 0, MANY, &Limits::default());
                let order = found.order.unwrap();
                let told = (found.at_least, costs.peak_of(&order), order.len());
                assert_eq!(told, (least(&costs), least(&costs), problem.len()));
                gains += usize::from(found.at_least < least(&Costs::new(&problem, &[])));
                parts += exact::between_waypoints(&problem, testing::NEVER).len();
            }
        }
        assert!(gains > 1000 && parts > 10_000, "{gains} {parts}");
    }

    /// From part to part, and as a whole.
    #[test]
    fn parts_settle_what_the_whole_would() {
        let mut random = Rng::new(2);
        let mut parts = 0;
        for seed in 0..60 {
            let problem = testing::layers(24, 3, seed);
            let savings = some_savings(&mut random, &problem, true);
            let whole =
                Costs::new(&problem, &savings).search(0, MANY, &mut Watch::new(&Limits::default(), None));
            assert_eq!(
                with_savings(&problem, &savings, 0, MANY, &Limits::default()).at_least,
                whole.at_least
            );
            parts += exact::between_waypoints(&problem, testing::NEVER).len();
        }
        assert!(parts > 120, "{parts}");
    }

    #[test]
    fn a_floor_that_is_reached_ends_it() {
        assert_eq!(with_savings(&ladder(4), &[], 30, MANY, &Limits::default()).at_least, 30);
    }
}
