//! Upper bounds for wide problems: a greedy order, and local search from there.
//!
//! A beam chooses among moves one at a time, and where layers are wide none of them lowers what is in use before several
//! others have been made. Two other ways to an order:
//!
//! - *Greedy by closures.* An op with all that it still waits for is one move. The next move is the one that adds least
//!   for each of its ops.
//! - *Late acceptance.* A few ops near the peak move to other places between their predecessors and their successors. The
//!   result is kept if it is no worse than the current order, or than that of some turns ago.
//!
//! Moving an op shifts the ops between its two places, and changes the costs only of those that share a buffer with it.
//! So a move costs as much as it is far. All is counted in turns, and the random numbers are always the same.

use crate::rng::Rng;
use crate::walk::{Waiting, peak_of};
use crate::{Buffer, OpIndex, Problem};

/// A problem is wide if so many ops can run at the same time somewhere in an order.
const WIDE: usize = 48;
/// An op is no candidate if more ops than this would have to run with it.
const LARGEST_CLOSURE: usize = 40;
/// How many turns ago an order may have been as bad.
const MEMORY: usize = 50;
/// It ends after so many turns without anything better.
const PATIENCE: u64 = 1 << 14;

/// Can many ops run at the same time?
pub(super) fn is_wide(problem: &Problem) -> bool {
    let mut waiting = Waiting::new(problem);
    let mut ready = waiting.ready().count();
    let mut most = ready;
    for &op in &problem.topological {
        ready -= 1;
        waiting.run(problem, op, |_| ready += 1);
        most = most.max(ready);
    }
    most >= WIDE
}

/// The best of `order`, a greedy order and what is found from there; ends at `floor`.
pub(super) fn better_order(
    problem: &Problem,
    order: Vec<u32>,
    floor: u64,
    stop: &dyn Fn() -> bool,
) -> Vec<u32> {
    let greedy = by_closures(problem);
    let mut best =
        [order, greedy].map(|order| (peak_of(problem, &order), order)).into_iter().min().unwrap_or_default();
    let start = Local::new(problem, best.1.clone());
    start.improve(&mut best, floor, stop);
    best.1
}

/// An order in which every move is an op with all that it waits for.
fn by_closures(problem: &Problem) -> Vec<u32> {
    let mut greedy = Greedy {
        problem,
        waiting: Waiting::new(problem),
        has_run: vec![false; problem.len()],
        ready: Vec::new(),
        alive: problem.buffers.iter().map(|buffer| buffer.from_start).collect(),
        readers_left: problem.buffers.iter().map(|buffer| buffer.readers.len() as u32).collect(),
        met: vec![0; problem.len()],
        counted: vec![(0, 0); problem.buffers.len()],
        question: 0,
        turn: vec![0; problem.len()],
        order: Vec::with_capacity(problem.len()),
    };
    for (turn, &op) in problem.topological.iter().enumerate() {
        greedy.turn[op as usize] = turn as u32;
    }
    greedy.ready = greedy.waiting.ready().collect();
    while greedy.order.len() < problem.len() {
        for op in greedy.next() {
            greedy.run(op);
        }
    }
    greedy.order
}

struct Greedy<'a> {
    problem: &'a Problem,
    waiting: Waiting,
    has_run: Vec<bool>,
    ready: Vec<u32>,
    alive: Vec<bool>,
    readers_left: Vec<u32>,
    /// By op, the last question that has come across it.
    met: Vec<u32>,
    /// By buffer, the last question that has counted it, and how many of its readers.
    counted: Vec<(u32, u32)>,
    question: u32,
    /// By op, its place in some order.
    turn: Vec<u32>,
    order: Vec<u32>,
}

