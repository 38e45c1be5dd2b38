//! The time line of a problem, cut where buffers begin.

use serenity_arena::{Problem, Step};
use std::collections::BTreeMap;
use std::ops::Range;

/// The steps at which buffers begin: the peak is at one of these.
pub(super) struct Sections {
    count: usize,
    /// The sections in which each buffer is in use.
    lives: Vec<Range<usize>>,
    in_use: Vec<u64>,
    /// The most bytes that buffers may share, where some may be written over others.
    shared: Vec<u64>,
}

impl Sections {
    pub(super) fn new(problem: &Problem) -> Self {
        let buffers = problem.buffers();
        let mut starts: Vec<Step> = buffers.iter().map(|buffer| buffer.lower).collect();
        starts.sort_unstable();
        starts.dedup();
        let at = |step: Step| starts.partition_point(|&start| start < step);
        let lives: Vec<Range<usize>> = buffers.iter().map(|b| at(b.lower)..at(b.upper)).collect();
        let mut changes = vec![0_i128; starts.len() + 1];
        for (buffer, life) in buffers.iter().zip(&lives) {
            changes[life.start] += i128::from(buffer.size);
            changes[life.end] -= i128::from(buffer.size);
        }
        let in_use = changes[..starts.len()].iter().scan(0_i128, |sum, change| {
            *sum += change;
            Some(u64::try_from(*sum).unwrap_or(u64::MAX))
        });
        let in_use = in_use.collect();
        // A writer shares at most its own bytes, with however many buffers.
        let mut by_writer: BTreeMap<usize, u64> = BTreeMap::new();
        for overlap in problem.overlaps() {
            let sum = by_writer.entry(overlap.writer).or_insert(0);
            *sum = sum.saturating_add(buffers[overlap.over].size);
        }
        let mut shared = vec![0_u64; starts.len()];
        for (writer, sum) in by_writer {
            let section = &mut shared[lives[writer].start];
            *section = section.saturating_add(sum.min(buffers[writer].size));
        }
        Self { count: starts.len(), lives, in_use, shared }
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    pub(super) fn life(&self, buffer: usize) -> Range<usize> {
        self.lives[buffer].clone()
    }

    /// Bytes in use, without those that may be shared.
    pub(super) fn in_use(&self, section: usize) -> u64 {
        self.in_use[section]
    }

    /// An upper bound on the sizes in use at once in a memory of `capacity` bytes.
    pub(super) fn room(&self, section: usize, capacity: u64) -> u64 {
        capacity.saturating_add(self.shared[section])
    }

    /// The least that all memories together must have.
    pub(super) fn most_in_use(&self) -> u64 {
        let needs = self.in_use.iter().zip(&self.shared).map(|(bytes, shared)| bytes.saturating_sub(*shared));
        needs.max().unwrap_or(0)
    }
}
