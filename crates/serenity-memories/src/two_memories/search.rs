//! Chooses the buffers that lie in the fast memory.

use super::sections::Sections;
use super::traffic::Traffic;
use serenity_arena::{Limits, Options, Overlap, Problem, StopReason, place};

/// The most buffers that are placed over all choices: some seconds, counted so that the result does not depend on the
/// clock.
const MOST_PLACED: usize = 2_000_000;

/// The most work for one placement, a fraction of a second: a single hard one must not use up the time for all others.
const MOST_WORK: u64 = 1 << 23;

/// The buffers in the fast memory; they always fit there.
#[derive(Clone)]
pub(super) struct Choice {
    pub(super) in_fast: Vec<bool>,
    pub(super) fast_offsets: Vec<u64>,
    pub(super) slow_offsets: Vec<u64>,
    /// Bytes that the slow memory lacks for the rest.
    pub(super) overflow: u64,
    /// Bytes moved in the slow memory.
    pub(super) slow_bytes: u64,
}

impl Choice {
    /// The cost, of which less is better; the first number decides.
    fn cost(&self) -> (u64, u64) {
        (self.overflow, self.slow_bytes)
    }
}

pub(super) struct Search<'a> {
    problem: &'a Problem,
    sections: &'a Sections,
    /// Bytes moved in each buffer.
    moved: Vec<u64>,
    capacities: [u64; 2],
    limits: &'a Limits,
    placements_left: usize,
    /// The limit that ended a placement or the search.
    pub(super) stopped: Option<StopReason>,
}

