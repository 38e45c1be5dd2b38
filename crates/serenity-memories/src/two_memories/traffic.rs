//! Counts the bytes that ops read and write.

use serenity_ir::{Graph, TensorId};
use serenity_runtimes::{ArenaProblem, Content};
use std::collections::BTreeMap;

/// Bytes moved during one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct Traffic {
    /// Bytes that ops read.
    pub read: u64,
    /// Bytes that ops write.
    pub written: u64,
}

impl Traffic {
    /// Bytes read and written together.
    pub fn bytes(self) -> u64 {
        self.read.saturating_add(self.written)
    }

    /// The sum of both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            read: self.read.saturating_add(other.read),
            written: self.written.saturating_add(other.written),
        }
    }
}

/// The bytes moved in each buffer: every op reads each of its inputs once and writes each of its outputs once; scratch
/// is written and read once.
pub fn traffic(graphs: &[&Graph], arena: &ArenaProblem) -> Vec<Traffic> {
    let sizes: Vec<u64> = arena.problem.buffers().iter().map(|buffer| buffer.size).collect();
    let mut traffic = vec![Traffic::default(); sizes.len()];
    // A view may lie in several buffers, and a buffer may hold several tensors.
    let mut buffers: BTreeMap<(usize, TensorId), Vec<usize>> = BTreeMap::new();
    for (buffer, content) in arena.contents.iter().enumerate() {
        match *content {
            Content::Tensor { graph, .. } => {
                for &tensor in &arena.tensors[buffer] {
                    buffers.entry((graph, tensor)).or_default().push(buffer);
                }
            }
            Content::Scratch { .. } => {
                traffic[buffer] = Traffic { read: sizes[buffer], written: sizes[buffer] };
            }
        }
    }
    for (index, graph) in graphs.iter().enumerate() {
        for op in graph.ops() {
            let mut inputs = op.inputs.clone();
            inputs.sort_unstable();
            inputs.dedup();
            let reads = inputs.iter().map(|&tensor| (tensor, true));
            for (tensor, is_read) in reads.chain(op.outputs.iter().map(|&tensor| (tensor, false))) {
                for &buffer in buffers.get(&(index, tensor)).into_iter().flatten() {
                    // For a view, only the part in this buffer; for a tensor, its data without padding by the runtime.
                    let bytes = graph.tensor(tensor).bytes.min(sizes[buffer]);
                    let (read, written) = if is_read { (bytes, 0) } else { (0, bytes) };
                    traffic[buffer] = traffic[buffer].plus(Traffic { read, written });
                }
            }
        }
    }
    traffic
}
