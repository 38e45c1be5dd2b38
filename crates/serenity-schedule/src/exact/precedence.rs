//! **Rule L2, precedence by cuts.** *If the least memory in use while `v` runs, over all sets in which `u` has run, is above
//! a limit, then in every order within the limit `v` runs before `u`; and if it is above the limit over all sets in which
//! `u` has not run, then `u` runs before `v`.* An order within the limit passes a set in which `v` runs, and `u` either has
//! run in it or has not. The precedence found so makes other cuts dearer, so it goes on to the fixed point. If nothing is
//! left for `v`, or if `u` and `v` would have to wait for each other, no order is within the limit.
//!
//! A minimum within the limit is a set that shows of many ops at once that they may have run, or may not have. It is kept,
//! and shows that again later as long as it agrees with the precedence. So few cuts are made.
//!
//! **Probing.** *If no order within the limit runs `u` before `v`, all run `v` before `u`.* Both are tried for the pairs that
//! make the tightest cuts dearest.

use super::closure::{Closure, Rows};
use super::forced::{Flow, Network};
use super::refutation::Found;
use crate::{Problem, bits};
use std::cmp::Reverse;

/// The precedence that all orders within a limit have in common.
#[derive(Clone)]
pub(super) struct Known {
    ancestors: Rows,
    descendants: Rows,
}

/// No order is within the limit.
#[derive(Debug)]
pub(super) struct Refuted;

impl Known {
    fn new(problem: &Problem) -> Self {
        let Closure { ancestors, descendants } = Closure::new(problem);
        Self { ancestors, descendants }
    }

    pub(super) fn is_before(&self, first: u32, second: u32) -> bool {
        bits::contains(self.descendants.row(first), second)
    }

    fn are_comparable(&self, one: u32, other: u32) -> bool {
        one == other || self.is_before(one, other) || self.is_before(other, one)
    }

    /// Puts one op before another, and all that follows from it.
    fn put(&mut self, first: u32, second: u32) -> Result<(), Refuted> {
        if first == second || self.is_before(second, first) {
            return Err(Refuted);
        }
        let mut before = self.ancestors.row(first).to_vec();
        bits::insert(&mut before, first);
        let mut after = self.descendants.row(second).to_vec();
        bits::insert(&mut after, second);
        for op in bits::iter(&before) {
            unite(self.descendants.row_mut(op), &after);
        }
        for op in bits::iter(&after) {
            unite(self.ancestors.row_mut(op), &before);
        }
        Ok(())
    }

    /// The ops before an op, except those that others imply.
    pub(super) fn immediate_predecessors(&self, op: u32) -> Vec<u32> {
        let row = self.ancestors.row(op);
        let mut implied = vec![0; row.len()];
        bits::iter(row).for_each(|p| unite(&mut implied, self.ancestors.row(p)));
        bits::iter(row).filter(|&p| !bits::contains(&implied, p)).collect()
    }

    fn pairs(&self, ops: u32) -> u32 {
        (0..ops).flat_map(|op| self.descendants.row(op)).map(|word| word.count_ones()).sum()
    }

    /// Can the set have run when `op` runs?
    fn admits(&self, op: u32, set: &[u64]) -> bool {
        is_within(self.ancestors.row(op), set)
            && !bits::contains(set, op)
            && self.descendants.row(op).iter().zip(set).all(|(after, run)| after & run == 0)
            && bits::iter(set).all(|other| is_within(self.ancestors.row(other), set))
    }
}

fn unite(to: &mut [u64], from: &[u64]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to |= from);
}

fn is_within(inner: &[u64], outer: &[u64]) -> bool {
    inner.iter().zip(outer).all(|(inner, outer)| inner & !outer == 0)
}

/// A set within the limit that can have run when some op runs.
#[derive(Clone)]
struct Shown {
    set: Vec<u64>,
    in_use: u64,
}

/// Sets that are kept for an op, and how many of the oldest go when there are too many.
const MOST_SHOWN: usize = 96;
const FORGOTTEN: usize = 32;

/// Ops with the tightest cuts, whose pairs are candidates to be probed; and so many of these are.
const TIGHTEST: usize = 6;
const MOST_PROBED: usize = 8;