impl<'a> Search<'a> {
    pub(super) fn new(
        problem: &'a Problem,
        sections: &'a Sections,
        traffic: &[Traffic],
        capacities: [u64; 2],
        limits: &'a Limits,
    ) -> Self {
        let placements_left = (MOST_PLACED / traffic.len().max(1)).max(8);
        Self {
            problem,
            sections,
            moved: traffic.iter().map(|traffic| traffic.bytes()).collect(),
            capacities,
            limits,
            placements_left,
            stopped: None,
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.limits.are_over()
    }

    /// The best of `first` and some greedy choices, improved by exchanges while that helps. `least` is a lower bound on
    /// the bytes moved.
    pub(super) fn best_choice(&mut self, first: &[bool], least: u64) -> Choice {
        let rankings = self.rankings();
        let (mut best, mut index) = (self.placed(first), 0);
        for (ranking, order) in rankings.iter().enumerate() {
            let wanted = self.filled(vec![false; self.moved.len()], None, None, order);
            let choice = self.placed(&wanted);
            if choice.cost() < best.cost() {
                (best, index) = (choice, ranking);
            }
        }
        let mut improved = true;
        while improved && best.cost() > (0, least) {
            improved = false;
            for buffer in 0..self.moved.len() {
                if self.placements_left == 0 || self.is_over() {
                    self.note_the_clock();
                    return best;
                }
                // A buffer outside goes in at the cost of others; a buffer inside makes room for others.
                let (forced, banned) =
                    if best.in_fast[buffer] { (None, Some(buffer)) } else { (Some(buffer), None) };
                let wanted = self.filled(best.in_fast.clone(), forced, banned, &rankings[index]);
                if wanted != best.in_fast && self.is_promising(&wanted, &best) {
                    let choice = self.placed(&wanted);
                    if choice.cost() < best.cost() {
                        (best, improved) = (choice, true);
                    }
                }
            }
        }
        best
    }

    /// Orders in which to fill the fast memory: by bytes moved per byte and step, per byte, or in total; and first the
    /// buffers that live when the slow memory is too small for all.
    fn rankings(&self) -> Vec<Vec<usize>> {
        let buffers = self.problem.buffers();
        let ranked = |value: &dyn Fn(usize) -> f64| {
            let mut order: Vec<usize> = (0..buffers.len()).collect();
            order.sort_by(|&a, &b| value(b).total_cmp(&value(a)).then(a.cmp(&b)));
            order
        };
        let moved = |b: usize| self.moved[b] as f64;
        let size = |b: usize| buffers[b].size.max(1) as f64;
        let steps = |b: usize| self.sections.life(b).len().max(1) as f64;
        let mut rankings = vec![
            ranked(&|b| moved(b) / (size(b) * steps(b))),
            ranked(&|b| moved(b) / size(b)),
            ranked(&moved),
        ];
        let is_tight = |section| self.sections.in_use(section) > self.capacities[1];
        if (0..self.sections.count()).any(is_tight) {
            let lives_when_tight = |b: usize| f64::from(self.sections.life(b).any(is_tight));
            rankings.push(ranked(&lives_when_tight));
            rankings.push(ranked(&|b| lives_when_tight(b) * size(b)));
        }
        rankings
    }

    /// A choice that includes `forced` and excludes `banned`, filled up by rank as far as the sizes allow.
    fn filled(
        &self,
        mut chosen: Vec<bool>,
        forced: Option<usize>,
        banned: Option<usize>,
        ranking: &[usize],
    ) -> Vec<bool> {
        let mut loads = vec![0_u64; self.sections.count()];
        if let Some(buffer) = banned {
            chosen[buffer] = false;
        }
        for buffer in (0..chosen.len()).filter(|&b| chosen[b]) {
            self.add(&mut loads, buffer);
        }
        if let Some(buffer) = forced {
            // The lowest in rank make room.
            let mut others = ranking.iter().rev().filter(|&&b| self.meet(b, buffer));
            while !self.has_room(&loads, buffer) {
                let Some(&other) = others.next() else { return chosen };
                if std::mem::replace(&mut chosen[other], false) {
                    self.remove(&mut loads, other);
                }
            }
            self.add(&mut loads, buffer);
            chosen[buffer] = true;
        }
        for &buffer in ranking {
            if !chosen[buffer] && Some(buffer) != banned && self.has_room(&loads, buffer) {
                self.add(&mut loads, buffer);
                chosen[buffer] = true;
            }
        }
        chosen
    }

    fn meet(&self, a: usize, b: usize) -> bool {
        let (a, b) = (self.sections.life(a), self.sections.life(b));
        a.start < b.end && b.start < a.end
    }

    fn has_room(&self, loads: &[u64], buffer: usize) -> bool {
        let size = self.problem.buffers()[buffer].size;
        size <= self.capacities[0]
            && self.sections.life(buffer).all(|section| {
                loads[section].saturating_add(size) <= self.sections.room(section, self.capacities[0])
            })
    }

    fn add(&self, loads: &mut [u64], buffer: usize) {
        for section in self.sections.life(buffer) {
            loads[section] += self.problem.buffers()[buffer].size;
        }
    }

    fn remove(&self, loads: &mut [u64], buffer: usize) {
        for section in self.sections.life(buffer) {
            loads[section] -= self.problem.buffers()[buffer].size;
        }
    }

    /// Would the choice be better than `best` if all of it fits? If not, it is not placed.
    fn is_promising(&self, wanted: &[bool], best: &Choice) -> bool {
        best.overflow > 0 || self.slow_bytes(wanted) < best.slow_bytes
    }

    fn slow_bytes(&self, in_fast: &[bool]) -> u64 {
        let outside = self.moved.iter().zip(in_fast).filter(|&(_, &is_fast)| !is_fast);
        outside.fold(0, |sum, (moved, _)| sum.saturating_add(*moved))
    }

    /// Places a choice. Buffers that the exact planner cannot keep below the capacity of the fast memory go to the slow
    /// one.
    fn placed(&mut self, wanted: &[bool]) -> Choice {
        self.placements_left = self.placements_left.saturating_sub(1);
        let mut in_fast = wanted.to_vec();
        let fast_offsets = self.offsets(&in_fast, true);
        for (buffer, is_fast) in in_fast.iter_mut().enumerate() {
            let end = fast_offsets[buffer] + self.problem.buffers()[buffer].size;
            *is_fast = *is_fast && end <= self.capacities[0];
        }
        let slow_offsets = self.offsets(&in_fast, false);
        let ends = slow_offsets.iter().zip(self.problem.buffers()).zip(&in_fast);
        let height = ends.filter(|&(_, &is_fast)| !is_fast).map(|((offset, buffer), _)| offset + buffer.size);
        let overflow = height.max().unwrap_or(0).saturating_sub(self.capacities[1]);
        let slow_bytes = self.slow_bytes(&in_fast);
        Choice { in_fast, fast_offsets, slow_offsets, overflow, slow_bytes }
    }

    /// Places the buffers of each memory as low as possible: so far they had to fit, no more.
    pub(super) fn lower(&mut self, choice: &mut Choice) {
        for is_fast in [true, false] {
            let lower = self.offsets_within(&choice.in_fast, is_fast, None);
            let offsets = if is_fast { &mut choice.fast_offsets } else { &mut choice.slow_offsets };
            let end = |offsets: &[u64]| {
                let of_memory = (0..offsets.len()).filter(|&b| choice.in_fast[b] == is_fast);
                of_memory.map(|b| offsets[b] + self.problem.buffers()[b].size).max()
            };
            if end(&lower) < end(offsets) {
                *offsets = lower;
            }
        }
    }

    /// The offsets of the buffers of one memory, by index in the problem.
    fn offsets(&mut self, in_fast: &[bool], is_fast: bool) -> Vec<u64> {
        self.offsets_within(in_fast, is_fast, Some(self.capacities[usize::from(!is_fast)]))
    }

    fn offsets_within(&mut self, in_fast: &[bool], is_fast: bool, capacity: Option<u64>) -> Vec<u64> {
        let members: Vec<usize> = (0..in_fast.len()).filter(|&b| in_fast[b] == is_fast).collect();
        let (offsets, stopped) = place_some(self.problem, &members, capacity, self.limits);
        self.stopped = self.stopped.or(stopped);
        let mut by_buffer = vec![0; in_fast.len()];
        for (&buffer, offset) in members.iter().zip(offsets) {
            by_buffer[buffer] = offset;
        }
        by_buffer
    }

    fn note_the_clock(&mut self) {
        self.stopped = self.stopped.or(self.limits.interrupted());
    }
}

/// Places some of the buffers of a problem in a memory of their own, within the capacity if possible; returns also the
/// limit that was hit.
pub(super) fn place_some(
    problem: &Problem,
    members: &[usize],
    capacity: Option<u64>,
    limits: &Limits,
) -> (Vec<u64>, Option<StopReason>) {
    let mut position = vec![None; problem.buffers().len()];
    for (at, &buffer) in members.iter().enumerate() {
        position[buffer] = Some(at);
    }
    let overlaps = problem.overlaps().iter().filter_map(|overlap| {
        Some(Overlap { writer: position[overlap.writer]?, over: position[overlap.over]?, ..*overlap })
    });
    let buffers = members.iter().map(|&buffer| problem.buffers()[buffer]).collect();
    let part = Problem::new(buffers, problem.alignment())
        .and_then(|part| part.with_overlaps(overlaps.collect()))
        .expect("a part of a valid problem is valid");
    let limits = limits.working(MOST_WORK);
    let placement = place(&part, &Options { capacity, limits, ..Options::default() });
    let stopped = match placement.proof {
        serenity_arena::Proof::Gap { stopped } if stopped != StopReason::Capacity => Some(stopped),
        _ => None,
    };
    (placement.offsets, stopped)
}
