//! The search proper: works on the worst part until no part matters any more.

use super::decide::{Decision, DecisionWork, decide};
use super::inference::Inference;
use super::part::{self, Part};
use super::refutation::{self, Found};
use super::releases;
use super::sides::{Directions, Round, Sides};
use super::{Rules, beam, local};
use crate::{Problem, bits, bounds, heuristic, walk};
use serenity_search::{StopReason, Watch};
use std::cell::OnceCell;

/// Rounds do not grow beyond this, so that progress is shown and limits are kept.
const LONGEST_ROUND: u64 = 1 << 15;
/// Beams of these widths, each after a hundred states for every entry.
const WIDE_BEAMS: [usize; 3] = [128, 512, 2048];
/// In units of [`Rules::patience`]: commitments are used to split a part again after so many states,
const REROOT_AFTER: u64 = 6;
/// and the decision procedure starts after so many, with as many.
const DECIDE_AFTER: u64 = 16;

/// Where most ops let nothing go, floods that branch over what is let go next join after so many.
const RELEASES_AFTER: u64 = 32;

/// How the work on a problem ended.
pub(super) enum Ended {
    /// The optimum is proved.
    Settled,
    /// The limit on states was reached.
    Tired,
    Stopped(StopReason),
}

/// The parts of the whole, and the bound that holds for it.
pub(super) struct Engine<'a, 'w> {
    rules: &'a Rules,
    threads: usize,
    /// Bytes for the tables of the search.
    memory: u64,
    /// Orders that need at least this much are not wanted.
    wanted_below: u64,
    /// No order of the whole peaks below this.
    pub(super) floor: u64,
    parts: Vec<Part>,
    /// Ops in each part, as first split.
    pub(super) sizes: Vec<usize>,
    /// How rule L2 settled the last part that it did.
    pub(super) refutation: Vec<Found>,
    watch: &'a mut Watch<'w>,
}

/// What became of working on one part.
enum Progressed {
    /// Its optimum is proved, or does not matter any more.
    Settled,
    /// It was split; these parts take its place.
    Split(Vec<Part>),
    Tired,
    Stopped(StopReason),
}

impl<'a, 'w> Engine<'a, 'w> {
    pub(super) fn new(
        problem: &Problem,
        rules: &'a Rules,
        (threads, memory, wanted_below): (usize, u64, u64),
        floor: u64,
        watch: &'a mut Watch<'w>,
    ) -> Self {
        let names: Vec<u32> = (0..problem.ops).collect();
        let mut order = heuristic::best(problem).0;
        let simple = bounds::simple(problem);
        if rules.local_search && local::is_wide(problem) {
            order = local::better_order(problem, order, simple, &watch.stopper());
        } else if rules.beam {
            order = beam::better_order(problem, order, &[1, 8], (simple, rules.lazy), &watch.stopper());
        }
        let parts = part::split(problem, &order, &names, rules, &watch.stopper());
        let sizes = parts.iter().map(|part| part.problem.len()).collect();
        let floor = floor.max(bounds::simple(problem));
        let mut engine = Self {
            rules,
            threads,
            memory,
            wanted_below,
            floor,
            parts: Vec::new(),
            sizes,
            refutation: Vec::new(),
            watch,
        };
        engine.parts = engine.prepared(parts);
        engine
    }

    /// The best order of the whole.
    pub(super) fn order(&self) -> Vec<u32> {
        self.parts.iter().flat_map(Part::named_order).collect()
    }

    /// Works on the worst part until none matters, or for so many states.
    pub(super) fn settle(&mut self, states: u64) -> Ended {
        let last = self.watch.states.saturating_add(states);
        loop {
            self.report();
            let worst = (0..self.parts.len())
                .filter(|&i| self.parts[i].upper > self.floor)
                .max_by_key(|&i| (self.parts[i].upper, std::cmp::Reverse(i)));
            let Some(worst) = worst else { return Ended::Settled };
            if self.floor >= self.wanted_below {
                return Ended::Stopped(StopReason::Capacity);
            }
            match self.work_on(worst, last) {
                Progressed::Settled => {}
                Progressed::Split(parts) => {
                    let parts = self.prepared(parts);
                    self.parts.splice(worst..=worst, parts);
                }
                Progressed::Tired => return Ended::Tired,
                Progressed::Stopped(reason) => return Ended::Stopped(reason),
            }
        }
    }

    fn report(&mut self) {
        let best = self.parts.iter().map(|part| part.upper).max().unwrap_or(0).max(self.floor);
        (self.watch.best, self.watch.bound) = (best, self.floor);
        self.watch.report();
    }

    /// Bounds and beams for new parts, the worst first; raises the floor.
    fn prepared(&mut self, mut parts: Vec<Part>) -> Vec<Part> {
        let stop = self.watch.stopper();
        let mut by_upper: Vec<usize> = (0..parts.len()).collect();
        by_upper.sort_by_key(|&i| (std::cmp::Reverse(parts[i].upper), i));
        for &i in &by_upper {
            self.floor = self.floor.max(parts[i].lower);
        }
        for &i in &by_upper {
            parts[i].bound_by_cuts(self.floor, self.rules, &stop);
            self.floor = self.floor.max(parts[i].lower);
        }
        for part in &mut parts {
            part.improve(&[1, 16], self.floor, self.rules, &stop);
        }
        parts
    }

