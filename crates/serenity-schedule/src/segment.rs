//! A stretch of a problem, as a problem of its own.

use crate::{Buffer, OpIndex, Problem, bits};

/// The part of a problem between two sets of executed ops, and where its ops are in the whole.
pub(crate) struct Segment {
    pub(crate) problem: Problem,
    /// Ops of the segment, by index; values are ops of the whole, ascending.
    pub(crate) ops: Vec<u32>,
}

/// What a segment consists of, before anything is derived from it.
pub(crate) struct Stretch {
    pub(crate) predecessors: Vec<Vec<u32>>,
    pub(crate) buffers: Vec<Buffer>,
    pub(crate) base: u64,
    ops: Vec<u32>,
}

impl Stretch {
    /// What is in use after it.
    pub(crate) fn at_end(&self) -> u64 {
        self.base + self.buffers.iter().filter(|b| b.to_end).map(|b| b.bytes).sum::<u64>()
    }
}

impl Segment {
    /// An order of the segment in the numbering of the whole.
    pub(crate) fn lift(&self, order: &[u32]) -> impl Iterator<Item = u32> {
        order.iter().map(|&op| self.ops[op as usize])
    }
}

impl Problem {
    /// The problem of running `ops` after `done` (with `in_use` = f of `done`). Buffers that the segment brings to life
    /// or lets go keep their roles; those in use before it and not let go in it are always in use; all others do not
    /// exist.
    pub(crate) fn segment(&self, done: &[u64], in_use: u64, ops: &[u32]) -> Segment {
        let Stretch { predecessors, buffers, base, ops } = self.stretch(done, in_use, ops);
        let mut problem = Self::assemble(predecessors, buffers, base);
        problem.hand_overs = self.hand_overs.of_segment(done, &ops);
        Segment { problem, ops }
    }

    /// What a segment consists of.
    pub(crate) fn stretch(&self, done: &[u64], in_use: u64, ops: &[u32]) -> Stretch {
        let mut ops = ops.to_vec();
        ops.sort_unstable();
        let local = |op: u32| ops.binary_search(&op).ok().map(|i| i as u32);
        let predecessors = ops
            .iter()
            .map(|&op| self.predecessors[op as usize].iter().filter_map(|&p| local(p)).collect())
            .collect();
        // Who of the segment touches a buffer is asked of the ops: a buffer may have many more of them outside.
        let touching = |by_op: &[Vec<u32>]| -> Vec<(u32, OpIndex)> {
            let pairs =
                (0..).zip(&ops).flat_map(|(i, &op)| by_op[op as usize].iter().map(move |&b| (b, OpIndex(i))));
            let mut pairs: Vec<_> = pairs.collect();
            pairs.sort_unstable();
            pairs
        };
        let (writing, reading) = (touching(&self.writes), touching(&self.reads));
        let mut touched: Vec<u32> = writing.iter().chain(&reading).map(|&(b, _)| b).collect();
        touched.sort_unstable();
        touched.dedup();
        let mut base = in_use;
        let mut buffers = Vec::with_capacity(touched.len());
        let (mut writing, mut reading) = (&writing[..], &reading[..]);
        for &b in &touched {
            let buffer = &self.buffers[b as usize];
            // Lists are in topological order: the first writer and the last reader usually decide.
            let from_start = buffer.from_start || buffer.writers.iter().any(|w| bits::contains(done, w.0));
            let stays =
                buffer.readers.iter().rev().any(|r| !bits::contains(done, r.0) && local(r.0).is_none());
            if from_start {
                // Counted in `in_use`; from here on the segment counts it.
                base -= buffer.bytes;
            }
            buffers.push(Buffer {
                bytes: buffer.bytes,
                writers: split_off(&mut writing, b),
                readers: split_off(&mut reading, b),
                from_start,
                to_end: buffer.to_end || stays,
            });
        }
        Stretch { predecessors, buffers, base, ops }
    }

    /// The segments of groups of ops that run one after the other, from the start.
    pub(crate) fn segments(&self, groups: &[Vec<u32>]) -> Vec<Segment> {
        let mut done = vec![0; self.words()];
        let mut in_use = self.at_start();
        let mut segment = |group: &Vec<u32>| {
            let segment = self.segment(&done, in_use, group);
            in_use = segment.problem.at_end();
            for &op in group {
                bits::insert(&mut done, op);
            }
            segment
        };
        groups.iter().map(&mut segment).collect()
    }
}

/// The ops of the pairs of `buffer` at the front of `pairs`, which moves behind them.
fn split_off(pairs: &mut &[(u32, OpIndex)], buffer: u32) -> Vec<OpIndex> {
    let (front, rest) = pairs.split_at(pairs.partition_point(|&(b, _)| b <= buffer));
    *pairs = rest;
    front.iter().map(|&(_, op)| op).collect()
}
