//! LiteRT: every sub-graph has an arena of its own; here the main one's.

use super::{Content, Demand};
use serenity_arena::{Buffer, FOREVER, Step};
use serenity_ir::{Graph, MemoryModel, OpId};

/// LiteRT aligns tensors to so many bytes.
pub(super) const ALIGNMENT: u64 = 64;

pub(super) fn demands(graph: &Graph, order: &[OpId]) -> Vec<Demand> {
    let mut time = vec![0; order.len()];
    for (step, op) in order.iter().enumerate() {
        time[op.index()] = step as Step;
    }
    let at = |op: &OpId| time[op.index()];
    let lifetimes = MemoryModel::Litert.lifetimes(graph);
    let demand = |buffer: &serenity_ir::Buffer| {
        let first = buffer.writers.iter().map(at).min().unwrap_or(0);
        let last_read = buffer.readers.iter().map(at).max().unwrap_or(first);
        let last = if buffer.to_end { FOREVER } else { last_read };
        let content = Content::Tensor { graph: 0, tensor: *buffer.tensors.first()? };
        Some(Demand { content, buffer: Buffer::new(buffer.bytes, first, last) })
    };
    lifetimes.buffers().iter().filter_map(demand).collect()
}