impl Greedy<'_> {
    /// The ops of the best move, in an order in which they can run.
    fn next(&mut self) -> Vec<u32> {
        let problem = self.problem;
        let mut candidates = self.ready.clone();
        candidates.extend(self.ready.iter().flat_map(|&op| &problem.successors[op as usize]));
        candidates.sort_unstable();
        candidates.dedup();
        let mut best: Option<(i128, Vec<u32>)> = None;
        let mut closure = Vec::new();
        for op in candidates {
            if !self.close(op, &mut closure) {
                continue;
            }
            // In thousandths of a byte for each op.
            let value = 1000 * self.change(&closure) / closure.len() as i128;
            if best.as_ref().is_none_or(|best| value < best.0) {
                best = Some((value, closure.clone()));
            }
        }
        best.map_or_else(|| self.ready[..1].to_vec(), |best| best.1)
    }

    /// An op and what it waits for, in an order in which they can run; false if that is too much.
    fn close(&mut self, op: u32, closure: &mut Vec<u32>) -> bool {
        self.question += 1;
        self.met[op as usize] = self.question;
        closure.clear();
        closure.push(op);
        let mut looked_at = 0;
        while let Some(&op) = closure.get(looked_at) {
            looked_at += 1;
            for &p in &self.problem.predecessors[op as usize] {
                if !self.has_run[p as usize] && self.met[p as usize] != self.question {
                    self.met[p as usize] = self.question;
                    closure.push(p);
                }
            }
            if closure.len() > LARGEST_CLOSURE {
                return false;
            }
        }
        closure.sort_unstable_by_key(|&op| self.turn[op as usize]);
        true
    }

    /// What is in use after some ops have run, less what is now.
    fn change(&mut self, ops: &[u32]) -> i128 {
        let problem = self.problem;
        let mut change = 0;
        for &op in ops {
            for &b in &problem.writes[op as usize] {
                let buffer = &problem.buffers[b as usize];
                // The first writer among them counts it; the last reader takes it back.
                let first = buffer.writers.iter().find(|writer| ops.contains(&writer.0));
                if !self.alive[b as usize] && first == Some(&OpIndex(op)) {
                    change += i128::from(buffer.bytes);
                }
            }
            for &b in &problem.reads[op as usize] {
                let (question, readers) = &mut self.counted[b as usize];
                if *question != self.question {
                    (*question, *readers) = (self.question, 0);
                }
                *readers += 1;
                let buffer = &problem.buffers[b as usize];
                if *readers == self.readers_left[b as usize] && !buffer.to_end {
                    change -= i128::from(buffer.bytes);
                }
            }
        }
        change
    }

    fn run(&mut self, op: u32) {
        let problem = self.problem;
        self.has_run[op as usize] = true;
        self.ready.retain(|&other| other != op);
        self.order.push(op);
        problem.writes[op as usize].iter().for_each(|&b| self.alive[b as usize] = true);
        problem.reads[op as usize].iter().for_each(|&b| self.readers_left[b as usize] -= 1);
        let ready = &mut self.ready;
        self.waiting.run(problem, op, |next| ready.push(next));
    }
}

/// An order, and what is in use along it.
struct Local<'a> {
    problem: &'a Problem,
    order: Vec<u32>,
    place: Vec<u32>,
    /// What each op brings to life, and lets go, where it stands.
    allocated: Vec<u64>,
    freed: Vec<u64>,
    /// By place, what is in use while its op runs.
    during: Vec<u64>,
    /// By buffer, the first of its writers and the last of its readers, if the order decides about it.
    first: Vec<Option<u32>>,
    last: Vec<Option<u32>>,
}

impl<'a> Local<'a> {
    fn new(problem: &'a Problem, order: Vec<u32>) -> Self {
        let mut local = Self {
            problem,
            place: vec![0; problem.len()],
            allocated: vec![0; problem.len()],
            freed: vec![0; problem.len()],
            during: vec![0; problem.len()],
            first: vec![None; problem.buffers.len()],
            last: vec![None; problem.buffers.len()],
            order,
        };
        local.renumber(0, problem.len());
        (0..problem.buffers.len() as u32).for_each(|buffer| local.renew(buffer));
        local.count(0, problem.len());
        local
    }

    fn renumber(&mut self, start: usize, end: usize) {
        for place in start..end {
            self.place[self.order[place] as usize] = place as u32;
        }
    }

    /// Asks anew who brings a buffer to life and who lets it go.
    fn renew(&mut self, buffer: u32) {
        let b = buffer as usize;
        let Buffer { bytes, ref writers, ref readers, from_start, to_end } = self.problem.buffers[b];
        let place = |op: &OpIndex| self.place[op.index()];
        let first = writers.iter().min_by_key(|op| place(op)).filter(|_| !from_start).map(|op| op.0);
        let last = readers.iter().max_by_key(|op| place(op)).filter(|_| !to_end).map(|op| op.0);
        for (old, new, by_op) in
            [(&mut self.first[b], first, &mut self.allocated), (&mut self.last[b], last, &mut self.freed)]
        {
            if *old != new {
                if let Some(op) = old {
                    by_op[*op as usize] -= bytes;
                }
                if let Some(op) = new {
                    by_op[op as usize] += bytes;
                }
                *old = new;
            }
        }
    }

    /// Counts what is in use from one place to another.
    fn count(&mut self, start: usize, end: usize) {
        let mut in_use = match start.checked_sub(1) {
            Some(before) => self.during[before] - self.freed[self.order[before] as usize],
            None => self.problem.at_start(),
        };
        for place in start..end {
            let op = self.order[place] as usize;
            let during = in_use + self.allocated[op];
            self.during[place] = during;
            in_use = during - self.freed[op];
        }
    }

