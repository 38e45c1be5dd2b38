//! Buffers and who keeps them alive.
//!
//! Every memory model reduces a graph to the same form: a set of buffers, each with the ops that bring it to life and the
//! ops that must all have run before it can go. A model that merges tensors (views, in-place results) gives a buffer
//! several writers or the readers of several tensors; nothing downstream needs to know why.

use crate::{BufferId, Graph, OpId, Storage, TensorId};
use serenity_search::most_pairs;

/// Memory that is in use from the first of its writers until the last of its readers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// The size in bytes.
    pub bytes: u64,
    /// The tensors that live in it, the one that names it first. Empty for scratch: memory that its writer needs
    /// besides its tensors.
    pub tensors: Vec<TensorId>,
    /// It comes to life when the first of these runs. Empty if it is there from the start.
    pub writers: Vec<OpId>,
    /// It can go when the last of these has run, unless it stays to the end. Empty only if it stays and nobody reads it.
    pub readers: Vec<OpId>,
    /// The caller filled it before the first op.
    pub from_start: bool,
    /// The caller wants it after the last op.
    pub to_end: bool,
}

impl Buffer {
    /// Is this memory that an op needs besides its tensors?
    pub fn is_scratch(&self) -> bool {
        self.tensors.is_empty()
    }
}

/// An op that may write one buffer over another of the same size, if it is the last that reads that one: in some orders
/// it is, in others not.
///
/// The op is the only writer of `new`. Where it may choose among several, each buffer takes part once, and the op saves
/// as much as it can.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HandOver {
    /// The op that writes over the buffer.
    pub op: OpId,
    /// What it writes.
    pub new: BufferId,
    /// What it reads and may write over.
    pub old: BufferId,
}

/// All buffers of a graph under one memory model.
///
/// Buffers of 0 bytes and inputs that nobody reads are left out: they never cost anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lifetimes {
    pub(crate) ops: usize,
    pub(crate) buffers: Vec<Buffer>,
    pub(crate) hand_overs: Vec<HandOver>,
}

impl Lifetimes {
    /// Those of a graph in which every tensor has a buffer of its own, from its producer to its last reader.
    pub fn of(graph: &Graph) -> Self {
        Storage::one_buffer_a_tensor(graph).into_lifetimes(graph)
    }

    /// These buffers of a graph, however they came about.
    pub fn new(graph: &Graph, buffers: Vec<Buffer>) -> Self {
        Self { ops: graph.ops().len(), buffers, hand_overs: Vec::new() }
    }

    /// The buffers.
    pub fn buffers(&self) -> &[Buffer] {
        &self.buffers
    }

    /// What may be written over what, op by op.
    pub fn hand_overs(&self) -> &[HandOver] {
        &self.hand_overs
    }

    /// The buffer with this id.
    pub fn buffer(&self, id: BufferId) -> &Buffer {
        &self.buffers[id.index()]
    }

    /// What each op needs if it had the device to itself: the buffers it writes and the buffers it reads, together,
    /// less what it can write over. No order can peak below the largest of these.
    pub fn working_sets(&self) -> Vec<u64> {
        let mut bytes = vec![0; self.ops];
        for buffer in &self.buffers {
            // What stays for the whole run is there during every op, whoever touches it.
            if buffer.from_start && buffer.to_end {
                for op in &mut bytes {
                    *op += buffer.bytes;
                }
                continue;
            }
            let mut touched: Vec<OpId> = buffer.writers.iter().chain(&buffer.readers).copied().collect();
            touched.sort_unstable();
            touched.dedup();
            for op in touched {
                bytes[op.index()] += buffer.bytes;
            }
        }
        for pairs in self.hand_overs.chunk_by(|a, b| a.op == b.op) {
            bytes[pairs[0].op.index()] -= self.shared(&most_handed_over(pairs));
        }
        bytes
    }

    pub(crate) fn shared(&self, chosen: &[(BufferId, BufferId)]) -> u64 {
        chosen.iter().map(|&(new, _)| self.buffer(new).bytes).sum()
    }
}

/// The choice among these hand-overs of one op that saves most. The two sides of a pair have one size, so that is the
/// choice of most pairs.
pub(crate) fn most_handed_over(pairs: &[HandOver]) -> Vec<(BufferId, BufferId)> {
    let pairs: Vec<(u32, u32)> = pairs.iter().map(|pair| (pair.new.0, pair.old.0)).collect();
    most_pairs(&pairs).into_iter().map(|(new, old)| (BufferId(new), BufferId(old))).collect()
}

#[cfg(test)]
mod tests {
    use crate::{Lifetimes, sketch};

    #[test]
    fn an_op_that_reads_a_result_needs_it_too() {
        let graph = sketch("kept:100; a:10 = X kept; b:1 = X a; -> kept a b");
        let lifetimes = Lifetimes::of(&graph);
        assert_eq!(lifetimes.working_sets(), [110, 111]);
        // Being read does not let a result go.
        let after: Vec<u64> = lifetimes.profile(&graph.file_order()).steps.iter().map(|s| s.after).collect();
        assert_eq!(after, [110, 111]);
    }
}
