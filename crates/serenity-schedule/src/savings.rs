//! Finds the least peak where ops need less while they run than the buffers they allocate.
//!
//! An op that may write its result over what it reads can do so if it is the last that reads it: in some orders, not in
//! others ([hand-overs](crate::HandOver)). Other savings are sure: so many bytes while the op runs, whatever has run
//! before. With `s(X,u)` the bytes that `u` saves in either way after `X`,
//!
//! ```text
//! during(X,u) = max(f(X), f(X + u), f(X) + sizes that u brings to life - s(X,u))
//! ```
//!
//! depends on the set alone, as everything else does: the sets of executed ops with the least peak at which each can be
//! reached, lowest first, settle it.
//!
//! **Moves that cost nothing.** Let all that happened be within `t`, `during(X,u) <= t` and `f(X + u) <= f(X)`. Then
//! `u` may run at once: take any order within `t` from `X` on, and move `u` to its front. `f` is submodular, so every
//! set is passed with `u` in it at no more than before. Another op `w` brings no more to life, and saves as much of
//! that as before: whatever had run has run, and what it reads it still keeps in use.
//!
//! **Valleys.** Rule R1 holds as it stands: `T ∪ C_i` in place of `C_i` lets every op run later. So where something as
//! low as the start is reached, the search goes on from the lowest set between, if the ops that lead there do so within
//! the same peak: by R3 they do if savings are sure, and otherwise it is seen.
//!
//! **Waypoints.** If every op saves the same `s(u)` after whatever set, rules R4 and R5 hold as they stand. Of a chain
//! `C_i` that comes to run `u`, they take `C_i ∩ M` or `C_i ∪ M` instead, with `u` begun in it; `f` is submodular on
//! sets of ops begun and ended, and at the waypoint `M` none is under way, so `f` after, before and with `u` begun is
//! at most what it was, and `s(u)` comes off on both sides. So the problem in which all savings are sure falls into
//! parts. Its least peak is a bound for the one in which some are not; if an order of it saves all that this one has,
//! it is the answer. An op that reads but one tensor saves nothing by a saving that it should not have: what it does
//! not let go is in use after it, and that counts as well.

mod reached;

use self::reached::{Reached, ReachedSet, Set};
use crate::answer::Answer;
use crate::exact::memo::PeakKey;
use crate::exact::{self, LARGEST_WHOLE, Memo, commit};
use crate::rng::hash_keys;
use crate::{OpIndex, Options, Problem, bits, bounds, heuristic, walk};
use serenity_search::{Limits, StopReason, Watch};

/// What is proved about all orders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WithSavings {
    /// A lower bound on the peak of every order.
    pub at_least: u64,
    /// An order with that peak, unless a limit ended the search.
    pub order: Option<Vec<OpIndex>>,
}

/// Finds the least peak of all orders, with what ops save: by hand-overs, and `sure` bytes each. `floor` is a known
/// lower bound. It returns what it has proved when it has proved `enough`, or when between two waypoints it has visited
/// so many moves from one set of executed ops to the next.
pub fn with_savings(
    problem: &Problem,
    sure: &[(OpIndex, u64)],
    (floor, enough): (u64, u64),
    most_moves: u64,
    limits: &Limits,
    memo: &Memo,
) -> WithSavings {
    let until = Until { enough, most_moves };
    Costs::new(problem, sure).least(floor, until, memo, &mut Watch::new(limits, None))
}

/// When a search ends without an answer.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Until {
    /// No order peaks below this.
    enough: u64,
    /// So many moves were visited.
    most_moves: u64,
}

impl Until {
    fn moves(most_moves: u64) -> Self {
        Self { enough: u64::MAX, most_moves }
    }
}

