//! Which ops touch which buffers, whatever the order.

use crate::demand::{Demand, Gap, Operand, Touched, Version};
use crate::{Bytes, Grain, TrafficError};
use serenity_ir::{Buffer, Graph, OpId, Role};
use serenity_runtimes::{MemoryModel, MemoryModelExt};

/// A buffer and the ops that touch it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TouchedBuffer {
    /// Its size, rounded up to whole pages if pages move.
    pub bytes: u64,
    /// The ops that read or write it: each once, at least one.
    pub ops: Vec<OpId>,
    /// Those of them that write it; none if the caller does.
    pub writers: Vec<OpId>,
    /// Does the caller fill it before the first op?
    pub is_input: bool,
    /// Does the caller want it after the last op?
    pub is_result: bool,
}

/// A graph under a memory model, as far as traffic is concerned: what all orders have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touches {
    grain: Grain,
    ops: usize,
    buffers: Vec<TouchedBuffer>,
}

impl Touches {
    /// Who touches what in `graph`.
    ///
    /// An arena plan in a model (`tflm-planned`) says where tensors lie on chip, not which bytes move: it counts as `tflm`.
    ///
    /// # Errors
    /// If the sizes are beyond any device.
    pub fn new(graph: &Graph, model: MemoryModel, grain: Grain) -> Result<Self, TrafficError> {
        let lifetimes = model.without_plan().lifetimes(graph);
        let only_names = ops_that_only_name(graph, lifetimes.buffers());
        let moving =
            |ops: &[OpId]| ops.iter().copied().filter(|op| !only_names[op.index()]).collect::<Vec<_>>();
        let mut buffers = Vec::new();
        let mut most_bytes = 0;
        for buffer in lifetimes.buffers() {
            let writers = moving(&buffer.writers);
            let mut ops = moving(&buffer.readers);
            ops.extend(&writers);
            ops.sort_unstable();
            ops.dedup();
            if ops.is_empty() {
                continue;
            }
            let bytes = buffer.bytes.next_multiple_of(grain.unit());
            most_bytes += 2 * u128::from(bytes) * ops.len() as u128;
            let is_result = buffer.tensors.iter().any(|&t| graph.is_output(t));
            buffers.push(TouchedBuffer { bytes, ops, writers, is_input: buffer.from_start, is_result });
        }
        // From here on nothing needs to look out for overflow.
        if most_bytes > 1 << 62 {
            return Err(TrafficError::TooLarge);
        }
        Ok(Self { grain, ops: graph.ops().len(), buffers })
    }

    /// The buffers that some op touches.
    pub fn buffers(&self) -> &[TouchedBuffer] {
        &self.buffers
    }

    /// What the ops need if they run in `order`, which is taken as it is; [`Demand::new`] checks it.
    ///
    /// # Panics
    /// If `order` names an op that the graph does not have.
    pub fn in_order(&self, order: &[OpId]) -> Demand {
        let mut position = vec![0; self.ops];
        for (step, op) in order.iter().enumerate() {
            position[op.index()] = step;
        }
        let mut demand = Demand {
            grain: self.grain,
            order: order.to_vec(),
            buffers: Vec::with_capacity(self.buffers.len()),
            gaps: Vec::new(),
            versions: Vec::new(),
            operands: vec![Vec::new(); order.len()],
            compulsory: Bytes::default(),
        };
        let steps_of = |ops: &[OpId]| {
            let mut steps: Vec<usize> = ops.iter().map(|op| position[op.index()]).collect();
            steps.sort_unstable();
            steps
        };
        for buffer in &self.buffers {
            demand.add(buffer, steps_of(&buffer.ops), &steps_of(&buffer.writers));
        }
        // What an op creates comes last: by then it has read what it will not need again.
        for operands in &mut demand.operands {
            operands.sort_by_key(|o| (o.turn == 0 && !self.buffers[o.buffer].is_input, o.buffer));
        }
        demand
    }
}

impl Demand {
    fn add(&mut self, buffer: &TouchedBuffer, steps: Vec<usize>, writes: &[usize]) {
        let is_stored = buffer.is_result && !buffer.is_input;
        if buffer.is_input {
            self.compulsory.reads += buffer.bytes;
        } else if is_stored {
            self.compulsory.writes += buffer.bytes;
        }
        let units = buffer.bytes / self.grain.unit();
        let id = self.buffers.len();
        for (turn, &step) in steps.iter().enumerate() {
            self.operands[step].push(Operand { buffer: id, turn });
        }
        let first_gap = self.gaps.len();
        for turn in 0..steps.len() - 1 {
            let (from, to) = (steps[turn], steps[turn + 1]);
            // Whoever touches it first creates it, if it was not there from the start.
            let is_new = writes.binary_search(&from).is_ok() || (turn == 0 && !buffer.is_input);
            if is_new || turn == 0 {
                let is_final = writes.last().is_none_or(|&last| last <= from);
                let costs_a_write = is_new && !(is_stored && is_final);
                let next = self.gaps.len();
                self.versions.push(Version { gaps: next..next, costs_a_write });
            }
            let version = self.versions.len() - 1;
            self.versions[version].gaps.end += 1;
            let (has_previous, has_next) = (turn > 0, turn + 2 < steps.len());
            self.gaps.push(Gap { from, to, units, version, has_previous, has_next });
        }
        self.buffers.push(Touched { units, steps, first_gap });
    }
}

/// Ops that only give bytes another name: each buffer that they touch holds an output of theirs, and they write none.
/// (An `ACCUMULATE` counts as a writer, but the partial results have been added up when it comes.)
fn ops_that_only_name(graph: &Graph, buffers: &[Buffer]) -> Vec<bool> {
    let mut touches = vec![false; graph.ops().len()];
    let mut moves = vec![false; graph.ops().len()];
    for buffer in buffers {
        let mut tensors = buffer.tensors.clone();
        tensors.sort_unstable();
        for (ops, writes) in [(&buffer.writers, true), (&buffer.readers, false)] {
            for op in ops {
                let outputs = &graph.op(*op).outputs;
                let holds_output = outputs.iter().any(|t| tensors.binary_search(t).is_ok());
                let adds_up = graph.op(*op).kind.role() == Role::Accumulate && buffer.writers.len() > 1;
                touches[op.index()] = true;
                moves[op.index()] |= !holds_output || (writes && !adds_up);
            }
        }
    }
    touches.iter().zip(&moves).map(|(&touches, &moves)| touches && !moves).collect()
}
