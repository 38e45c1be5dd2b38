//! For any two units, the distances at which they cannot lie from one another.

use super::units::{Part, Unit, Units};
use crate::neighbours::Neighbours;
use crate::overlap::{Side, forbidden};
use crate::problem::common_divisor;
use crate::{Overlap, Problem, StopReason};
use serenity_search::Watch;
use std::collections::BTreeMap;

/// A unit cannot begin more than `from` and less than `to` bytes above `other`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Forbidden {
    /// A unit that can move, or [`Table::ground`].
    pub(super) other: u32,
    pub(super) from: i64,
    pub(super) to: i64,
}

impl Forbidden {
    /// With the unit at `at`, can the other one not lie at `other`?
    pub(super) fn forbids(&self, at: i64, other: i64) -> bool {
        at - self.to < other && other < at - self.from
    }

    /// With the unit at `at`, may it be on account of this that the other one lies no lower than `other`?
    pub(super) fn supports(&self, at: i64, other: i64) -> bool {
        at - self.to < other && at > self.from
    }
}

/// Of every unit that can move, what is forbidden to it: by those that can move, and by what lies where it lies, as
/// seen from offset 0.
///
/// Intervals are widened to multiples of what both units are aligned to, which forbids nothing more, and then those that meet are
/// made one. Two that only touch stay two: where the one ends and the other begins is a place to lie.
pub(super) struct Table {
    starts: Vec<usize>,
    all: Vec<Forbidden>,
}

/// If the caller gives no limit: a file from anywhere must not take all the memory there is.
const DEFAULT_MEMORY: u64 = 1 << 30;

impl Table {
    pub(super) fn new(problem: &Problem, units: &Units, watch: &mut Watch) -> Result<Self, StopReason> {
        let overlaps = problem.overlaps().iter().map(|o| ((o.writer, o.over), o)).collect();
        let neighbours = Neighbours::new(problem.buffers());
        let mut table = Self { starts: vec![0], all: Vec::new() };
        let mut raw = Vec::new();
        for (index, unit) in units.movable().iter().enumerate() {
            collect(problem, units, index, &neighbours, &overlaps, &mut raw);
            for forbidden in &mut raw {
                let other =
                    units.movable().get(forbidden.other as usize).map_or(unit.step, |other| other.step);
                let step = common_divisor(unit.step as u64, other as u64) as i64;
                forbidden.from = forbidden.from.div_euclid(step) * step;
                forbidden.to = -(-forbidden.to).div_euclid(step) * step;
                if forbidden.to - forbidden.from <= step {
                    forbidden.to = forbidden.from;
                }
            }
            raw.retain(|forbidden| forbidden.from < forbidden.to);
            raw.sort_unstable();
            let work = raw.len() as u64;
            raw.dedup_by(|next, last| {
                let meets = next.other == last.other && next.from < last.to;
                if meets {
                    last.to = last.to.max(next.to);
                }
                meets
            });
            table.all.append(&mut raw);
            table.starts.push(table.all.len());
            if table.bytes() > watch.memory_limit().min(DEFAULT_MEMORY) {
                return Err(StopReason::Memory);
            }
            if let Some(stopped) = watch.after(work) {
                return Err(stopped);
            }
        }
        Ok(table)
    }

    fn bytes(&self) -> u64 {
        (self.all.len() * size_of::<Forbidden>()) as u64
    }

    /// Units that can move.
    pub(super) fn count(&self) -> usize {
        self.starts.len() - 1
    }

    /// Stands for all that lies where it lies.
    pub(super) fn ground(&self) -> usize {
        self.count()
    }

    /// Sorted by the other unit.
    pub(super) fn of(&self, unit: usize) -> &[Forbidden] {
        &self.all[self.starts[unit]..self.starts[unit + 1]]
    }
}

/// By writer and what is written over.
type Overlaps<'a> = BTreeMap<(usize, usize), &'a Overlap>;

fn collect(
    problem: &Problem,
    units: &Units,
    index: usize,
    neighbours: &Neighbours,
    overlaps: &Overlaps,
    raw: &mut Vec<Forbidden>,
) {
    let ground = units.movable as u32;
    for part in &units.all[index].parts {
        neighbours.of(&problem.buffers()[part.buffer], |b| {
            let (unit, other) = (units.of[b], &problem.buffers()[b]);
            if unit == index || other.size == 0 {
                return;
            }
            let Unit { fixed, .. } = units.all[unit];
            let offset = problem.member(b).offset as i64 + fixed.unwrap_or(0);
            let (size, lower, upper) = (other.size as i64, other.lower, other.upper);
            let other = if fixed.is_some() { ground } else { unit as u32 };
            forbid(part, &Part { buffer: b, offset, size, lower, upper }, overlaps, |from, to| {
                raw.push(Forbidden { other, from, to });
            });
        });
    }
}

/// How far the unit of `upper` must not begin above that of `lower`, on account of these two parts.
fn forbid(upper: &Part, lower: &Part, overlaps: &Overlaps, mut add: impl FnMut(i64, i64)) {
    let level = lower.offset - upper.offset;
    let permission = overlaps
        .get(&(upper.buffer, lower.buffer))
        .or_else(|| overlaps.get(&(lower.buffer, upper.buffer)))
        .map(|overlap| Side::of(overlap, upper.buffer));
    forbidden(upper.size, lower.size, permission, |from, to| add(level + from, level + to));
}
