//! A stretch of a problem is again a problem.

use crate::{Buffer, OpIndex, Problem, bits};

/// The part of a problem between two sets of executed ops, and where its ops are in the whole.
pub(crate) struct Segment {
    pub(crate) problem: Problem,
    /// Ops of the segment, by index; values are ops of the whole, ascending.
    pub(crate) ops: Vec<u32>,
}

impl Segment {
    /// An order of the segment in the numbering of the whole.
    pub(crate) fn lift(&self, order: &[u32]) -> impl Iterator<Item = u32> {
        order.iter().map(|&op| self.ops[op as usize])
    }
}

impl Problem {
    /// The problem of running `ops` after `done` (with `in_use` = f of `done`). Buffers that the segment brings to life or lets go
    /// keep their roles; those in use before it and not let go in it are always in use; all others do not exist.
    pub(crate) fn segment(&self, done: &[u64], in_use: u64, ops: &[u32]) -> Segment {
        let mut ops = ops.to_vec();
        ops.sort_unstable();
        let local = |op: u32| ops.binary_search(&op).ok().map(|i| i as u32);
        let predecessors = ops
            .iter()
            .map(|&op| self.predecessors[op as usize].iter().filter_map(|&p| local(p)).collect())
            .collect();
        let mut touched: Vec<u32> = ops
            .iter()
            .flat_map(|&op| self.writes[op as usize].iter().chain(&self.reads[op as usize]))
            .copied()
            .collect();
        touched.sort_unstable();
        touched.dedup();
        let mut base = in_use;
        let mut buffers = Vec::with_capacity(touched.len());
        for &b in &touched {
            let buffer = &self.buffers[b as usize];
            let from_start = buffer.from_start || buffer.writers.iter().any(|w| bits::contains(done, w.0));
            if from_start {
                // Counted in `in_use`; from here on the segment counts it.
                base -= buffer.bytes;
            }
            let inside = |list: &[OpIndex]| -> Vec<OpIndex> {
                list.iter().filter_map(|o| local(o.0)).map(OpIndex).collect()
            };
            let stays = buffer.readers.iter().any(|r| !bits::contains(done, r.0) && local(r.0).is_none());
            buffers.push(Buffer {
                bytes: buffer.bytes,
                writers: inside(&buffer.writers),
                readers: inside(&buffer.readers),
                from_start,
                to_end: buffer.to_end || stays,
            });
        }
        Segment { problem: Self::assemble(predecessors, buffers, base), ops }
    }
}
