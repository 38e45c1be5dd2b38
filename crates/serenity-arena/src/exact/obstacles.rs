//! Fixed buffers.
//!
//! They may overlap one another and be unaligned, and never move. An item cannot begin at offsets where it would meet
//! one.

use super::lists::Lists;
use super::model::Item;
use crate::overlap::{Side, forbidden};
use crate::{Overlap, Problem, Step};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

pub(super) struct Obstacle {
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) lower: Step,
    pub(super) upper: Step,
    pub(super) buffer: usize,
}

pub(super) fn of(problem: &Problem) -> Vec<Obstacle> {
    let fixed = problem.buffers().iter().enumerate().filter_map(|(index, buffer)| {
        let start = buffer.offset? as i64;
        let end = start + buffer.size as i64;
        Some(Obstacle { start, end, lower: buffer.lower, upper: buffer.upper, buffer: index })
    });
    fixed.filter(|obstacle| obstacle.end > obstacle.start).collect()
}

/// Permissions to share bytes with a fixed buffer.
pub(super) struct Permissions<'a>(BTreeMap<(usize, usize), &'a Overlap>);

impl<'a> Permissions<'a> {
    pub(super) fn new(problem: &'a Problem) -> Self {
        let is_fixed = |buffer: usize| problem.buffers()[buffer].offset.is_some();
        let with_fixed = problem.overlaps().iter().filter(|o| is_fixed(o.writer) || is_fixed(o.over));
        Self(with_fixed.map(|overlap| ((overlap.writer, overlap.over), overlap)).collect())
    }

    /// Adds the open intervals of offsets at which the item would meet the obstacle.
    pub(super) fn block(&self, item: &Item, obstacle: &Obstacle, mut add: impl FnMut((i64, i64))) {
        let pair = (item.buffer, obstacle.buffer);
        let permission = self.0.get(&pair).or_else(|| self.0.get(&(pair.1, pair.0)));
        let permission = permission.map(|overlap| Side::of(overlap, item.buffer));
        forbidden(item.size, obstacle.end - obstacle.start, permission, |from, to| {
            add((obstacle.start + from, obstacle.start + to));
        });
    }
}

/// For each section, the whole cells that obstacles take, from low to high and apart from one another.
///
/// Of a cell that is taken in part the rest may hold the end of an item, so it does not count; nor does a buffer that
/// others may be written over, or that may be written over others.
pub(super) fn taken_cells(
    problem: &Problem,
    obstacles: &[(Obstacle, Range<usize>)],
    sections: usize,
    cell: i64,
) -> Lists<(i64, i64)> {
    let sharing: BTreeSet<usize> = problem.overlaps().iter().flat_map(|o| [o.writer, o.over]).collect();
    let mut taken: Vec<(usize, (i64, i64))> = Vec::new();
    for (obstacle, lives) in obstacles {
        if sharing.contains(&obstacle.buffer) {
            continue;
        }
        let (start, end) = (up(obstacle.start, cell), obstacle.end - obstacle.end % cell);
        if start < end {
            taken.extend(lives.clone().map(|section| (section, (start, end))));
        }
    }
    taken.sort_unstable();
    taken.dedup_by(|next, last| {
        let meets = next.0 == last.0 && next.1.0 <= last.1.1;
        if meets {
            last.1.1 = last.1.1.max(next.1.1);
        }
        meets
    });
    Lists::new(sections, taken.iter().copied())
}

/// Rounds up to a multiple of `step`; neither is negative.
pub(super) fn up(value: i64, step: i64) -> i64 {
    (value + step - 1) / step * step
}
