//! The search proper: works on the worst part until none matters.

use super::decide::{Decision, Effort, decide};
use super::flood::{Event, Flood};
use super::instance::Instance;
use super::part::{self, Part};
use super::{Rules, beam};
use crate::{Problem, bits, bounds, heuristic, walk};
use serenity_search::{StopReason, Watch};

/// Rounds do not grow beyond this, so that progress is shown and limits are kept.
const LONGEST_ROUND: u64 = 1 << 15;
/// Beams of these widths, each after a hundred states for every entry.
const WIDE_BEAMS: [usize; 3] = [128, 512, 2048];
/// In units of [`Rules::patience`]: commitments are used to split a part again after so many states,
const REROOT_AFTER: u64 = 6;
/// and the decision procedure starts after so many, with as many.
const DECIDE_AFTER: u64 = 16;

/// How the work on a problem ended.
pub(super) enum Ended {
    /// The optimum is proved.
    Settled,
    /// It has taken too many states.
    Tired,
    Stopped(StopReason),
}

/// The parts of the whole, and the bound that holds for it.
pub(super) struct Engine<'a, 'w> {
    rules: &'a Rules,
    threads: usize,
    /// Bytes for the tables of the search.
    memory: u64,
    /// Orders that need as much as this are not wanted.
    wanted_below: u64,
    /// No order of the whole peaks below this.
    pub(super) floor: u64,
    parts: Vec<Part>,
    /// Ops in each part, as first split.
    pub(super) sizes: Vec<usize>,
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
        if rules.beam {
            let floor = bounds::simple(problem);
            order = beam::better_order(problem, order, &[1, 8], (floor, rules.lazy), &watch.stopper());
        }
        let parts = part::split(problem, &order, &names, rules, &watch.stopper());
        let sizes = parts.iter().map(|part| part.problem.len()).collect();
        let floor = floor.max(bounds::simple(problem));
        let mut engine =
            Self { rules, threads, memory, wanted_below, floor, parts: Vec::new(), sizes, watch };
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

    /// Works on one part, until `last` states have been visited in all.
    fn work_on(&mut self, index: usize, last: u64) -> Progressed {
        let rules = self.rules;
        let problem = self.parts[index].problem.clone();
        let forward = Instance::new(problem.clone(), rules.lazy);
        let backward = Instance::new(problem.reversed(), rules.lazy);
        let part = &mut self.parts[index];
        let mut floods = vec![(true, Flood::new(&forward, rules, part.lower.max(self.floor)))];
        if rules.backward {
            floods.push((false, Flood::new(&backward, rules, part.lower.max(self.floor))));
        }
        let patience = rules.patience.max(1);
        let mut round = patience;
        let mut asked = 0_u64;
        let mut next_question = DECIDE_AFTER.saturating_mul(patience);
        let mut wide_beams = WIDE_BEAMS.iter().copied();
        let mut next_beam = wide_beams.next();
        loop {
            let part = &mut self.parts[index];
            let ceiling = part.upper;
            let memory = self.memory / floods.len() as u64;
            let before: Vec<u64> = floods.iter().map(|(_, flood)| flood.expanded).collect();
            let (event, ran) =
                run_round(&mut floods, round, (ceiling, memory), self.threads, &self.watch.stopper());
            for ((_, flood), before) in floods.iter().zip(before).take(ran) {
                self.watch.visit(flood.expanded - before);
            }
            let expanded: u64 = floods.iter().map(|(_, flood)| flood.expanded).sum();
            let level = floods.iter().map(|(_, flood)| flood.level).max().unwrap_or(0).min(ceiling);
            part.lower = part.lower.max(level);
            if let Some((is_forward, heads)) = event {
                let instance = if is_forward { &forward } else { &backward };
                let mut order = instance.expand(&heads);
                if !is_forward {
                    order.reverse();
                }
                part.offer(order);
                part.lower = part.upper;
            }
            self.floor = self.floor.max(part.lower);
            if part.lower >= part.upper {
                return Progressed::Settled;
            }
            for (_, flood) in &mut floods {
                flood.raise(part.lower);
            }
            self.report();
            let tables: u64 = floods.iter().map(|(_, flood)| flood.memory()).sum();
            if tables > self.memory {
                return Progressed::Stopped(StopReason::Memory);
            }
            if let Some(reason) = self.watch.limit_reached(0) {
                return Progressed::Stopped(reason);
            }
            if self.watch.states > last {
                return Progressed::Tired;
            }
            if rules.reroot
                && expanded >= REROOT_AFTER.saturating_mul(patience)
                && let Some(parts) = self.reroot(index, &floods, &forward, &backward)
            {
                return Progressed::Split(parts);
            }
            let part = &mut self.parts[index];
            if rules.descent
                && expanded >= DECIDE_AFTER.saturating_mul(patience)
                && asked.saturating_mul(8) <= expanded
            {
                let stop = self.watch.stopper();
                let memory = self.memory.saturating_sub(tables);
                let mut effort = Effort { budget: next_question, memory, spent: 0, stop: &stop };
                ask(part, rules, &mut effort);
                asked += effort.spent;
                self.watch.visit(effort.spent);
                next_question = next_question.saturating_mul(2);
                self.floor = self.floor.max(part.lower);
                if part.lower >= part.upper {
                    return Progressed::Settled;
                }
            }
            if let Some(width) = next_beam
                && expanded > 100 * width as u64
            {
                part.improve(&[width], self.floor, rules, &self.watch.stopper());
                next_beam = wide_beams.next();
            }
            round = round.saturating_mul(2).min(LONGEST_ROUND.max(patience));
        }
    }