    /// Moves the op at one place to another, which its predecessors and successors must allow.
    fn shift(&mut self, from: usize, to: usize) {
        let op = self.order[from] as usize;
        let (start, end) = (from.min(to), from.max(to) + 1);
        if from < to {
            self.order[start..end].rotate_left(1);
        } else {
            self.order[start..end].rotate_right(1);
        }
        self.renumber(start, end);
        let problem = self.problem;
        for &buffer in problem.writes[op].iter().chain(&problem.reads[op]) {
            self.renew(buffer);
        }
        self.count(start, end);
    }

    /// The places that the op at one place may move to.
    fn range(&self, from: usize) -> (usize, usize) {
        let op = self.order[from] as usize;
        let place = |op: &u32| self.place[*op as usize] as usize;
        let start = self.problem.predecessors[op].iter().map(place).max().map_or(0, |place| place + 1);
        let end = self.problem.successors[op].iter().map(place).min().unwrap_or(self.order.len());
        (start, end)
    }

    /// The most that is in use, and where.
    fn peak(&self) -> (u64, usize) {
        let peak = self.during.iter().copied().max().unwrap_or(0).max(self.problem.at_start());
        (peak, self.during.iter().position(|&during| during == peak).unwrap_or(0))
    }

    /// Where the op at some place near the peak may go; mostly to the other side of the peak.
    fn draw(&self, peak: usize, random: &mut Rng) -> Option<(usize, usize)> {
        let n = self.order.len() as u64;
        let span = 1 + random.below((n / 4).max(2));
        let from = (peak as u64 + random.below(2 * span + 1)).saturating_sub(span).min(n - 1) as usize;
        let (start, end) = self.range(from);
        let to = start + random.below((end - start) as u64) as usize;
        let to = match random.below(4) {
            0 => to,
            _ if from <= peak => peak.clamp(start, end - 1),
            _ => start,
        };
        (to != from).then_some((from, to))
    }

    /// Late acceptance. Takes `best` to the best order it comes across.
    fn improve(mut self, best: &mut (u64, Vec<u32>), floor: u64, stop: &dyn Fn() -> bool) {
        let mut random = Rng::new(u64::from(self.problem.ops));
        let mut current = self.peak();
        let mut before = [current.0; MEMORY];
        let mut drawn = Vec::new();
        let (mut turn, mut last) = (0_u64, PATIENCE);
        while turn < last && best.0 > floor && !(turn.is_multiple_of(1024) && stop()) {
            drawn.clear();
            for _ in 0..=random.below(3) {
                if let Some((from, to)) = self.draw(current.1, &mut random) {
                    self.shift(from, to);
                    drawn.push((from, to));
                }
            }
            let peak = self.peak();
            let long_ago = &mut before[turn as usize % MEMORY];
            if peak.0 <= current.0.max(*long_ago) {
                current = peak;
            } else {
                drawn.iter().rev().for_each(|&(from, to)| self.shift(to, from));
            }
            *long_ago = current.0;
            if current.0 < best.0 {
                *best = (current.0, self.order.clone());
                last = turn + PATIENCE;
            }
            turn += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{NEVER, is_order, layers, least_peak, problems};
    use super::*;
    use crate::walk::steps_of;

    #[test]
    fn what_is_counted_along_a_changed_order_is_what_a_walk_counts() {
        let mut random = Rng::new(1);
        for problem in problems().chain((0..40).map(|seed| layers(40, 8, seed))) {
            let mut local = Local::new(&problem, problem.topological.clone());
            for _ in 0..30 {
                let Some((from, to)) = local.draw(local.peak().1, &mut random) else { continue };
                local.shift(from, to);
                assert!(is_order(&problem, &local.order));
                let during: Vec<u64> =
                    steps_of(&problem, &local.order).iter().map(|step| step.during).collect();
                assert_eq!(local.during, during);
                assert_eq!(local.peak().0, peak_of(&problem, &local.order));
            }
        }
    }

    #[test]
    fn small_problems_are_mostly_solved_and_the_same_way_each_time() {
        let (mut all, mut solved) = (0, 0);
        for problem in problems() {
            let (file, least) = (problem.topological.clone(), least_peak(&problem));
            let order = better_order(&problem, file.clone(), least, NEVER);
            assert!(is_order(&problem, &order) && is_order(&problem, &by_closures(&problem)));
            assert_eq!(order, better_order(&problem, file.clone(), least, NEVER));
            let peak = peak_of(&problem, &order);
            assert!((least..=peak_of(&problem, &file)).contains(&peak));
            (all, solved) = (all + 1, solved + u32::from(peak == least));
        }
        assert!(solved * 10 > all * 9, "{solved} of {all}");
    }

    #[test]
    fn layers_are_as_wide_as_they_are() {
        assert!(is_wide(&layers(300, 60, 1)) && !is_wide(&layers(300, 8, 1)));
    }
}
