//! A unit: a group of tied buffers, or a single one, that moves as a whole.

use crate::problem::common_multiple;
use crate::{Problem, Step};
use std::collections::BTreeMap;

/// Buffers at fixed distances from one another.
pub(super) struct Unit {
    /// Those that take room.
    pub(super) parts: Vec<Part>,
    /// From the lowest buffer to the end of the topmost.
    pub(super) height: i64,
    /// It begins at multiples of this.
    pub(super) step: i64,
    /// Where it must lie, if one of its buffers is fixed.
    pub(super) fixed: Option<i64>,
}

/// A buffer within its unit.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub(super) buffer: usize,
    /// Above the beginning of the unit.
    pub(super) offset: i64,
    pub(super) size: i64,
    pub(super) lower: Step,
    pub(super) upper: Step,
}

impl Part {
    pub(super) fn end(&self) -> i64 {
        self.offset + self.size
    }
}

impl Unit {
    pub(super) fn lower(&self) -> Step {
        self.parts.iter().map(|part| part.lower).min().unwrap_or(0)
    }

    pub(super) fn upper(&self) -> Step {
        self.parts.iter().map(|part| part.upper).max().unwrap_or(0)
    }
}

pub(super) struct Units {
    /// Those that can move come first.
    pub(super) all: Vec<Unit>,
    /// How many can move.
    pub(super) movable: usize,
    /// Of each buffer, the unit.
    pub(super) of: Vec<usize>,
}

impl Units {
    pub(super) fn new(problem: &Problem) -> Self {
        let buffers = problem.buffers();
        let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for buffer in 0..buffers.len() {
            groups.entry(problem.member(buffer).group).or_default().push(buffer);
        }
        let contract = |members: Vec<usize>| (unit(problem, &members), members);
        let mut groups: Vec<(Unit, Vec<usize>)> = groups.into_values().map(contract).collect();
        groups.sort_by_key(|(unit, _)| unit.fixed.is_some());
        let movable = groups.partition_point(|(unit, _)| unit.fixed.is_none());
        let mut of = vec![0; buffers.len()];
        for (index, (_, members)) in groups.iter().enumerate() {
            for &buffer in members {
                of[buffer] = index;
            }
        }
        Self { all: groups.into_iter().map(|(unit, _)| unit).collect(), movable, of }
    }

    /// Those that can move.
    pub(super) fn movable(&self) -> &[Unit] {
        &self.all[..self.movable]
    }

    /// Where the topmost of the fixed ones ends.
    pub(super) fn fixed_top(&self) -> i64 {
        let fixed = self.all[self.movable..].iter().filter(|unit| !unit.parts.is_empty());
        fixed.map(|unit| unit.fixed.unwrap_or(0) + unit.height).max().unwrap_or(0)
    }

    /// By buffer, from the positions of the units that can move.
    pub(super) fn offsets(&self, problem: &Problem, positions: &[i64]) -> Vec<u64> {
        let begin = |unit: usize| self.all[unit].fixed.unwrap_or_else(|| positions[unit]) as u64;
        self.of.iter().enumerate().map(|(b, &unit)| begin(unit) + problem.member(b).offset).collect()
    }
}

fn unit(problem: &Problem, members: &[usize]) -> Unit {
    let buffers = problem.buffers();
    let offset = |&buffer: &usize| problem.member(buffer).offset as i64;
    let part = |&buffer: &usize| {
        let b = &buffers[buffer];
        Part { buffer, offset: offset(&buffer), size: b.size as i64, lower: b.lower, upper: b.upper }
    };
    let parts: Vec<Part> = members.iter().filter(|&&b| buffers[b].size > 0).map(part).collect();
    let height = parts.iter().map(Part::end).max().unwrap_or(0);
    // There is a common multiple: `Problem::with_ties` has looked.
    let multiple = |step, &b: &usize| common_multiple(step, buffers[b].alignment).unwrap_or(step);
    let step = members.iter().fold(problem.alignment(), multiple) as i64;
    let fixed = members.iter().find_map(|b| Some(buffers[*b].offset? as i64 - offset(b)));
    Unit { parts, height, step, fixed }
}