/// Why the search for precedence ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// No order is within the limit.
    Refuted,
    /// There is nothing more to find.
    Exhausted,
    /// The cuts are used up.
    Tired,
}

/// The search for precedence.
pub(super) struct Precedence {
    problem: Problem,
    /// Orders that peak higher are of no interest.
    limit: u64,
    known: Known,
    network: Network,
    /// Bytes that an op brings to life, or finds alive, of buffers that it writes.
    written: Vec<u64>,
    shown: Vec<Vec<Shown>>,
    /// The ops, those first that need the most in the best order.
    ops: Vec<u32>,
    /// Ops that were looked at since anything was found, and the place of the next.
    unchanged: usize,
    next: usize,
    /// Is the network that of what is known?
    is_fresh: bool,
    /// Pairs to be probed, the first one to be tried before the other; the next is the last. None before they are chosen.
    probes: Option<Vec<(u32, u32)>>,
    trial: Option<Trial>,
    /// How all that is known was found, one step after the other.
    pub(super) found: Vec<Found>,
    /// Cuts made so far, and when to end.
    pub(super) cuts: u64,
    last_cut: u64,
}

/// A pair that is being probed: what is known follows from `first` before `second`.
struct Trial {
    first: u32,
    second: u32,
    /// What is known without it, and in how many steps that was found.
    known: Known,
    steps: usize,
}

/// The end of a step: refuted, or out of cuts.
enum Stop {
    Refuted,
    Tired,
}

impl From<Refuted> for Stop {
    fn from(Refuted: Refuted) -> Self {
        Self::Refuted
    }
}

impl Precedence {
    /// Ops are looked at by falling `need`.
    pub(super) fn new(problem: Problem, limit: u64, need: impl Fn(u32) -> u64) -> Self {
        let known = Known::new(&problem);
        let bytes = |list: &Vec<u32>| list.iter().map(|&b| problem.buffers[b as usize].bytes).sum();
        let mut ops: Vec<u32> = (0..problem.ops).collect();
        ops.sort_by_key(|&op| (Reverse(need(op)), op));
        Self {
            network: Network::new(&problem, &known),
            written: problem.writes.iter().map(bytes).collect(),
            shown: vec![Vec::new(); problem.len()],
            limit,
            known,
            ops,
            unchanged: 0,
            next: 0,
            is_fresh: true,
            probes: None,
            trial: None,
            found: Vec::new(),
            cuts: 0,
            last_cut: 0,
            problem,
        }
    }

    /// Only orders with a lower peak are of interest from now on.
    pub(super) fn lower_limit(&mut self, limit: u64) {
        if limit < self.limit {
            self.limit = limit;
            if let Some(trial) = self.end_trial() {
                self.found.truncate(trial.steps);
            }
            (self.probes, self.unchanged) = (None, 0);
            self.shown.iter_mut().for_each(|shown| shown.retain(|shown| shown.in_use <= limit));
        }
    }

    /// Pairs of ops of which the first comes before the second.
    pub(super) fn pairs(&self) -> u32 {
        self.settled().pairs(self.problem.ops)
    }

    /// What is known whatever is being probed.
    fn settled(&self) -> &Known {
        self.trial.as_ref().map_or(&self.known, |trial| &trial.known)
    }

    /// The problem with the precedence that was found. Its orders within the limit are those of the problem.
    pub(super) fn constrained(&self) -> Problem {
        let known = self.settled();
        let predecessors = (0..self.problem.ops).map(|op| known.immediate_predecessors(op)).collect();
        Problem::assemble(predecessors, self.problem.buffers.clone(), self.problem.base)
    }

    /// Looks for precedence by cuts, as many as are given.
    pub(super) fn infer(&mut self, cuts: u64) -> Ended {
        self.last_cut = self.cuts.saturating_add(cuts);
        ended(&self.close())
    }

    /// Looks for more by probing, with as many cuts as are given; goes on where it ended.
    pub(super) fn probe(&mut self, cuts: u64) -> Ended {
        self.last_cut = self.cuts.saturating_add(cuts);
        loop {
            match self.probe_next() {
                Ok(true) => {}
                Ok(false) => return Ended::Exhausted,
                Err(stop) => return ended(&Err(stop)),
            }
        }
    }

