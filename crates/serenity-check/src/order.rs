//! Checks that an order can run.

use serenity_ir::{Graph, OpId};

/// Why an order cannot run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each message names its fields")]
pub enum OrderFault {
    /// An id names no op.
    #[error("position {position} of the order names op {op}, but the graph has only {ops} ops")]
    Unknown { position: usize, op: OpId, ops: usize },
    /// An op runs more than once.
    #[error("op {op} (`{label}`) runs {times} times")]
    Repeated { op: OpId, label: String, times: usize },
    /// An op never runs.
    #[error("op {op} (`{label}`) is missing from the order")]
    Missing { op: OpId, label: String },
    /// An op runs before the writer of one of its inputs.
    #[error(
        "op {reader} (`{reader_label}`) reads `{tensor}` before op {writer} (`{writer_label}`) has written it"
    )]
    TooEarly { reader: OpId, reader_label: String, tensor: String, writer: OpId, writer_label: String },
}

/// All faults of an order.
pub fn faults(graph: &Graph, order: &[OpId]) -> Vec<OrderFault> {
    let ops = graph.ops().len();
    let mut faults = Vec::new();
    let mut positions: Vec<Vec<usize>> = vec![Vec::new(); ops];
    for (position, &op) in order.iter().enumerate() {
        match positions.get_mut(op.index()) {
            Some(list) => list.push(position),
            None => faults.push(OrderFault::Unknown { position, op, ops }),
        }
    }
    for op in graph.op_ids() {
        let label = || graph.op_label(op);
        match positions[op.index()].len() {
            0 => faults.push(OrderFault::Missing { op, label: label() }),
            1 => {}
            times => faults.push(OrderFault::Repeated { op, label: label(), times }),
        }
    }
    for reader in graph.op_ids() {
        let mut inputs = graph.op(reader).inputs.clone();
        inputs.sort_unstable();
        inputs.dedup();
        for tensor in inputs {
            let Some(writer) = graph.producer(tensor) else { continue };
            let (read, written) = (positions[reader.index()].first(), positions[writer.index()].first());
            if let (Some(read), Some(written)) = (read, written)
                && read < written
            {
                faults.push(OrderFault::TooEarly {
                    reader,
                    reader_label: graph.op_label(reader),
                    tensor: graph.tensor_label(tensor),
                    writer,
                    writer_label: graph.op_label(writer),
                });
            }
        }
    }
    faults
}