    /// Works on one part, until `last` states have been visited in all: by floods from both ends, in rounds that grow,
    /// and between them by whatever else might settle it sooner.
    fn work_on(&mut self, index: usize, last: u64) -> Progressed {
        let mut pace = Pace::new(self.rules);
        let mut inference = Inference::new(self.rules, &self.parts[index]);
        let mut problem = self.parts[index].problem.clone();
        loop {
            match self.flood_all(index, &problem, &mut inference, &mut pace, last) {
                Some(end) => return end,
                None => problem = inference.constrained().unwrap_or(problem),
            }
        }
    }

    /// Floods `problem`: a part, or the part with the precedence that all its better orders have in common. `None` to
    /// go on with more precedence.
    fn flood_all(
        &mut self,
        index: usize,
        problem: &Problem,
        inference: &mut Inference,
        pace: &mut Pace,
        last: u64,
    ) -> Option<Progressed> {
        let directions = Directions::of(problem, self.rules);
        let by_releases = OnceCell::new();
        let mut sides = Sides::new(&directions, self.rules, self.parts[index].lower.max(self.floor));
        let before = pace.expanded;
        loop {
            self.flood(index, &mut sides, pace.round);
            pace.expanded = before + sides.expanded();
            if self.is_settled(index) {
                return Some(Progressed::Settled);
            }
            if let Some(end) = self.end(&sides, last.saturating_add(inference.states())) {
                return Some(end);
            }
            // The best order known need not keep to the precedence, so nothing can be split along it.
            if !inference.is_given
                && pace.is_time_to_reroot()
                && let Some(parts) = self.reroot(index, sides.commitments())
            {
                return Some(Progressed::Split(parts));
            }
            if pace.is_time_to_ask() {
                self.ask(index, problem, &sides, pace);
                if self.is_settled(index) {
                    return Some(Progressed::Settled);
                }
            }
            if pace.is_time_for_releases() && by_releases.get().is_none() && releases::are_rare(problem) {
                let directions = by_releases.get_or_init(|| Directions::by_releases(problem));
                sides.add(directions, self.rules, sides.level());
            }
            if let Some(cuts) = inference.cuts_after(pace.expanded) {
                let has_more = self.infer(index, inference, cuts);
                if self.is_settled(index) {
                    return Some(Progressed::Settled);
                }
                if has_more {
                    return None;
                }
            }
            if let Some(width) = pace.beam() {
                self.parts[index].improve(&[width], self.floor, self.rules, &self.watch.stopper());
            }
            pace.lengthen();
        }
    }

    /// Looks for precedence. Has it come to an end, with something for the floods?
    fn infer(&mut self, index: usize, inference: &mut Inference, cuts: u64) -> bool {
        let part = &mut self.parts[index];
        let before = inference.states();
        inference.run(part, cuts);
        if inference.is_refuted() {
            part.lower = part.upper;
            self.refutation = refutation::renamed(inference.found(), |op| vec![part.names[op as usize]]);
        }
        self.floor = self.floor.max(part.lower);
        self.watch.visit(inference.states() - before);
        inference.give()
    }

    fn is_settled(&self, index: usize) -> bool {
        self.parts[index].lower >= self.parts[index].upper
    }

    /// One round of the floods.
    fn flood(&mut self, index: usize, sides: &mut Sides, states: u64) {
        let part = &mut self.parts[index];
        let round = Round { states, ceiling: part.upper, memory: self.memory, threads: self.threads };
        let (found, visited) = sides.run(&round, &self.watch.stopper());
        self.watch.visit(visited);
        part.lower = part.lower.max(sides.level().min(part.upper));
        if let Some(order) = found {
            part.offer(order);
            part.lower = part.upper;
        }
        sides.raise(part.lower);
        self.floor = self.floor.max(part.lower);
        if !self.is_settled(index) {
            self.report();
        }
    }

    /// Has the search come to a limit?
    fn end(&mut self, sides: &Sides, last: u64) -> Option<Progressed> {
        if sides.memory() > self.memory {
            return Some(Progressed::Stopped(StopReason::Memory));
        }
        if let Some(reason) = self.watch.limit_reached(0) {
            return Some(Progressed::Stopped(reason));
        }
        (self.watch.states > last).then_some(Progressed::Tired)
    }

    /// Asks the decision procedure for something better than the best, until it says no or has had enough.
    fn ask(&mut self, index: usize, problem: &Problem, sides: &Sides, pace: &mut Pace) {
        let stop = self.watch.stopper();
        let memory = self.memory.saturating_sub(sides.memory());
        let mut effort = DecisionWork { budget: pace.next_question, memory, spent: 0, stop: &stop };
        let part = &mut self.parts[index];
        while part.upper > part.lower {
            match decide(problem, part.upper - 1, self.rules, &mut effort) {
                Decision::Feasible(order) => part.offer(order),
                Decision::Infeasible => part.lower = part.upper,
                Decision::Unknown => break,
            }
        }
        pace.asked += effort.spent;
        pace.next_question = pace.next_question.saturating_mul(2);
        self.watch.visit(effort.spent);
        self.floor = self.floor.max(part.lower);
    }