    /// What is left between the commitments of both sides, split again; `None` if there are none.
    fn reroot(
        &mut self,
        index: usize,
        floods: &[(bool, Flood)],
        forward: &Instance,
        backward: &Instance,
    ) -> Option<Vec<Part>> {
        let part = &self.parts[index];
        let mut prefix = Vec::new();
        let mut suffix = Vec::new();
        for (is_forward, flood) in floods {
            if *is_forward {
                prefix = forward.expand(&flood.committed);
            } else {
                suffix = backward.expand(&flood.committed);
                suffix.reverse();
            }
        }
        let mut is_prefix = vec![false; part.problem.len()];
        for &op in &prefix {
            is_prefix[op as usize] = true;
        }
        if suffix.iter().any(|&op| is_prefix[op as usize]) {
            // They have met: take the longer one alone.
            if prefix.len() >= suffix.len() { suffix.clear() } else { prefix.clear() }
        }
        if prefix.is_empty() && suffix.is_empty() {
            return None;
        }
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

/// One round of every flood, in parallel if that is worth a thread. The answer of the first that has one, and how many would have run up to it
/// one after the other: neither depends on which is faster.
fn run_round(
    floods: &mut [(bool, Flood)],
    budget: u64,
    (ceiling, memory): (u64, u64),
    threads: usize,
    stop: &(dyn Fn() -> bool + Sync),
) -> (Option<(bool, Vec<u32>)>, usize) {
    const WORTH_A_THREAD: u64 = 1024;
    if threads > 1 && budget >= WORTH_A_THREAD {
        let events: Vec<Event> = std::thread::scope(|scope| {
            let run = |flood: &mut Flood| flood.run(budget, ceiling, memory, &stop);
            let runs: Vec<_> = floods.iter_mut().map(|(_, flood)| scope.spawn(move || run(flood))).collect();
            runs.into_iter()
                .map(|run| run.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect()
        });
        for (i, (event, (is_forward, _))) in events.into_iter().zip(floods.iter()).enumerate() {
            match event {
                Event::Solved(heads) => return (Some((*is_forward, heads)), i + 1),
                Event::Ceiling => return (None, i + 1),
                Event::Budget => {}
            }
        }
    } else {
        for (i, (is_forward, flood)) in floods.iter_mut().enumerate() {
            match flood.run(budget, ceiling, memory, &stop) {
                Event::Solved(heads) => return (Some((*is_forward, heads)), i + 1),
                Event::Ceiling => return (None, i + 1),
                Event::Budget => {}
            }
        }
    }
    (None, floods.len())
}

/// Asks the decision procedure for something better than the best, until it says no or has had enough.
fn ask(part: &mut Part, rules: &Rules, effort: &mut Effort) {
    while part.upper > part.lower {
        match decide(&part.problem, part.upper - 1, rules, effort) {
            Decision::Feasible(order) => part.offer(order),
            Decision::Infeasible => part.lower = part.upper,
            Decision::Unknown => return,
        }
    }
}
