//! The search proper: works on the worst part until none matters.

use super::decide::{Decision, Effort, decide};
use super::flood::{Event, Flood};
use super::instance::Instance;
use super::part::{self, Part};
use super::{Rules, beam};
use crate::limits::{StopReason, Watch};
use crate::{Problem, bits, bounds, heuristic, walk};

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
        (threads, memory): (usize, u64),
        floor: u64,
        watch: &'a mut Watch<'w>,
    ) -> Self {
        let names: Vec<u32> = (0..problem.ops).collect();
        let order = first_order(problem, rules, watch);
        let parts = part::split(problem, &order, &names, rules, &watch.stopper());
        let sizes = parts.iter().map(|part| part.problem.len()).collect();
        let floor = floor.max(bounds::simple(problem));
        let mut engine = Self { rules, threads, memory, floor, parts: Vec::new(), sizes, watch };
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
            if !stop() {
                part.improve(&[1, 16], self.floor, self.rules);
            }
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
        let mut asked = 0;
        let mut next_question = DECIDE_AFTER * patience;
        let mut wide_beams = WIDE_BEAMS.iter().copied();
        let mut next_beam = wide_beams.next();
        let mut counted = 0;
        loop {
            let part = &mut self.parts[index];
            let ceiling = part.upper;
            let memory = self.memory / floods.len() as u64;
            let event = run_round(&mut floods, round, (ceiling, memory), self.threads, &self.watch.stopper());
            let expanded: u64 = floods.iter().map(|(_, flood)| flood.expanded).sum();
            self.watch.states += expanded - counted;
            counted = expanded;
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
                && expanded >= REROOT_AFTER * patience
                && let Some(parts) = self.reroot(index, &floods, &forward, &backward)
            {
                return Progressed::Split(parts);
            }
            let part = &mut self.parts[index];
            if rules.descent && expanded >= DECIDE_AFTER * patience && 8 * asked <= expanded {
                let stop = self.watch.stopper();
                let memory = self.memory.saturating_sub(tables);
                let mut effort = Effort { budget: next_question, memory, spent: 0, stop: &stop };
                ask(part, rules, &mut effort);
                asked += effort.spent;
                self.watch.states += effort.spent;
                next_question *= 2;
                self.floor = self.floor.max(part.lower);
                if part.lower >= part.upper {
                    return Progressed::Settled;
                }
            }
            if let Some(width) = next_beam
                && expanded > 100 * width as u64
            {
                part.improve(&[width], self.floor, rules);
                next_beam = wide_beams.next();
            }
            round = (2 * round).min(LONGEST_ROUND);
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
                let order = better_order(&segment.problem, local, self.floor, self.rules);
                parts.extend(part::split(&segment.problem, &order, &names, self.rules, &stop));
            }
            for op in ops {
                bits::insert(&mut done, op);
            }
        }
        Some(parts)
    }
}

/// The incumbent of the whole may be poor on a piece of it: try beams there.
fn better_order(problem: &Problem, order: Vec<u32>, floor: u64, rules: &Rules) -> Vec<u32> {
    if !rules.beam {
        return order;
    }
    let instance = Instance::new(problem.clone(), rules.lazy);
    let mut best = (walk::peak_of(problem, &order), order);
    for width in [1, 16] {
        let order = instance.expand(&beam::search(&instance, width, floor));
        let peak = walk::peak_of(problem, &order);
        if peak < best.0 {
            best = (peak, order);
        }
    }
    best.1
}

/// One round of every flood, in parallel if that is worth a thread. The answer of the first that has one, so that it does not
/// depend on which is faster.
fn run_round(
    floods: &mut [(bool, Flood)],
    budget: u64,
    (ceiling, memory): (u64, u64),
    threads: usize,
    stop: &(dyn Fn() -> bool + Sync),
) -> Option<(bool, Vec<u32>)> {
    const WORTH_A_THREAD: u64 = 1024;
    let solved = |is_forward: bool, event: Event| match event {
        Event::Solved(heads) => Some((is_forward, heads)),
        Event::Ceiling | Event::Budget => None,
    };
    if threads > 1 && budget >= WORTH_A_THREAD {
        std::thread::scope(|scope| {
            let runs: Vec<_> = floods
                .iter_mut()
                .map(|(is_forward, flood)| {
                    scope.spawn(move || solved(*is_forward, flood.run(budget, ceiling, memory, &stop)))
                })
                .collect();
            // All must have ended before any is used.
            let answers: Vec<_> = runs.into_iter().filter_map(|run| run.join().ok()).collect();
            answers.into_iter().flatten().next()
        })
    } else {
        for (is_forward, flood) in floods {
            let answer = solved(*is_forward, flood.run(budget, ceiling, memory, &stop));
            if answer.is_some() || flood.level >= ceiling {
                return answer;
            }
        }
        None
    }
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

fn first_order(problem: &Problem, rules: &Rules, watch: &Watch) -> Vec<u32> {
    let (mut best, mut least) = heuristic::best(problem);
    let floor = bounds::simple(problem);
    if rules.beam && least > floor && watch.limit_reached(0).is_none() {
        let instance = Instance::new(problem.clone(), rules.lazy);
        for width in [1, 8] {
            let order = instance.expand(&beam::search(&instance, width, floor));
            let peak = walk::peak_of(problem, &order);
            if peak < least {
                (best, least) = (order, peak);
            }
        }
    }
    best
}
