//! A problem in the form that the search works on.
//!
//! Time shrinks to *sections*: only those points matter at which a set of buffers is alive that is not part of a larger
//! one. Two buffers live together if and only if their ranges of sections meet. Items are numbered by their first
//! section, so that the items that begin within some sections have consecutive numbers, and everything that lives with
//! an item can be walked without storing it: the members of its first section, then the items that begin in its others.
//!
//! All bytes are `i64`: [`Problem`] keeps them far from overflow.

use super::lists::Lists;
use super::obstacles::{self, Obstacle, Permissions};
use super::sharing::Shared;
use crate::problem::common_divisor;
use crate::{Buffer, Problem, Step};
use std::ops::Range;

/// A buffer that is to be placed.
pub(super) struct Item {
    /// Which buffer of the problem it is.
    pub(super) buffer: usize,
    pub(super) size: i64,
    /// Its bytes rounded up to whole cells: what it takes from those above it.
    pub(super) span: i64,
    /// Its offset is a multiple of this, itself a multiple of the cell.
    pub(super) alignment: i64,
    /// The sections in which it lives.
    pub(super) sections: Range<usize>,
    /// How long it lives, in steps.
    pub(super) duration: i64,
    /// It can rest at any multiple of the cell: no alignment of its own, no obstacle, no partner at the same offset.
    pub(super) rests_anywhere: bool,
    /// It takes part in an overlap.
    pub(super) shares: bool,
}

pub(super) struct Model {
    pub(super) items: Vec<Item>,
    /// The spans of the items, side by side for the inner loops.
    pub(super) spans: Vec<i64>,
    /// Every offset is a multiple of this.
    pub(super) cell: i64,
    /// The items alive in each section.
    members: Lists<u32>,
    /// The first item that begins in each section or later.
    first_item: Vec<usize>,
    /// Offsets at which an item cannot begin, as open intervals from low to high.
    pub(super) blocked: Lists<(i64, i64)>,
    /// Whole cells taken by obstacles in each section, from low to high, apart from one another.
    pub(super) taken: Lists<(i64, i64)>,
    pub(super) has_obstacles: bool,
    /// Which items may share bytes.
    pub(super) shared: Shared,
    /// The end of the topmost fixed buffer.
    pub(super) fixed_top: i64,
}

/// Forwards or backwards in time: the same problem, and a different one to a search.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Forwards,
    Backwards,
}

/// What begins and ends: a buffer to be placed, or an obstacle.
struct Life {
    lower: Step,
    upper: Step,
}

impl Direction {
    fn life(self, lower: Step, upper: Step) -> Life {
        match self {
            Self::Forwards => Life { lower, upper },
            // The complement turns the order around and cannot overflow.
            Self::Backwards => Life { lower: !upper, upper: !lower },
        }
    }
}

impl Model {
    /// `None` if its tables would take more than `memory` bytes.
    pub(super) fn new(problem: &Problem, direction: Direction, memory: u64) -> Option<Self> {
        let buffers = problem.buffers();
        let free: Vec<usize> =
            (0..buffers.len()).filter(|&b| buffers[b].offset.is_none() && buffers[b].size > 0).collect();
        let obstacles = obstacles::of(problem);
        let lives: Vec<Life> = free
            .iter()
            .map(|&b| direction.life(buffers[b].lower, buffers[b].upper))
            .chain(obstacles.iter().map(|o| direction.life(o.lower, o.upper)))
            .collect();
        let (ranges, sections) = ranges_of_sections(&lives);
        let entries: u64 = ranges.iter().map(|range| range.len() as u64).sum();
        if entries.saturating_mul(16).saturating_add(128 * lives.len() as u64) > memory {
            return None;
        }

        let cell =
            free.iter().fold(0, |cell, &b| common_divisor(cell, problem.alignment_of(&buffers[b]))).max(1);
        let mut order: Vec<usize> = (0..free.len()).collect();
        // By what the buffers are, not by how they are numbered: shuffled input gives the same search.
        order.sort_by_key(|&i| {
            let buffer = &buffers[free[i]];
            (ranges[i].start, ranges[i].end, buffer.size, problem.alignment_of(buffer), free[i])
        });
        let items: Vec<Item> =
            order.iter().map(|&i| item(problem, free[i], ranges[i].clone(), cell)).collect();
        let members = items
            .iter()
            .enumerate()
            .flat_map(|(index, item)| item.sections.clone().map(move |section| (section, index as u32)));
        let obstacles: Vec<(Obstacle, Range<usize>)> =
            obstacles.into_iter().zip(ranges[free.len()..].iter().cloned()).collect();
        let mut model = Self {
            cell: cell as i64,
            members: Lists::new(sections, members),
            first_item: (0..=sections)
                .map(|s| items.partition_point(|item| item.sections.start < s))
                .collect(),
            blocked: Lists::new(0, std::iter::empty()),
            taken: obstacles::taken_cells(problem, &obstacles, sections, cell as i64),
            has_obstacles: !obstacles.is_empty(),
            shared: Shared::new(problem, &items, sections, cell as i64),
            fixed_top: obstacles.iter().map(|(obstacle, _)| obstacle.end).max().unwrap_or(0),
            spans: items.iter().map(|item| item.span).collect(),
            items,
        };
        model.blocked = model.blocked_offsets(problem, &obstacles);
        for index in 0..model.items.len() {
            let is_free = model.blocked.of(index).is_empty() && !model.shared.has_glue(index);
            let item = &mut model.items[index];
            item.rests_anywhere = is_free && item.alignment == model.cell;
            item.shares = !model.shared.of(index).is_empty();
        }
        Some(model)
    }