    /// To the fixed point.
    fn close(&mut self) -> Result<(), Stop> {
        while self.unchanged < self.ops.len() {
            self.renew();
            let op = self.ops[self.next];
            let found = self.look_at(op)?;
            self.next = (self.next + 1) % self.ops.len();
            self.unchanged = if found { 0 } else { self.unchanged + 1 };
        }
        Ok(())
    }

    fn renew(&mut self) {
        if !self.is_fresh {
            self.network = Network::new(&self.problem, &self.known);
            self.is_fresh = true;
        }
    }

    fn put(&mut self, first: u32, second: u32) -> Result<(), Refuted> {
        self.is_fresh = false;
        self.known.put(first, second)
    }

    /// Bytes left for a cut while `op` runs.
    fn room(&mut self, op: u32) -> Result<u64, Refuted> {
        let needed = self.problem.base + self.written[op as usize];
        self.limit.checked_sub(needed).ok_or_else(|| self.refuted_by(op))
    }

    fn refuted_by(&mut self, op: u32) -> Refuted {
        self.found.push(Found::Contradiction { op });
        Refuted
    }

    /// What flows while `op` runs, with what is known about it.
    fn base_flow(&mut self, op: u32, room: u64) -> Result<Flow, Stop> {
        let mut flow = self.network.flow();
        for &buffer in &self.problem.writes[op as usize] {
            self.network.leave_out(&mut flow, buffer);
        }
        bits::iter(self.known.ancestors.row(op)).for_each(|p| self.network.assume_run(&mut flow, p));
        bits::iter(self.known.descendants.row(op)).for_each(|s| self.network.assume_open(&mut flow, s));
        self.network.assume_open(&mut flow, op);
        self.maximise(&mut flow, room)?;
        if flow.value > room { Err(self.refuted_by(op).into()) } else { Ok(flow) }
    }

    fn maximise(&mut self, flow: &mut Flow, room: u64) -> Result<(), Stop> {
        if self.cuts >= self.last_cut {
            return Err(Stop::Tired);
        }
        self.cuts += 1;
        self.network.maximise(flow, room);
        Ok(())
    }

    /// What flows if another op has run too, or has not ended.
    fn with(&mut self, flow: &Flow, other: u32, has_run: bool, room: u64) -> Result<Flow, Stop> {
        let mut flow = flow.clone();
        if has_run {
            bits::iter(self.known.ancestors.row(other)).for_each(|p| self.network.assume_run(&mut flow, p));
            self.network.assume_run(&mut flow, other);
        } else {
            bits::iter(self.known.descendants.row(other))
                .for_each(|s| self.network.assume_open(&mut flow, s));
            self.network.assume_open(&mut flow, other);
        }
        self.maximise(&mut flow, room)?;
        Ok(flow)
    }

    /// Tries all pairs of an op with others. Was anything found?
    fn look_at(&mut self, op: u32) -> Result<bool, Stop> {
        let room = self.room(op)?;
        let mut seen = Seen::new(self.problem.words());
        let others: Vec<u32> =
            (0..self.problem.ops).filter(|&other| !self.known.are_comparable(op, other)).collect();
        for shown in self.shown[op as usize].iter().rev() {
            if self.known.admits(op, &shown.set) {
                seen.add(&shown.set);
                if others.iter().all(|&other| seen.both(other)) {
                    return Ok(false);
                }
            }
        }
        let mut flow = self.base_flow(op, room)?;
        let mut set = vec![0; self.problem.words()];
        if !seen.any {
            self.network.least_set(&mut set);
            self.show(op, &flow, &set, &mut seen);
            self.network.greatest_set(&flow, &mut set);
            self.show(op, &flow, &set, &mut seen);
        }
        let mut found = false;
        for other in others {
            for has_run in [true, false] {
                let is_shown = bits::contains(if has_run { &seen.run } else { &seen.open }, other);
                if is_shown || self.known.are_comparable(op, other) {
                    continue;
                }
                let forced = self.with(&flow, other, has_run, room)?;
                if forced.value <= room {
                    self.network.least_set(&mut set);
                    self.show(op, &forced, &set, &mut seen);
                    continue;
                }
                found = true;
                let (first, second) = if has_run { (op, other) } else { (other, op) };
                self.found.push(Found::Edge { first, second, running: op });
                self.put(first, second)?;
                if has_run {
                    let after = self.known.descendants.row(op);
                    bits::iter(after).for_each(|s| self.network.assume_open(&mut flow, s));
                } else {
                    let before = self.known.ancestors.row(op);
                    bits::iter(before).for_each(|p| self.network.assume_run(&mut flow, p));
                }
            }
        }
        Ok(found)
    }