    /// What is left between a beginning and an end that are settled, split again; `None` if there are neither.
    fn reroot(&mut self, index: usize, (prefix, suffix): (Vec<u32>, Vec<u32>)) -> Option<Vec<Part>> {
        if prefix.is_empty() && suffix.is_empty() {
            return None;
        }
        let part = &self.parts[index];
        let problem = &part.problem;
        let mut place = vec![1_u8; problem.len()];
        for (ops, side) in [(&prefix, 0), (&suffix, 2)] {
            for &op in ops {
                place[op as usize] = side;
            }
        }
        let middle: Vec<u32> = part.order.iter().copied().filter(|&op| place[op as usize] == 1).collect();
        let mut done = vec![0; problem.words()];
        let mut parts = Vec::new();
        for (ops, is_settled) in [(prefix, true), (middle, false), (suffix, true)] {
            if ops.is_empty() {
                continue;
            }
            let segment = problem.segment(&done, problem.in_use_after(&done), &ops);
            let local: Vec<u32> =
                ops.iter().filter_map(|op| segment.ops.binary_search(op).ok()).map(|i| i as u32).collect();
            let names: Vec<u32> = segment.ops.iter().map(|&op| part.names[op as usize]).collect();
            if is_settled {
                let upper = walk::peak_of(&segment.problem, &local);
                parts.push(Part { problem: segment.problem, names, order: local, upper, lower: 0 });
            } else {
                let stop = self.watch.stopper();
                // The incumbent of the whole may be poor on a piece of it.
                let mut order = local;
                if self.rules.beam {
                    order = beam::better_order(
                        &segment.problem,
                        order,
                        &[1, 16],
                        (self.floor, self.rules.lazy),
                        &stop,
                    );
                }
                parts.extend(part::split(&segment.problem, &order, &names, self.rules, &stop));
            }
            for op in ops {
                bits::insert(&mut done, op);
            }
        }
        Some(parts)
    }
}

/// What is tried when, by the states that the floods have visited.
struct Pace<'a> {
    rules: &'a Rules,
    patience: u64,
    /// States that the floods have visited.
    expanded: u64,
    /// States of the next round.
    round: u64,
    /// States that questions have taken, and those of the next.
    asked: u64,
    next_question: u64,
    wide_beams: std::slice::Iter<'static, usize>,
}

impl<'a> Pace<'a> {
    fn new(rules: &'a Rules) -> Self {
        let patience = rules.patience.max(1);
        let next_question = DECIDE_AFTER.saturating_mul(patience);
        let wide_beams = WIDE_BEAMS.iter();
        Self { rules, patience, expanded: 0, round: patience, asked: 0, next_question, wide_beams }
    }

    fn is_time_to_reroot(&self) -> bool {
        self.rules.reroot && self.expanded >= REROOT_AFTER.saturating_mul(self.patience)
    }

    fn is_time_for_releases(&self) -> bool {
        self.rules.releases && self.expanded >= RELEASES_AFTER.saturating_mul(self.patience)
    }

    /// Questions take an eighth of what floods do, or the last one more.
    fn is_time_to_ask(&self) -> bool {
        self.rules.descent
            && self.expanded >= DECIDE_AFTER.saturating_mul(self.patience)
            && self.asked.saturating_mul(8) <= self.expanded
    }

    /// The width of the next beam, if it is time for it.
    fn beam(&mut self) -> Option<usize> {
        let width = *self.wide_beams.as_slice().first()?;
        (self.expanded > 100 * width as u64).then(|| self.wide_beams.next().copied())?
    }

    fn lengthen(&mut self) {
        self.round = self.round.saturating_mul(2).min(LONGEST_ROUND.max(self.patience));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{is_order, least_peak, problems};
    use super::*;
    use serenity_search::Limits;

    #[test]
    fn every_part_is_settled_at_the_least_peak() {
        let limits = Limits::default();
        for problem in problems() {
            let least = least_peak(&problem);
            // So little patience that all of the machinery is used.
            for rules in [Rules::default(), Rules { patience: 1, beam: false, ..Rules::default() }] {
                let mut watch = Watch::new(&limits, None);
                let mut engine = Engine::new(&problem, &rules, (1, u64::MAX, u64::MAX), 0, &mut watch);
                assert!(matches!(engine.settle(u64::MAX), Ended::Settled));
                let order = engine.order();
                assert!(is_order(&problem, &order));
                assert_eq!((engine.floor, walk::peak_of(&problem, &order)), (least, least));
            }
            let mut watch = Watch::new(&limits, None);
            let rules = Rules::default();
            let mut engine = Engine::new(&problem, &rules, (1, u64::MAX, least), 0, &mut watch);
            engine.settle(u64::MAX);
            assert!(engine.floor <= least);
        }
    }
}
