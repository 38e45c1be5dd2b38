//! Can the order run at all?

use serenity_ir::{Graph, OpId};

/// Why an order cannot run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OrderFault {
    /// An id that names no op.
    #[error("position {position} of the order names op {op}, but the graph has only {ops} ops")]
    Unknown {
        /// Where.
        position: usize,
        /// The id.
        op: OpId,
        /// How many ops there are.
        ops: usize,
    },
    /// An op that runs more than once.
    #[error("op {op} (`{label}`) runs {times} times")]
    Repeated {
        /// The op.
        op: OpId,
        /// Its name.
        label: String,
        /// How often.
        times: usize,
    },
    /// An op that never runs.
    #[error("op {op} (`{label}`) is missing from the order")]
    Missing {
        /// The op.
        op: OpId,
        /// Its name.
        label: String,
    },
    /// A reader before its writer.
    #[error(
        "op {reader} (`{reader_label}`) reads `{tensor}` before op {writer} (`{writer_label}`) has written it"
    )]
    TooEarly {
        /// Who reads.
        reader: OpId,
        /// Its name.
        reader_label: String,
        /// What it reads.
        tensor: String,
        /// Who writes.
        writer: OpId,
        /// Its name.
        writer_label: String,
    },
}

/// Everything wrong with an order.
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