/// The order of least peak of a problem with hand-overs. If it is not found within the limits, the best of the orders
/// that are found without a look at what these save.
pub(crate) fn search(problem: &Problem, options: &Options, watch: &mut Watch) -> Answer {
    // The other half of the work is for an order, should there be none.
    let moves = watch.left().work.map_or(u64::MAX, |work| work / 2);
    let found =
        Costs::new(problem, &[]).least(bounds::simple(problem), Until::moves(moves), &options.memo, watch);
    let (at_least, sizes) = (found.at_least, vec![problem.len()]);
    watch.raise_bound(at_least);
    if let Some(order) = found.order {
        return Answer {
            order: order.iter().map(|op| op.0).collect(),
            at_least,
            stopped: None,
            sizes,
            refutation: Vec::new(),
        };
    }
    let stopped = watch.limit_reached(0).or(Some(StopReason::Work));
    let without = exact::search(&problem.without_hand_overs(), options, watch).order;
    let orders = [heuristic::best(problem).0, without];
    let order = orders.into_iter().min_by_key(|order| walk::peak_of(problem, order)).unwrap_or_default();
    Answer { order, at_least, stopped, sizes, refutation: Vec::new() }
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

/// What ops cost, by what has run.
struct Costs<'a> {
    problem: &'a Problem,
    /// By op: bytes that it saves besides its hand-overs, whatever has run.
    sure: Vec<u64>,
    /// By op: its part in the hash of a set.
    keys: Vec<u64>,
}

impl<'a> Costs<'a> {
    fn new(problem: &'a Problem, list: &[(OpIndex, u64)]) -> Self {
        let mut sure = vec![0; problem.len()];
        for (op, bytes) in list {
            sure[op.index()] += bytes;
        }
        Self { problem, sure, keys: hash_keys(problem.ops) }
    }

    /// The least peak of all orders.
    fn least(&self, floor: u64, until: Until, memo: &Memo, watch: &mut Watch) -> WithSavings {
        let found = self.in_parts(floor, until, memo, watch);
        let is_reached = found.order.as_ref().is_some_and(|order| self.peak_of(order) <= found.at_least);
        if is_reached || self.problem.hand_overs.is_empty() || self.problem.len() > LARGEST_WHOLE {
            return WithSavings { order: found.order.filter(|_| is_reached), ..found };
        }
        self.search(found.at_least, until, watch)
    }

    /// The least peak if ops save all that they can, late or not, from part to part between waypoints: a bound for
    /// those that do not.
    fn in_parts(&self, floor: u64, until: Until, memo: &Memo, watch: &mut Watch) -> WithSavings {
        let whole = self.problem.without_hand_overs();
        let mut found = WithSavings { at_least: floor, order: Some(Vec::new()) };
        for part in exact::between_waypoints(&whole, &watch.stopper()) {
            let most = |&op: &u32| self.sure[op as usize] + self.problem.hand_overs.most_saved(op);
            let sure = part.ops.iter().map(most).collect();
            let costs = Costs { problem: &part.problem, sure, keys: hash_keys(part.problem.ops) };
            if part.problem.len() > LARGEST_WHOLE {
                found.order = None;
                continue;
            }
            let best = costs.remembered(found.at_least, until, memo, watch);
            found.at_least = best.at_least;
            found.order = found.order.zip(best.order).map(|(mut all, order)| {
                all.extend(order.iter().map(|op| OpIndex(part.ops[op.index()])));
                all
            });
        }
        found
    }

    fn start(&self, floor: u64) -> Set {
        Set {
            done: vec![0; self.problem.words()],
            ready: self.problem.sources(),
            hash: 0,
            in_use: self.problem.at_start(),
            peak: self.problem.at_start().max(floor),
            ops: Vec::new(),
        }
    }

    fn peak_of(&self, order: &[OpIndex]) -> u64 {
        let mut set = self.start(0);
        for op in order {
            self.run(&mut set, op.0);
        }
        set.peak
    }

    /// As [`search`](Self::search), of a part that may have been searched before.
    fn remembered(&self, floor: u64, until: Until, memo: &Memo, watch: &mut Watch) -> WithSavings {
        let key = PeakKey::new(self.problem, &self.sure, floor, until);
        if let Some((found, moves)) = memo.peak_of(&key) {
            watch.visit(moves);
            return found;
        }
        let before = watch.states;
        let found = self.search(floor, until, watch);
        let moves = watch.states - before;
        // What the clock has ended might come further another time.
        if found.order.is_some() || found.at_least >= until.enough || moves > until.most_moves {
            memo.keep_peak(key, found.clone(), moves);
        }
        found
    }