    fn show(&mut self, op: u32, flow: &Flow, set: &[u64], seen: &mut Seen) {
        seen.add(set);
        let in_use = self.problem.base + self.written[op as usize] + flow.value;
        let shown = &mut self.shown[op as usize];
        if shown.len() >= MOST_SHOWN {
            shown.drain(..FORGOTTEN);
        }
        shown.push(Shown { set: set.to_vec(), in_use });
    }

    /// Probes the next pair; false if there is none.
    fn probe_next(&mut self) -> Result<bool, Stop> {
        let closed = self.close();
        if self.trial.is_some() {
            if matches!(closed, Err(Stop::Tired)) {
                return Err(Stop::Tired);
            }
            if let Some(Trial { first, second, steps, .. }) = self.end_trial() {
                if closed.is_err() {
                    self.found.push(Found::Conclusion { first: second, second: first });
                    self.put(second, first)?;
                    (self.probes, self.unchanged) = (None, 0);
                } else {
                    self.found.truncate(steps);
                }
            }
            return Ok(true);
        }
        closed?;
        self.renew();
        if self.probes.is_none() {
            self.probes = Some(self.candidates()?);
        }
        let next = self.probes.as_mut().and_then(Vec::pop);
        if let Some((first, second)) = next
            && !self.known.are_comparable(first, second)
        {
            let steps = self.found.len();
            self.trial = Some(Trial { first, second, known: self.known.clone(), steps });
            self.found.push(Found::Assumption { first, second });
            self.put(first, second)?;
            (self.unchanged, self.next) = (0, 0);
        }
        Ok(next.is_some())
    }

    /// Back to what is known without the pair that is being probed.
    fn end_trial(&mut self) -> Option<Trial> {
        let mut trial = self.trial.take()?;
        std::mem::swap(&mut self.known, &mut trial.known);
        (self.unchanged, self.is_fresh) = (self.ops.len(), false);
        Some(trial)
    }

    /// The pairs that make the tightest cuts dearest, in both orders, the dearest last.
    fn candidates(&mut self) -> Result<Vec<(u32, u32)>, Stop> {
        let mut tight = Vec::new();
        for op in 0..self.problem.ops {
            if (0..self.problem.ops).any(|other| !self.known.are_comparable(op, other)) {
                let room = self.room(op)?;
                let flow = self.base_flow(op, room)?;
                tight.push((room - flow.value, op));
            }
        }
        tight.sort_unstable();
        let mut candidates = Vec::new();
        for &(slack, op) in tight.iter().take(TIGHTEST) {
            let room = self.room(op)?;
            let flow = self.base_flow(op, room)?;
            for other in 0..self.problem.ops {
                if !self.known.are_comparable(op, other) {
                    let mut rise = [0; 2];
                    for (rise, has_run) in rise.iter_mut().zip([true, false]) {
                        *rise = u128::from(self.with(&flow, other, has_run, room)?.value - flow.value);
                    }
                    let gain = 8 * rise[0].min(rise[1]) + 2 * rise[0].max(rise[1]);
                    candidates.push((Reverse(gain), slack, other, op));
                }
            }
        }
        candidates.sort_unstable();
        let best = candidates.into_iter().take(MOST_PROBED).rev();
        Ok(best.flat_map(|(.., other, op)| [(op, other), (other, op)]).collect())
    }
}

fn ended(result: &Result<(), Stop>) -> Ended {
    match result {
        Ok(()) => Ended::Exhausted,
        Err(Stop::Refuted) => Ended::Refuted,
        Err(Stop::Tired) => Ended::Tired,
    }
}

