//! A lower bound for units, without any search.

use super::table::Table;
use super::units::{Part, Units};
use crate::{Overlap, Problem, Step};
use std::collections::BTreeMap;

/// No placement is lower than this: what the units in use at one step cover lies side by side, and each of them is as
/// high as it is.
///
/// Memory is looked at in cells, as large as the alignment. A buffer covers its cells from the first byte on, so units
/// that may not share a byte share no cell, and only of the topmost cell some of the bytes may be free. Fixed units
/// count by where they end only.
pub(super) fn of(problem: &Problem, units: &Units) -> u64 {
    let mut parts: Vec<(Part, usize)> = Vec::new();
    for (index, unit) in units.movable().iter().enumerate() {
        parts.extend(unit.parts.iter().map(|&part| (part, index)));
    }
    parts.sort_by_key(|(part, _)| part.lower);
    let permissions = Permissions::new(problem, units);
    let heights = units.movable().iter().map(|unit| unit.height);
    let mut bound = heights.max().unwrap_or(0).max(units.fixed_top());
    let mut alive: Vec<(Part, usize)> = Vec::new();
    // Between two beginnings nothing is added.
    for begin_together in parts.chunk_by(|a, b| a.0.lower == b.0.lower) {
        let step = begin_together[0].0.lower;
        alive.retain(|(part, _)| part.upper > step);
        alive.extend_from_slice(begin_together);
        bound = bound.max(permissions.least(step, &mut alive));
    }
    bound as u64
}

/// A lower bound from single units: how high each ends if fixed units keep it from the ground.
pub(super) fn above_ground(units: &Units, table: &Table) -> u64 {
    let positions = vec![None; table.count()];
    let mut blocked = Vec::new();
    let tops = units.movable().iter().enumerate().filter(|(_, unit)| unit.height > 0).map(|(index, unit)| {
        super::fit::lowest(table, index, unit.step, |other| positions[other], &mut blocked).0 + unit.height
    });
    tops.max().unwrap_or(0) as u64
}

struct Permissions<'a> {
    cell: i64,
    /// By the step at which one is handed over to the other; those within one unit are left out.
    at: BTreeMap<Step, Vec<&'a Overlap>>,
    units: &'a Units,
}

impl<'a> Permissions<'a> {
    fn new(problem: &'a Problem, units: &'a Units) -> Self {
        let mut at: BTreeMap<Step, Vec<&Overlap>> = BTreeMap::new();
        for overlap in problem.overlaps() {
            let (writer, over) = (units.of[overlap.writer], units.of[overlap.over]);
            let is_movable = writer < units.movable && over < units.movable;
            let takes_room = [overlap.writer, overlap.over].iter().all(|&b| problem.buffers()[b].size > 0);
            if writer != over && is_movable && takes_room {
                at.entry(problem.buffers()[overlap.writer].lower).or_default().push(overlap);
            }
        }
        Self { cell: problem.alignment() as i64, at, units }
    }

    /// What those in use at a step take at least. Sorts them by unit.
    fn least(&self, step: Step, alive: &mut [(Part, usize)]) -> i64 {
        alive.sort_unstable_by_key(|(part, unit)| (*unit, part.offset));
        let covered: i64 = alive
            .chunk_by(|a, b| a.1 == b.1)
            .map(|unit| self.covered(unit.iter().map(|(part, _)| part)))
            .sum();
        let free = alive.iter().map(|(part, _)| self.up(part.size) - part.size).max().unwrap_or(0);
        let saved = self.at.get(&step).map_or(0, |overlaps| self.saving(overlaps, alive));
        covered - free - saved
    }

    /// The most that units can share at a step.
    ///
    /// A writer begins at the step and what is written over began before it. So of three buffers on one cell two are of
    /// the same kind, and only within a unit may they meet: no cell holds more than two units, and each is saved once.
    /// It belongs to a writer and to what that is written over, and to no part of either unit that has no permission.
    /// So a writer saves no more than its own cells, less those below the lowest that it is written over, and what is
    /// written over saves no more than its own.
    fn saving(&self, overlaps: &[&Overlap], alive: &[(Part, usize)]) -> i64 {
        // By writer and by what is written over: the sum of what is shared, and the most that can be.
        let mut by_writer: BTreeMap<usize, (i64, i64)> = BTreeMap::new();
        let mut by_over: BTreeMap<usize, (i64, i64)> = BTreeMap::new();
        let is_permitted = |a: usize, b: usize| {
            overlaps.iter().any(|o| (o.writer, o.over) == (a, b) || (o.over, o.writer) == (a, b))
        };
        for overlap in overlaps {
            let Some((writer, writer_cells)) =
                self.usable(overlap.writer, alive, |b| is_permitted(b, overlap.over))
            else {
                continue;
            };
            let Some((over, over_cells)) =
                self.usable(overlap.over, alive, |b| is_permitted(b, overlap.writer))
            else {
                continue;
            };
            let [writer_size, over_size] = [writer, over].map(|part| self.up(part.size));
            let up = |distance: u64| self.up(distance as i64) as u64;
            let most = overlap.how.most_shared(writer_size as u64, over_size as u64, up) as i64;
            let shared = over_cells.min(writer_cells).min(most);
            let below = self.up(overlap.how.least_below().min(writer_size as u64) as i64);
            let above = writer_size - below;
            let entry = by_writer.entry(overlap.writer).or_default();
            *entry = (entry.0 + shared, entry.1.max(above));
            let entry = by_over.entry(overlap.over).or_default();
            *entry = (entry.0 + shared, over_size);
        }
        let sum =
            |by: BTreeMap<usize, (i64, i64)>| by.into_values().map(|(sum, most)| sum.min(most)).sum::<i64>();
        sum(by_writer).min(sum(by_over))
    }

    /// A part in use, and how much of it no other part of its unit covers that has no permission.
    fn usable(
        &self,
        buffer: usize,
        alive: &[(Part, usize)],
        has_permission: impl Fn(usize) -> bool,
    ) -> Option<(Part, i64)> {
        let unit = self.units.of[buffer];
        let from = alive.partition_point(|&(_, other)| other < unit);
        let to = alive.partition_point(|&(_, other)| other <= unit);
        let siblings = &alive[from..to];
        let (part, _) = *siblings.iter().find(|(part, _)| part.buffer == buffer)?;
        let others = || siblings.iter().map(|(part, _)| part).filter(|other| !has_permission(other.buffer));
        let with = self.covered(others().chain([&part]));
        Some((part, with - self.covered(others())))
    }

    /// Bytes of whole cells.
    fn covered<'p>(&self, parts: impl Iterator<Item = &'p Part>) -> i64 {
        let mut spans: Vec<(i64, i64)> =
            parts.map(|part| (part.offset, part.offset + self.up(part.size))).collect();
        spans.sort_unstable();
        let (mut covered, mut end) = (0, 0);
        for (from, to) in spans {
            covered += (to - from.max(end)).max(0);
            end = end.max(to);
        }
        covered
    }

    fn up(&self, size: i64) -> i64 {
        (size + self.cell - 1) / self.cell * self.cell
    }
}