    /// Looks at sets of executed ops, those reached at the least peak first; of those, the ones with least in use.
    fn search(&self, floor: u64, until: Until, watch: &mut Watch) -> WithSavings {
        let last = watch.states.saturating_add(until.most_moves);
        let mut order = Vec::new();
        let mut root = self.start(floor);
        self.settle(&mut root);
        loop {
            order.append(&mut root.ops);
            let (at_least, found) = match self.valley(&root, (until.enough, last), watch) {
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
    fn valley(&self, root: &Set, (enough, last): (u64, u64), watch: &mut Watch) -> Valley {
        let mut reached = Reached::new(root);
        let mut next = root.clone();
        let mut moves = Vec::new();
        while let Some(at) = reached.next() {
            let ReachedSet { in_use, peak, hash, .. } = reached.sets[at];
            if peak >= enough {
                return Valley::None { at_least: peak };
            }
            if reached.ready(at).iter().all(|&word| word == 0) {
                return Valley::End { peak, ops: reached.way_to(at) };
            }
            if at > 0
                && in_use <= root.in_use
                && let Some(valley) = self.committed(root, &reached.way_to(at), peak)
            {
                return valley;
            }
            moves.clear();
            moves.extend(bits::iter(reached.ready(at)));
            watch.visit(moves.len() as u64);
            // A set is copied for every op that can run next.
            let words = 4 * self.problem.words() as u64 * (1 + self.problem.words() as u64);
            let is_over = watch.time_to_look(words) && watch.stop(reached.memory()).is_some();
            if watch.states > last || is_over {
                return Valley::None { at_least: peak };
            }
            for &op in &moves {
                next.done.copy_from_slice(reached.done(at));
                next.ready.copy_from_slice(reached.ready(at));
                (next.hash, next.in_use, next.peak) = (hash, in_use, peak);
                next.ops.clear();
                self.run(&mut next, op);
                self.settle(&mut next);
                reached.offer(at, &next);
            }
        }
        Valley::None { at_least: root.peak }
    }

    /// The lowest set on the `way` from the root, of this peak; `None` if it cannot be reached within the same peak,
    /// because what leads there runs too early to save.
    fn committed(&self, root: &Set, way: &[u32], peak: u64) -> Option<Valley> {
        let ops = commit::kept(self.problem, (&root.done, root.in_use), way, way);
        let mut set = Set { ops: Vec::new(), ..root.clone() };
        for &op in &ops {
            self.run(&mut set, op);
        }
        set.ops.clear();
        let is_within = set.peak <= peak;
        set.peak = peak;
        self.settle(&mut set);
        is_within.then_some(Valley::At { set, ops })
    }

    /// Memory in use while `op` runs, and after.
    fn of(&self, set: &Set, op: u32) -> (u64, u64) {
        let full = set.in_use + self.problem.allocated(&set.done, op);
        let after = full - self.problem.freed(&set.done, op);
        (full.saturating_sub(self.sure[op as usize]).max(set.in_use).max(after), after)
    }

    fn run(&self, set: &mut Set, op: u32) {
        let (during, after) = self.of(set, op);
        (set.peak, set.in_use) = (set.peak.max(during), after);
        bits::insert(&mut set.done, op);
        set.hash ^= self.keys[op as usize];
        self.problem.advance(&set.done, &mut set.ready, op);
        set.ops.push(op);
    }

    /// Makes all moves that cost nothing.
    fn settle(&self, set: &mut Set) {
        loop {
            let is_free = |&op: &u32| {
                let (during, after) = self.of(set, op);
                during <= set.peak && after <= set.in_use
            };
            let Some(op) = bits::iter(&set.ready).find(is_free) else { return };
            self.run(set, op);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::testing;
    use crate::rng::Rng;
    use crate::{Algorithm, Buffer, HandOver, Proof, schedule};
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
        let found = with_savings(&problem, &[], (0, u64::MAX), MANY, &Limits::default(), &Memo::default());
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
        let over = |op, new, old| HandOver { op: OpIndex(op), new, old };
        let peak = |hand_overs: &[HandOver]| {
            let problem = Problem::with_hand_overs(4, buffers.clone(), hand_overs, []).unwrap();
            let found = schedule(&problem, &Options::default());
            assert_eq!(found.proof, Proof::Optimal);
            found.peak
        };
        assert_eq!(peak(&[]), 24);
        assert_eq!(peak(&[over(1, 1, 0), over(2, 2, 0), over(3, 3, 1)]), 16);
        assert_eq!(peak(&[over(1, 1, 0), over(3, 3, 1)]), 16);
        assert_eq!(peak(&[over(3, 3, 1), over(3, 3, 2)]), 24);
    }

    /// The least peak by all sets that can have run, row by row.
    fn least(costs: &Costs) -> u64 {
        let mut row = vec![costs.start(0)];
        for _ in 0..costs.problem.len() {
            let mut next: BTreeMap<Vec<u64>, Set> = BTreeMap::new();
            for set in &row {
                for op in bits::iter(&set.ready) {
                    let mut after = set.clone();
                    costs.run(&mut after, op);
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

    /// Sure savings of some ops.
    fn some_savings(random: &mut Rng, problem: &Problem) -> Vec<(OpIndex, u64)> {
        let mut savings = Vec::new();
        for op in (0..problem.ops).map(OpIndex) {
            if random.below(3) > 0 {
                savings.push((op, 1 + random.below(9)));
            }
        }
        savings
    }

    #[test]
    fn no_order_saves_more() {
        let mut random = Rng::new(1);
        let (mut gains, mut parts) = (0, 0);
        for round in 0..20 {
            for problem in testing::problems().chain(testing::with_hand_overs(round)) {
                let savings = if round % 2 == 0 { some_savings(&mut random, &problem) } else { Vec::new() };
                let costs = Costs::new(&problem, &savings);
                let memo = Memo::default();
                let found = with_savings(&problem, &savings, (0, u64::MAX), MANY, &Limits::default(), &memo);
                assert_eq!(
                    with_savings(&problem, &savings, (0, u64::MAX), MANY, &Limits::default(), &memo),
                    found
                );
                let order = found.order.unwrap();
                let told = (found.at_least, costs.peak_of(&order), order.len());
                assert_eq!(told, (least(&costs), least(&costs), problem.len()));
                let without = problem.without_hand_overs();
                gains += usize::from(found.at_least < least(&Costs::new(&without, &[])));
                parts += exact::between_waypoints(&without, testing::NEVER).len();
            }
        }
        assert!(gains > 1000 && parts > 10_000, "{gains} {parts}");
    }

    #[test]
    fn all_algorithms_count_what_is_handed_over() {
        for problem in testing::with_hand_overs(77) {
            let best = least(&Costs::new(&problem, &[]));
            for algorithm in [
                Algorithm::Exact,
                Algorithm::Dp,
                Algorithm::DpDivide,
                Algorithm::DpDivideBudget,
                Algorithm::Exhaustive,
            ] {
                let found = schedule(&problem, &Options { algorithm, ..Options::default() });
                assert_eq!(
                    (found.peak, found.bound, found.proof),
                    (best, best, Proof::Optimal),
                    "{algorithm}"
                );
            }
            for algorithm in [Algorithm::Greedy, Algorithm::Dfs, Algorithm::Kahn, Algorithm::File] {
                let found = schedule(&problem, &Options { algorithm, ..Options::default() });
                assert!(found.bound <= best && best <= found.peak, "{algorithm}");
                assert_eq!(found.peak, Costs::new(&problem, &[]).peak_of(&found.order), "{algorithm}");
            }
        }
    }

    #[test]
    fn a_search_that_runs_out_of_work_claims_nothing() {
        for problem in testing::with_hand_overs(5) {
            let limits = Limits { work: Some(1), ..Limits::default() };
            let found = schedule(&problem, &Options { limits, ..Options::default() });
            assert!(found.bound <= least(&Costs::new(&problem, &[])) && found.bound <= found.peak);
        }
    }

    /// From part to part, and as a whole.
    #[test]
    fn parts_settle_what_the_whole_would() {
        let mut random = Rng::new(2);
        let mut parts = 0;
        for seed in 0..60 {
            let problem = testing::layers(24, 3, seed);
            let savings = some_savings(&mut random, &problem);
            let whole = Costs::new(&problem, &savings).search(
                0,
                Until::moves(MANY),
                &mut Watch::new(&Limits::default(), None),
            );
            assert_eq!(
                with_savings(&problem, &savings, (0, u64::MAX), MANY, &Limits::default(), &Memo::default())
                    .at_least,
                whole.at_least
            );
            parts += exact::between_waypoints(&problem, testing::NEVER).len();
        }
        assert!(parts > 120, "{parts}");
    }

    #[test]
    fn a_floor_that_is_reached_ends_it() {
        let found =
            |bounds| with_savings(&ladder(4), &[], bounds, MANY, &Limits::default(), &Memo::default());
        assert_eq!(found((30, u64::MAX)).at_least, 30);
        assert_eq!((found((0, 24)).at_least, found((0, 24)).order), (24, None));
        assert!(found((0, 25)).order.is_some());
    }
}
