//! First fit: places buffers in a given order, each at the lowest free offset.

use crate::neighbours::Neighbours;
use crate::overlap::{Side, forbidden};
use crate::{Buffer, Overlap, Problem, Step};
use serenity_search::Watch;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Places buffers in a given order, with regard to all that a problem can ask for.
pub(crate) struct FirstFit<'a> {
    problem: &'a Problem,
    /// Fixed buffers, from low to high.
    obstacles: Vec<Placed>,
    /// Used if few buffers live together: then their neighbours are cheaper to list than everything in the arena.
    neighbours: Option<Neighbours>,
    overlaps: Overlaps<'a>,
    /// The open intervals of offsets at which the current buffer cannot begin, each with the buffer that blocks it.
    blocked: Vec<(i64, i64, usize)>,
}

/// How many buffers that lie in order can be looked at in the time it takes to find and sort a neighbour.
const COST_OF_ASKING: usize = 16;

/// Bytes that are taken for some time.
#[derive(Clone, Copy)]
struct Placed {
    start: i64,
    end: i64,
    lower: Step,
    upper: Step,
    buffer: usize,
}

impl Placed {
    fn new(index: usize, buffer: &Buffer, offset: u64) -> Self {
        let (start, end) = (offset as i64, (offset + buffer.size) as i64);
        Self { start, end, lower: buffer.lower, upper: buffer.upper, buffer: index }
    }
}

/// By writer and what is written over.
type Overlaps<'a> = BTreeMap<(usize, usize), &'a Overlap>;

/// What lies there by now.
struct Arena {
    /// From low to high: everything, or only obstacles if neighbours are used.
    by_offset: Vec<Placed>,
    /// Per buffer.
    of: Vec<Option<Placed>>,
}

/// Where an order leads.
pub(crate) struct Packing {
    pub(crate) offsets: Vec<u64>,
    pub(crate) height: u64,
    /// On whom each buffer came to lie.
    pub(crate) supports: Vec<Option<usize>>,
}

impl<'a> FirstFit<'a> {
    pub(crate) fn new(problem: &'a Problem) -> Self {
        let fixed = problem.buffers().iter().enumerate();
        let fixed = fixed.filter_map(|(b, buffer)| Some(Placed::new(b, buffer, buffer.offset?)));
        let mut obstacles: Vec<Placed> = fixed.filter(|placed| placed.start < placed.end).collect();
        obstacles.sort_by_key(|placed| placed.start);
        let neighbours = Neighbours::new(problem.buffers());
        let meetings: usize = problem.buffers().iter().map(|buffer| neighbours.count(buffer)).sum();
        let is_sparse = meetings.saturating_mul(COST_OF_ASKING) < problem.buffers().len().saturating_pow(2);
        Self {
            problem,
            obstacles,
            neighbours: Some(neighbours).filter(|_| is_sparse),
            overlaps: problem.overlaps().iter().map(|o| ((o.writer, o.over), o)).collect(),
            blocked: Vec::new(),
        }
    }

    /// The buffers that are to be placed, the largest first.
    pub(crate) fn by_size(&self) -> Vec<usize> {
        let buffers = self.problem.buffers();
        let mut order = self.movable();
        order.sort_by_key(|&b| (Reverse(buffers[b].size), buffers[b].lower, b));
        order
    }

    fn movable(&self) -> Vec<usize> {
        let buffers = self.problem.buffers();
        (0..buffers.len()).filter(|&b| buffers[b].offset.is_none() && buffers[b].size > 0).collect()
    }

    /// Places what is to be placed. If time runs out, the rest is put on top of everything.
    pub(crate) fn pack(&mut self, order: &[usize], watch: &mut Watch) -> Packing {
        let buffers = self.problem.buffers();
        let mut arena = Arena { by_offset: self.obstacles.clone(), of: vec![None; buffers.len()] };
        let mut offsets: Vec<u64> = buffers.iter().map(|buffer| buffer.offset.unwrap_or(0)).collect();
        let fixed_tops = buffers.iter().filter_map(|buffer| Some(buffer.offset? + buffer.size));
        let mut height = fixed_tops.max().unwrap_or(0);
        let obstacles_top = self.obstacles.iter().map(|placed| placed.end as u64).max().unwrap_or(0);
        let mut supports = vec![None; buffers.len()];
        let mut out_of_time = false;
        for &b in order {
            let buffer = &buffers[b];
            out_of_time = out_of_time || watch.after(arena.by_offset.len() as u64 / 8).is_some();
            if out_of_time {
                let top = height.max(obstacles_top);
                offsets[b] = top.next_multiple_of(self.problem.alignment_of(buffer));
            } else {
                self.collect_blocked(b, &arena);
                (offsets[b], supports[b]) = self.lowest(b);
                let placed = Placed::new(b, buffer, offsets[b]);
                arena.of[b] = Some(placed);
                if self.neighbours.is_none() {
                    let at = arena.by_offset.partition_point(|other| other.start <= placed.start);
                    arena.by_offset.insert(at, placed);
                }
            }
            height = height.max(offsets[b] + buffer.size);
        }
        Packing { offsets, height, supports }
    }

    /// Sorted by where they begin.
    fn collect_blocked(&mut self, b: usize, arena: &Arena) {
        let buffer = &self.problem.buffers()[b];
        let (overlaps, blocked) = (&self.overlaps, &mut self.blocked);
        blocked.clear();
        for placed in &arena.by_offset {
            if placed.lower < buffer.upper && buffer.lower < placed.upper {
                block(b, buffer, placed, overlaps, blocked);
            }
        }
        if let Some(neighbours) = &self.neighbours {
            neighbours.of(buffer, |other| {
                if let Some(placed) = &arena.of[other] {
                    block(b, buffer, placed, overlaps, blocked);
                }
            });
        }
        if self.neighbours.is_some() || !overlaps.is_empty() {
            blocked.sort_unstable();
        }
    }

    fn lowest(&self, b: usize) -> (u64, Option<usize>) {
        let alignment = self.problem.alignment_of(&self.problem.buffers()[b]);
        let (mut offset, mut support) = (0_u64, None);
        // By where they begin, so what has been passed cannot block again.
        for &(from, to, other) in &self.blocked {
            let at = offset as i64;
            if at <= from {
                break;
            }
            if at < to {
                offset = (to as u64).next_multiple_of(alignment);
                support = Some(other);
            }
        }
        (offset, support)
    }
}

/// Adds the offsets at which a buffer would meet what lies there.
fn block(
    b: usize,
    buffer: &Buffer,
    placed: &Placed,
    overlaps: &Overlaps,
    blocked: &mut Vec<(i64, i64, usize)>,
) {
    let &Placed { start, end, buffer: other, .. } = placed;
    let permission = overlaps.get(&(b, other)).or_else(|| overlaps.get(&(other, b)));
    let permission = permission.map(|overlap| Side::of(overlap, b));
    forbidden(buffer.size as i64, end - start, permission, |from, to| {
        blocked.push((start + from, start + to, other));
    });
}
