//! What several tests need: numbers, problems, and a validity check that shares nothing with the planners.

use serenity_arena::{Buffer, Overlap, Placement, Problem, Sharing};
use serenity_search::Random;
use std::cmp::Reverse;
use std::num::NonZeroU64;

/// How far the one begins above the other, for any two that ties connect; empty without ties.
fn distances(problem: &Problem) -> Vec<Vec<Option<i128>>> {
    let count = if problem.ties().is_empty() { 0 } else { problem.buffers().len() };
    let mut known = vec![vec![None; count]; count];
    for (buffer, row) in known.iter_mut().enumerate() {
        row[buffer] = Some(0);
    }
    for tie in problem.ties() {
        known[tie.buffer][tie.to] = Some(i128::from(tie.distance));
        known[tie.to][tie.buffer] = Some(-i128::from(tie.distance));
    }
    for via in 0..count {
        for a in 0..count {
            for b in 0..count {
                if let (Some(one), Some(two)) = (known[a][via], known[via][b]) {
                    known[a][b] = Some(one + two);
                }
            }
        }
    }
    known
}

/// A problem, and what a naive check needs to know of it.
pub(crate) struct Rules<'a> {
    problem: &'a Problem,
    distances: Vec<Vec<Option<i128>>>,
    is_fixed: Vec<bool>,
}

impl<'a> Rules<'a> {
    pub(crate) fn new(problem: &'a Problem) -> Self {
        let mut is_fixed: Vec<bool> =
            problem.buffers().iter().map(|buffer| buffer.offset.is_some()).collect();
        let distances = distances(problem);
        for (buffer, row) in distances.iter().enumerate() {
            let is_tied_to_fixed =
                |(tied, other): (&Option<i128>, &Buffer)| tied.is_some() && other.offset.is_some();
            is_fixed[buffer] = row.iter().zip(problem.buffers()).any(is_tied_to_fixed);
        }
        Self { problem, distances, is_fixed }
    }

    fn distance(&self, a: usize, b: usize) -> Option<i128> {
        self.distances.get(a).and_then(|row| row[b])
    }

    /// May these two lie at these offsets?
    fn agree(&self, a: usize, at: u64, b: usize, other: u64) -> bool {
        if let Some(distance) = self.distance(a, b) {
            return i128::from(at) == i128::from(other) + distance;
        }
        let (first, second) = (&self.problem.buffers()[a], &self.problem.buffers()[b]);
        let permits = |overlap: &Overlap| match (overlap.writer, overlap.over) {
            pair if pair == (a, b) => overlap.permits(at, other),
            pair if pair == (b, a) => overlap.permits(other, at),
            _ => false,
        };
        first.size == 0
            || second.size == 0
            || !first.lives_with(second)
            || at + first.size <= other
            || other + second.size <= at
            || (self.is_fixed[a] && self.is_fixed[b])
            || self.problem.overlaps().iter().any(permits)
    }

    fn is_allowed(&self, index: usize, at: u64) -> bool {
        let buffer = &self.problem.buffers()[index];
        if self.is_fixed[index] {
            return buffer.offset.is_none_or(|offset| at == offset);
        }
        at.is_multiple_of(self.problem.alignment()) && at.is_multiple_of(buffer.alignment)
    }

    pub(crate) fn assert_kept(&self, placement: &Placement) {
        let mut height = 0;
        assert_eq!(placement.offsets.len(), self.problem.buffers().len());
        for (a, &at) in placement.offsets.iter().enumerate() {
            assert!(self.is_allowed(a, at), "{a} must not be at {at}: {:?}", self.problem);
            for (b, &other) in placement.offsets[..a].iter().enumerate() {
                assert!(self.agree(a, at, b, other), "{a} at {at}, {b} at {other}: {:?}", self.problem);
            }
            let size = self.problem.buffers()[a].size;
            height = height.max(if size > 0 { at + size } else { 0 });
        }
        assert_eq!(placement.height, height);
        assert!(placement.bound <= height);
    }

    /// The least height of any placement, by trying them all.
    pub(crate) fn least_height(&self, at_most: u64) -> u64 {
        let mut offsets = vec![None; self.problem.buffers().len()];
        // Those of no size last: they are in nobody's way.
        let mut order: Vec<usize> = (0..offsets.len()).collect();
        order.sort_by_key(|&buffer| Reverse(self.problem.buffers()[buffer].size));
        (0..=at_most).find(|&height| self.fits(height, &order, &mut offsets)).expect("one was found")
    }

    fn fits(&self, height: u64, order: &[usize], offsets: &mut [Option<u64>]) -> bool {
        let Some((&index, rest)) = order.split_first() else { return true };
        let buffer = &self.problem.buffers()[index];
        // What is tied to one that has its place, or to one that is fixed, has no choice.
        let tied = (0..offsets.len()).find_map(|other| {
            let at = offsets[other].or(self.problem.buffers()[other].offset)?;
            Some(i128::from(at) + self.distance(index, other)?)
        });
        let candidates = match tied {
            Some(at) => u64::try_from(at).map_or(0..0, |at| at..at + 1),
            None => 0..height + 100,
        };
        for at in candidates.filter(|at| buffer.size == 0 || at + buffer.size <= height) {
            let agrees =
                |other: usize| offsets[other].is_none_or(|there| self.agree(index, at, other, there));
            if self.is_allowed(index, at) && (0..offsets.len()).all(agrees) {
                offsets[index] = Some(at);
                let found = self.fits(height, rest, offsets);
                offsets[index] = None;
                if found {
                    return true;
                }
            }
        }
        false
    }
}

/// Every rule of the problem holds, and the height is what is needed.
pub(crate) fn assert_valid(problem: &Problem, placement: &Placement) {
    Rules::new(problem).assert_kept(placement);
}

/// Permissions of every kind for some of the pairs that are handed over, at multiples of `unit`.
pub(crate) fn overlaps(numbers: &mut Random, buffers: &[Buffer], unit: u64) -> Vec<Overlap> {
    let mut overlaps = Vec::new();
    for (writer, y) in buffers.iter().enumerate() {
        for (over, x) in buffers.iter().enumerate() {
            if y.lower + 1 == x.upper && x.lower < y.lower && !numbers.one_in(4) {
                let how = match numbers.below(4) {
                    0 => Sharing::SameOffset,
                    1 => Sharing::Below { distance: 0 },
                    2 => {
                        let above = NonZeroU64::MIN
                            .saturating_add(numbers.below(4))
                            .saturating_mul(unit.try_into().unwrap());
                        Sharing::EitherWay { below: numbers.below(4) * unit, above }
                    }
                    _ => Sharing::Below { distance: numbers.below(4) * unit },
                };
                overlaps.push(Overlap { writer, over, how });
            }
        }
    }
    overlaps
}

pub(crate) fn buffers_of(numbers: &mut Random, count: u64, steps: u64, largest: u64) -> Vec<Buffer> {
    let buffer = |_| {
        let (a, b) = ((numbers.below(steps) as i64), (numbers.below(steps) as i64));
        Buffer::new(numbers.below(largest + 1), a.min(b)..a.max(b) + 1)
    };
    (0..count).map(buffer).collect()
}