/// Ops that have run in some set that was shown, and ops that have not in some.
struct Seen {
    any: bool,
    run: Vec<u64>,
    open: Vec<u64>,
}

impl Seen {
    fn new(words: usize) -> Self {
        Self { any: false, run: vec![0; words], open: vec![0; words] }
    }

    fn add(&mut self, set: &[u64]) {
        self.any = true;
        unite(&mut self.run, set);
        self.open.iter_mut().zip(set).for_each(|(open, run)| *open |= !run);
    }

    fn both(&self, op: u32) -> bool {
        bits::contains(&self.run, op) && bits::contains(&self.open, op)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{layers, least_peak, problems, sets};
    use super::*;

    /// For each op, the ops that come before it in every order within `limit`; `None` if there is no order.
    fn common(problem: &Problem, limit: u64) -> Option<Vec<u64>> {
        let all = (1_u64 << problem.ops) - 1;
        let reached = super::super::testing::reachable(problem, 0, limit);
        let backward = super::super::testing::reachable(&problem.reversed(), 0, limit);
        let on_the_way: Vec<u64> = sets(problem)
            .into_iter()
            .filter(|set| reached.contains(set) && backward.contains(&(all & !set)))
            .collect();
        if problem.at_start() > limit || !reached.contains(&all) {
            return None;
        }
        let during = |op: u32, set: u64| problem.in_use_after(&[set]) + problem.allocated(&[set], op);
        let before = |op: u32| {
            let runs = on_the_way.iter().filter(|&&set| {
                !bits::contains(&[set], op)
                    && on_the_way.contains(&(set | 1 << op))
                    && during(op, set) <= limit
            });
            runs.fold(all, |common, set| common & set)
        };
        Some((0..problem.ops).map(before).collect())
    }

    fn precedence(problem: &Problem, limit: u64) -> Precedence {
        Precedence::new(problem.clone(), limit, |_| 0)
    }

    #[test]
    fn what_is_found_holds_in_every_order_within_the_limit() {
        let mut random = crate::rng::Rng::new(9);
        let (mut found, mut refuted, mut asked) = (0, 0, 0);
        let many = (0..700).map(|seed| layers(6 + random.below(4) as u32, 2 + random.below(2) as u32, seed));
        for problem in problems().chain(many) {
            let least = least_peak(&problem);
            for limit in [least.saturating_sub(1), least, least + 1, least + least / 4] {
                let common = common(&problem, limit);
                let before = precedence(&problem, limit).pairs();
                for has_probed in [false, true] {
                    let mut search = precedence(&problem, limit);
                    let ended = if has_probed { search.probe(u64::MAX) } else { search.infer(u64::MAX) };
                    asked += 1;
                    if ended == Ended::Refuted {
                        assert!(common.is_none(), "an order within {limit} was refuted");
                        refuted += 1;
                        continue;
                    }
                    let Some(common) = &common else { continue };
                    found += search.pairs() - before;
                    for op in 0..problem.ops {
                        let row = search.known.ancestors.row(op)[0];
                        assert_eq!(row & !common[op as usize], 0, "{op} within {limit}");
                    }
                    assert_eq!(least_peak(&search.constrained()), least);
                }
            }
        }
        assert!(asked > 4000 && found > 1000 && refuted > 1000, "{asked} {found} {refuted}");
    }

    #[test]
    fn a_lower_limit_finds_more_and_no_cuts_find_nothing() {
        let (mut early, mut late) = (0, 0);
        for seed in 0..100 {
            let problem = layers(16, 3, seed);
            let least = least_peak(&problem);
            let mut search = precedence(&problem, 2 * least);
            assert_eq!(search.infer(0), Ended::Tired);
            assert_eq!(search.infer(u64::MAX), Ended::Exhausted);
            early += search.pairs();
            search.lower_limit(least);
            assert_eq!(search.infer(u64::MAX), Ended::Exhausted);
            late += search.pairs();
            assert_eq!(least_peak(&search.constrained()), least);
        }
        assert!(late > early, "{late} {early}");
    }
}
