//! The memory in use over time.

use crate::lifetimes::most_handed_over;
use crate::{BufferId, HandOver, Lifetimes, OpId};

/// Memory around one op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The op that runs.
    pub op: OpId,
    /// Bytes in use while it runs: everything alive before, and what it writes.
    pub during: u64,
    /// Bytes in use after it, when what it read for the last time is gone.
    pub after: u64,
}

/// Memory over time for one execution order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Bytes in use before the first op.
    pub at_start: u64,
    /// One entry per op, in execution order.
    pub steps: Vec<Step>,
}

impl Profile {
    /// The most memory in use at any time.
    pub fn peak(&self) -> u64 {
        self.steps.iter().map(|s| s.during).fold(self.at_start, u64::max)
    }

    /// The first step that reaches the peak.
    pub fn peak_step(&self) -> usize {
        let peak = self.peak();
        self.steps.iter().position(|s| s.during == peak).unwrap_or(0)
    }
}

impl Lifetimes {
    /// Memory over time if the ops run in `order`.
    ///
    /// The order is taken as it is; use [`Graph::check_order`](crate::Graph::check_order) on one that comes from outside.
    ///
    /// # Panics
    /// If `order` names an op the graph does not have.
    pub fn profile(&self, order: &[OpId]) -> Profile {
        let mut written_by = vec![Vec::new(); self.ops];
        let mut read_by = vec![Vec::new(); self.ops];
        let mut at_start = 0;
        for (b, buffer) in self.buffers.iter().enumerate() {
            if buffer.from_start {
                at_start += buffer.bytes;
            }
            for op in &buffer.writers {
                written_by[op.index()].push(b);
            }
            // Whoever reads a result does not let it go.
            for op in buffer.readers.iter().filter(|_| !buffer.to_end) {
                read_by[op.index()].push(b);
            }
        }
        let mut alive: Vec<bool> = self.buffers.iter().map(|b| b.from_start).collect();
        let mut waits_for: Vec<usize> = self.buffers.iter().map(|b| b.readers.len()).collect();
        let mut in_use = at_start;
        let mut steps = Vec::with_capacity(order.len());
        for &op in order {
            for &b in &written_by[op.index()] {
                if !std::mem::replace(&mut alive[b], true) {
                    in_use += self.buffers[b].bytes;
                }
            }
            let during = in_use - self.shared(&self.handed_over(op, |b| waits_for[b.index()] == 1));
            for &b in &read_by[op.index()] {
                waits_for[b] -= 1;
                if waits_for[b] == 0 {
                    in_use -= self.buffers[b].bytes;
                }
            }
            steps.push(Step { op, during, after: in_use });
        }
        Profile { at_start, steps }
    }

    /// What `op` writes over what, if nobody else waits for the buffers of which that `is_free`.
    fn handed_over(&self, op: OpId, is_free: impl Fn(BufferId) -> bool) -> Vec<(BufferId, BufferId)> {
        let first = self.hand_overs.partition_point(|pair| pair.op < op);
        let own = self.hand_overs[first..].iter().take_while(|pair| pair.op == op);
        let free: Vec<HandOver> = own.filter(|pair| is_free(pair.old)).copied().collect();
        most_handed_over(&free)
    }

    /// The buffers in use while the op at `position` of `order` runs, largest first, without those that it writes over.
    ///
    /// # Panics
    /// As [`profile`](Self::profile).
    pub fn alive_during(&self, order: &[OpId], position: usize) -> Vec<BufferId> {
        let mut written = vec![false; self.ops];
        let mut finished = vec![false; self.ops];
        for (p, op) in order.iter().enumerate().take(position + 1) {
            written[op.index()] = true;
            finished[op.index()] = p < position;
        }
        let mut alive: Vec<BufferId> = (0..self.buffers.len())
            .map(BufferId::from_index)
            .filter(|&b| {
                let buffer = self.buffer(b);
                (buffer.from_start || buffer.writers.iter().any(|op| written[op.index()]))
                    && (buffer.to_end || !buffer.readers.iter().all(|op| finished[op.index()]))
            })
            .collect();
        if let Some(&op) = order.get(position) {
            let is_free =
                |b: BufferId| self.buffer(b).readers.iter().all(|&r| r == op || finished[r.index()]);
            let over = self.handed_over(op, is_free);
            alive.retain(|&b| !over.iter().any(|&(_, old)| old == b));
        }
        alive.sort_by_key(|&b| (std::cmp::Reverse(self.buffer(b).bytes), b));
        alive
    }
}
