//! What TensorFlow Lite for Microcontrollers asks its planner for.

use super::storage::{MOST_SCRATCH, Storage};
use crate::{ElementType, Graph, Kernels, OpId, Tensor, scratch};

/// TFLM aligns everything to so many bytes.
pub const TFLM_ALIGNMENT: u64 = 16;

impl Storage {
    /// TFLM's: rounded sizes, and the scratch of these kernels.
    pub(super) fn with_scratch(graph: &Graph, kernels: Kernels) -> Self {
        let mut storage = Self::one_buffer_a_tensor(graph);
        storage.bytes = graph.tensors().iter().map(tflm_bytes).collect();
        let mut left = MOST_SCRATCH;
        for op in graph.op_ids() {
            let bytes = tflm_scratch(graph, op, kernels).into_iter().fold(0, u64::saturating_add).min(left);
            left -= bytes;
            if bytes > 0 {
                storage.scratch.push((op, bytes));
            }
        }
        storage
    }
}

/// Bytes that a tensor takes in TFLM's arena.
pub fn tflm_bytes(tensor: &Tensor) -> u64 {
    let unpacked = match (&tensor.dtype, &tensor.shape) {
        (Some(ElementType::Int4), Some(shape)) => ElementType::Int8.bytes_of(shape).unwrap_or(tensor.bytes),
        _ => tensor.bytes,
    };
    unpacked.next_multiple_of(TFLM_ALIGNMENT)
}

/// The scratch buffers of an op in TFLM's arena, in the order in which the kernel asks for them: its own, and what the sub-graphs it runs need
/// (`workspace`).
pub fn tflm_scratch(graph: &Graph, op: OpId, kernels: Kernels) -> Vec<u64> {
    let mut sizes = scratch(graph, op, kernels);
    sizes.extend(graph.op(op).workspace());
    sizes
        .into_iter()
        .filter(|&bytes| bytes > 0)
        .map(|bytes| bytes.min(MOST_SCRATCH).next_multiple_of(TFLM_ALIGNMENT))
        .collect()
}
