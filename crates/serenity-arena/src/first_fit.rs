//! Buffers one by one, each to the lowest offset that is free: what an order of buffers is worth.

use crate::limits::Watch;
use crate::neighbours::Neighbours;
use crate::{Overlap, Problem, Reserved, Sharing};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Places buffers in a given order, with regard to all that a problem can ask for.
pub(crate) struct FirstFit<'a> {
    problem: &'a Problem,
    neighbours: Neighbours,
    overlaps: BTreeMap<(usize, usize), &'a Overlap>,
    /// Of the buffer at hand, the open intervals of offsets at which it cannot begin, and who is to blame.
    blocked: Vec<(i64, i64, Option<usize>)>,
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
        Self {
            problem,
            neighbours: Neighbours::new(problem.buffers()),
            overlaps: problem.overlaps().iter().map(|o| ((o.writer, o.over), o)).collect(),
            blocked: Vec::new(),
        }
    }

    /// The buffers that are to be placed, the largest first.
    pub(crate) fn by_size(&self) -> Vec<usize> {
        let buffers = self.problem.buffers();
        let mut order = self.movable();
        order.sort_by_key(|&b| (Reverse(buffers[b].size), buffers[b].first, b));
        order
    }

    /// The buffers that are to be placed, those first that live when most is alive; of those, the largest first.
    pub(crate) fn by_pressure(&self) -> Vec<usize> {
        let buffers = self.problem.buffers();
        let mut order = self.movable();
        let mut pressure = vec![0_u64; buffers.len()];
        for &b in &order {
            let mut alive = 0;
            self.neighbours.of(&buffers[b], |other| alive += buffers[other].size);
            pressure[b] = alive;
        }
        order.sort_by_key(|&b| (Reverse(pressure[b]), Reverse(buffers[b].size), b));
        order
    }

    fn movable(&self) -> Vec<usize> {
        let buffers = self.problem.buffers();
        (0..buffers.len()).filter(|&b| buffers[b].offset.is_none() && buffers[b].size > 0).collect()
    }

    /// Places what is to be placed. If time runs out, the rest is put on top of everything.
    pub(crate) fn pack(&mut self, order: &[usize], watch: &mut Watch) -> Packing {
        let buffers = self.problem.buffers();
        let mut placed: Vec<Option<u64>> = buffers.iter().map(|buffer| buffer.offset).collect();
        let fixed_tops = buffers.iter().filter_map(|buffer| Some(buffer.offset? + buffer.size));
        let mut height = fixed_tops.max().unwrap_or(0);
        let reserved_top = self.problem.reserved().iter().map(|range| range.offset + range.size).max();
        let mut supports = vec![None; buffers.len()];
        let mut out_of_time = false;
        for &b in order {
            let offset = if out_of_time {
                let top = height.max(reserved_top.unwrap_or(0));
                top.next_multiple_of(self.problem.alignment_of(&buffers[b]))
            } else {
                self.collect_blocked(b, &placed);
                out_of_time = watch.after(self.blocked.len()).is_some();
                let (offset, support) = self.lowest(b);
                supports[b] = support;
                offset
            };
            placed[b] = Some(offset);
            height = height.max(offset + buffers[b].size);
        }
        let offsets = placed.into_iter().map(|offset| offset.unwrap_or(0)).collect();
        Packing { offsets, height, supports }
    }

    fn collect_blocked(&mut self, b: usize, placed: &[Option<u64>]) {
        let buffers = self.problem.buffers();
        let (overlaps, blocked) = (&self.overlaps, &mut self.blocked);
        blocked.clear();
        let buffer = &buffers[b];
        let size = buffer.size as i64;
        self.neighbours.of(buffer, |other| {
            let Some(offset) = placed[other].filter(|_| buffers[other].size > 0) else { return };
            let (start, end) = (offset as i64, (offset + buffers[other].size) as i64);
            let permission = overlaps.get(&(b, other)).or_else(|| overlaps.get(&(other, b)));
            match permission.map(|overlap| (overlap.how, overlap.writer == b)) {
                None => blocked.push((start - size, end, Some(other))),
                Some((Sharing::Below { distance }, true)) => {
                    blocked.push((start - distance.min(buffer.size) as i64, end, Some(other)));
                }
                Some((Sharing::Below { distance }, false)) => {
                    let lowest = start + distance.min(buffers[other].size) as i64;
                    blocked.push((start - size, lowest, Some(other)));
                }
                Some((Sharing::SameOffset, _)) => {
                    blocked.push((start - size, start, Some(other)));
                    blocked.push((start, end, Some(other)));
                }
            }
        });
        for &Reserved { offset, size: room, first, last } in self.problem.reserved() {
            if room > 0 && first <= buffer.last && buffer.first <= last {
                blocked.push((offset as i64 - size, (offset + room) as i64, None));
            }
        }
        blocked.sort_unstable();
    }

    fn lowest(&self, b: usize) -> (u64, Option<usize>) {
        let alignment = self.problem.alignment_of(&self.problem.buffers()[b]);
        let (mut offset, mut support) = (0_u64, None);
        // By where they begin, so what has been passed cannot block again.
        for &(from, to, who) in &self.blocked {
            let at = offset as i64;
            if at <= from {
                break;
            }
            if at < to {
                offset = (to as u64).next_multiple_of(alignment);
                support = who;
            }
        }
        (offset, support)
    }
}