    fn blocked_offsets(
        &self,
        problem: &Problem,
        obstacles: &[(Obstacle, Range<usize>)],
    ) -> Lists<(i64, i64)> {
        let permissions = Permissions::new(problem);
        let mut blocked = Vec::new();
        for (obstacle, sections) in obstacles {
            for index in self.living_in(sections.clone()) {
                permissions.block(&self.items[index], obstacle, |interval| blocked.push((index, interval)));
            }
        }
        blocked.sort_unstable();
        Lists::new(self.items.len(), blocked.iter().copied())
    }

    pub(super) fn sections(&self) -> usize {
        self.first_item.len() - 1
    }

    /// The items alive in a section.
    pub(super) fn members(&self, section: usize) -> &[u32] {
        self.members.of(section)
    }

    /// The items that begin in these sections.
    pub(super) fn beginning_in(&self, sections: Range<usize>) -> Range<usize> {
        self.first_item[sections.start]..self.first_item[sections.end]
    }

    /// How many live together with an item.
    pub(super) fn neighbours(&self, item: usize) -> usize {
        let Range { start, end } = self.items[item].sections.clone();
        self.members.of(start).len() + self.beginning_in(start + 1..end).len() - 1
    }

    /// All that live together with an item, itself included.
    pub(super) fn living_with(&self, item: usize) -> impl Iterator<Item = usize> {
        self.living_in(self.items[item].sections.clone())
    }

    /// All that live in some of these sections.
    pub(super) fn living_in(&self, sections: Range<usize>) -> impl Iterator<Item = usize> {
        let Range { start, end } = sections;
        self.members.of(start).iter().map(|&i| i as usize).chain(self.beginning_in(start + 1..end))
    }
}

fn item(problem: &Problem, index: usize, sections: Range<usize>, cell: u64) -> Item {
    let buffer: &Buffer = &problem.buffers()[index];
    Item {
        buffer: index,
        size: buffer.size as i64,
        span: buffer.size.next_multiple_of(cell) as i64,
        alignment: problem.alignment_of(buffer) as i64,
        sections,
        duration: buffer.upper.saturating_sub(buffer.lower),
        rests_anywhere: false,
        shares: false,
    }
}

/// For each life the sections in which it takes part, and how many sections there are.
///
/// Something new is alive only after a beginning, and only before the next end is that set complete: each end that follows a
/// beginning closes a section.
fn ranges_of_sections(lives: &[Life]) -> (Vec<Range<usize>>, usize) {
    let mut starts: Vec<usize> = (0..lives.len()).collect();
    let mut ends = starts.clone();
    starts.sort_by_key(|&i| lives[i].lower);
    ends.sort_by_key(|&i| lives[i].upper);
    let mut ranges = vec![0..0; lives.len()];
    let mut sections = 0;
    let mut begun = starts.into_iter().peekable();
    for ended in ends {
        let mut is_new = false;
        while let Some(i) = begun.next_if(|&i| lives[i].lower < lives[ended].upper) {
            ranges[i].start = sections;
            is_new = true;
        }
        sections += usize::from(is_new);
        ranges[ended].end = sections;
    }
    (ranges, sections)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(lives: &[(Step, Step)]) -> Vec<Range<usize>> {
        let lives: Vec<Life> = lives.iter().map(|&(lower, upper)| Life { lower, upper }).collect();
        ranges_of_sections(&lives).0
    }

    #[test]
    fn only_largest_sets_make_a_section() {
        // A chain: each meets the next, at one step.
        assert_eq!(ranges(&[(0, 2), (1, 3), (2, 4)]), [0..1, 0..2, 1..2]);
        // The steps at which the first is alone, or with one of two that meet, are part of others.
        assert_eq!(ranges(&[(0, 10), (3, 5), (6, 8), (7, 10)]), [0..2, 0..1, 1..2, 1..2]);
    }
}
