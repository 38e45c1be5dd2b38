//! From the place of every tensor to the lifetimes of buffers.

use crate::{Buffer, BufferId, Graph, HandOver, Lifetimes, OpId, TensorId};
use std::collections::BTreeMap;

/// More scratch than this is not counted: no device has it, and the sum of all sizes must stay below 2^63.
pub const MOST_SCRATCH: u64 = 1 << 60;

/// Where the bytes of each tensor lie.
pub struct Storage {
    /// Size of each buffer; as many as there are tensors, some of them without one.
    pub bytes: Vec<u64>,
    /// For each tensor, the buffers that hold it: its own, or for a view those of its pieces.
    pub of: Vec<Vec<BufferId>>,
    /// For each tensor, whether its op only gives another name to what others have written.
    pub is_view: Vec<bool>,
    /// Buffers that are not counted while this tensor is written, only from its first reader on.
    pub late: BTreeMap<BufferId, TensorId>,
    /// Memory an op needs besides its tensors while it runs.
    pub scratch: Vec<(OpId, u64)>,
    /// For each tensor, whether it stays to the end though nobody wants it then.
    pub stays: Vec<bool>,
    /// An op, what it writes, and a buffer of the same size that it may write that over, if it is the last that reads
    /// it. Both are buffers of one tensor and its views.
    pub hand_overs: Vec<(OpId, BufferId, BufferId)>,
}

impl Storage {
    /// Every tensor has a buffer of its own.
    pub fn one_buffer_a_tensor(graph: &Graph) -> Self {
        Self {
            bytes: graph.tensors().iter().map(|t| t.bytes).collect(),
            of: graph.tensor_ids().map(|t| vec![BufferId(t.0)]).collect(),
            is_view: vec![false; graph.tensors().len()],
            late: BTreeMap::new(),
            scratch: Vec::new(),
            stays: vec![false; graph.tensors().len()],
            hand_overs: Vec::new(),
        }
    }

    /// The lifetimes that follow.
    pub fn into_lifetimes(self, graph: &Graph) -> Lifetimes {
        let empty = |&bytes: &u64| Buffer {
            bytes,
            tensors: Vec::new(),
            writers: Vec::new(),
            readers: Vec::new(),
            from_start: false,
            to_end: false,
        };
        let mut buffers: Vec<Buffer> = self.bytes.iter().map(empty).collect();
        // By buffer: ops that write what nobody reads, which may be the last to touch it.
        let mut unread: Vec<Vec<OpId>> = vec![Vec::new(); buffers.len()];
        for t in graph.tensor_ids() {
            for &b in &self.of[t.index()] {
                let buffer = &mut buffers[b.index()];
                if b.0 == t.0 {
                    buffer.tensors.insert(0, t);
                } else {
                    buffer.tensors.push(t);
                }
                buffer.from_start |= graph.is_input(t);
                buffer.to_end |= graph.is_output(t) || self.stays[t.index()];
                buffer.readers.extend(graph.consumers(t));
                if self.late.get(&b) == Some(&t) {
                    buffer.writers.extend(graph.consumers(t));
                    continue;
                }
                if !self.is_view[t.index()] {
                    buffer.writers.extend(graph.producer(t));
                }
                // Whoever writes a tensor, or makes a view of it, holds it while running, also if nobody reads the result.
                buffer.readers.extend(graph.producer(t));
                if graph.consumers(t).is_empty() {
                    unread[b.index()].extend(graph.producer(t));
                }
            }
        }
        for (buffer, unread) in buffers.iter_mut().zip(&unread) {
            finish(buffer, unread);
        }
        let costs = |b: &Buffer| {
            b.bytes > 0 && (!b.readers.is_empty() || b.to_end) && (b.from_start || !b.writers.is_empty())
        };
        let hand_overs = self.hand_overs_of(&buffers, costs);
        buffers.retain(costs);
        for &(op, bytes) in &self.scratch {
            buffers.push(Buffer { writers: vec![op], readers: vec![op], ..empty(&bytes) });
        }
        Lifetimes { ops: graph.ops().len(), buffers, hand_overs }
    }

    /// The hand-overs by the numbers that buffers have once those are left out that cost nothing, op by op.
    fn hand_overs_of(&self, buffers: &[Buffer], costs: impl Fn(&Buffer) -> bool) -> Vec<HandOver> {
        if self.hand_overs.is_empty() {
            return Vec::new();
        }
        let mut kept = 0;
        let number = |buffer: &Buffer| {
            costs(buffer).then(|| {
                kept += 1;
                BufferId(kept - 1)
            })
        };
        let numbers: Vec<Option<BufferId>> = buffers.iter().map(number).collect();
        let mut hand_overs: Vec<HandOver> = self
            .hand_overs
            .iter()
            .filter(|(_, _, old)| !buffers[old.index()].to_end)
            .filter_map(|&(op, new, old)| {
                Some(HandOver { op, new: numbers[new.index()]?, old: numbers[old.index()]? })
            })
            .collect();
        hand_overs.sort_unstable();
        hand_overs.dedup();
        hand_overs
    }
}

fn finish(buffer: &mut Buffer, unread: &[OpId]) {
    for ops in [&mut buffer.writers, &mut buffer.readers] {
        ops.sort_unstable();
        ops.dedup();
    }
    if buffer.from_start {
        buffer.writers.clear();
    }
    if buffer.readers.iter().any(|op| buffer.writers.binary_search(op).is_err()) {
        // Whoever only reads runs after all who write what is read, so writers hold a buffer only where nobody reads.
        let (writers, to_end) = (&buffer.writers, buffer.to_end);
        let is_last = |op: &OpId| !to_end && unread.contains(op);
        buffer.readers.retain(|op| writers.binary_search(op).is_err() || is_last(op));
    }
}
