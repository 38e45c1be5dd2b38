//! Who touches what, when: one order under one memory model.

use crate::{Bytes, TrafficError};
use serenity_ir::{Buffer, Graph, MemoryModel, OpId, Role};
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

/// Bytes in a page.
pub const PAGE: u64 = 1024;

/// What moves as one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Grain {
    /// Whole buffers.
    #[default]
    Tensor,
    /// Pages of [`PAGE`] bytes.
    Page,
}

/// A name that is no grain.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown grain `{0}`; choose tensor or page")]
pub struct UnknownGrain(String);

impl Grain {
    /// All grains, by name.
    pub fn all() -> impl Iterator<Item = (&'static str, Self)> {
        [("tensor", Self::Tensor), ("page", Self::Page)].into_iter()
    }

    /// Bytes in one unit.
    pub(crate) fn unit(self) -> u64 {
        match self {
            Self::Tensor => 1,
            Self::Page => PAGE,
        }
    }
}

impl fmt::Display for Grain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tensor => "tensor",
            Self::Page => "page",
        })
    }
}

impl FromStr for Grain {
    type Err = UnknownGrain;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::all().find(|(known, _)| *known == name);
        found.map(|(_, grain)| grain).ok_or_else(|| UnknownGrain(name.to_owned()))
    }
}

/// A buffer between two ops in a row that touch it: it is kept on chip meanwhile, or dropped and read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    pub(crate) buffer: usize,
    /// The steps that touch it, `from < to`.
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// Its size.
    pub(crate) units: u64,
    pub(crate) version: usize,
    /// Is the gap before (behind) this one in the list of the same buffer?
    pub(crate) has_previous: bool,
    pub(crate) has_next: bool,
}

/// Gaps in which a buffer holds the same bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) gaps: Range<usize>,
    /// Must its bytes be written off-chip before any may be dropped? Not if they are there already, or must be stored in any case.
    pub(crate) costs_a_write: bool,
}

/// A buffer and the steps that touch it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Touched {
    pub(crate) units: u64,
    pub(crate) steps: Vec<usize>,
    /// The gap behind its first step; the others follow.
    pub(crate) first_gap: usize,
}

/// What an op needs: a buffer, touched for the so-manieth time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Operand {
    pub(crate) buffer: usize,
    pub(crate) turn: usize,
}

/// What the ops of one order need of the memory: the form in which traffic is counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Demand {
    pub(crate) grain: Grain,
    pub(crate) order: Vec<OpId>,
    pub(crate) buffers: Vec<Touched>,
    /// By buffer, and in the order of time.
    pub(crate) gaps: Vec<Gap>,
    pub(crate) versions: Vec<Version>,
    /// By step: what is read first, then what is created.
    pub(crate) operands: Vec<Vec<Operand>>,
    pub(crate) compulsory: Bytes,
}

impl Demand {
    /// The demand of `graph` if its ops run in `order`.
    ///
    /// An arena plan in a model (`tflm-planned`) says where tensors lie on chip, not which bytes move: it counts as `tflm`.
    ///
    /// # Errors
    /// If `order` is not an order of the graph's ops that can run, or the sizes are beyond any device.
    pub fn new(
        graph: &Graph,
        model: MemoryModel,
        order: &[OpId],
        grain: Grain,
    ) -> Result<Self, TrafficError> {
        graph.check_order(order)?;
        let model = match model {
            MemoryModel::TflmPlanned(kernels) => MemoryModel::Tflm(kernels),
            other => other,
        };
        let lifetimes = model.lifetimes(graph);
        let only_names = ops_that_only_name(graph, lifetimes.buffers());
        let mut position = vec![0; order.len()];
        for (step, op) in order.iter().enumerate() {
            position[op.index()] = step;
        }
        let mut demand = Self {
            grain,
            order: order.to_vec(),
            buffers: Vec::new(),
            gaps: Vec::new(),
            versions: Vec::new(),
            operands: vec![Vec::new(); order.len()],
            compulsory: Bytes::default(),
        };
        for buffer in lifetimes.buffers() {
            let steps_of = |ops: &[OpId]| -> Vec<usize> {
                let moving = ops.iter().filter(|op| !only_names[op.index()]);
                moving.map(|op| position[op.index()]).collect()
            };
            let mut writes = steps_of(&buffer.writers);
            writes.sort_unstable();
            let mut steps = steps_of(&buffer.readers);
            steps.extend(&writes);
            steps.sort_unstable();
            steps.dedup();
            let is_result = buffer.tensors.iter().any(|&t| graph.is_output(t));
            demand.add(buffer, steps, &writes, is_result);
        }
        // From here on nothing needs to look out for overflow.
        let bytes = |units: u64| u128::from(units) * u128::from(grain.unit());
        let once: u128 = demand.buffers.iter().map(|b| bytes(b.units)).sum();
        let dropped: u128 = demand.gaps.iter().map(|g| 2 * bytes(g.units)).sum();
        if once + dropped > 1 << 62 {
            return Err(TrafficError::TooLarge);
        }
        // What an op creates comes last: by then it has read what it will not need again.
        for (step, operands) in demand.operands.iter_mut().enumerate() {
            let buffers = &demand.buffers;
            let is_created = |o: &Operand| o.turn == 0 && buffers[o.buffer].steps.first() == Some(&step);
            operands.sort_by_key(|o| (is_created(o), o.buffer));
        }
        Ok(demand)
    }

    fn add(&mut self, buffer: &Buffer, steps: Vec<usize>, writes: &[usize], is_result: bool) {
        if steps.is_empty() {
            return;
        }
        let units = buffer.bytes.div_ceil(self.grain.unit());
        let is_stored = is_result && !buffer.from_start;
        if buffer.from_start {
            self.compulsory.reads += units * self.grain.unit();
        } else if is_stored {
            self.compulsory.writes += units * self.grain.unit();
        }
        let id = self.buffers.len();
        for (turn, &step) in steps.iter().enumerate() {
            self.operands[step].push(Operand { buffer: id, turn });
        }
        let first_gap = self.gaps.len();
        let last_write = writes.last();
        for turn in 0..steps.len() - 1 {
            let (from, to) = (steps[turn], steps[turn + 1]);
            // Whoever touches it first creates it, if it was not there from the start.
            let is_new = writes.binary_search(&from).is_ok() || (turn == 0 && !buffer.from_start);
            if is_new || turn == 0 {
                let is_final = last_write.is_none_or(|&last| last <= from);
                let costs_a_write = is_new && !(is_stored && is_final);
                let next = self.gaps.len();
                self.versions.push(Version { gaps: next..next, costs_a_write });
            }
            let version = self.versions.len() - 1;
            self.versions[version].gaps.end += 1;
            let (has_previous, has_next) = (turn > 0, turn + 2 < steps.len());
            self.gaps.push(Gap { buffer: id, from, to, units, version, has_previous, has_next });
        }
        self.buffers.push(Touched { units, steps, first_gap });
    }

    /// Units that fit on chip.
    pub(crate) fn capacity(&self, on_chip: u64) -> u64 {
        on_chip / self.grain.unit()
    }

    /// When is the operand of `step` touched again, if ever?
    pub(crate) fn next_use(&self, operand: Operand) -> Option<usize> {
        self.buffers[operand.buffer].steps.get(operand.turn + 1).copied()
    }

    /// The gap that ends with this touch, if it is not the first.
    pub(crate) fn gap_before(&self, operand: Operand) -> Option<usize> {
        operand.turn.checked_sub(1).map(|turn| self.buffers[operand.buffer].first_gap + turn)
    }

    /// Units that all operands of a step take together.
    pub(crate) fn working_set(&self, step: usize) -> u64 {
        self.operands[step].iter().map(|o| self.buffers[o.buffer].units).sum()
    }

    /// The ops whose operands together exceed `on_chip` bytes, in the order in which they run.
    pub fn oversize_ops(&self, on_chip: u64) -> Vec<OpId> {
        let capacity = self.capacity(on_chip);
        let too_large = (0..self.order.len()).filter(|&step| self.working_set(step) > capacity);
        too_large.map(|step| self.order[step]).collect()
    }

    /// What no order and no on-chip size avoids.
    pub fn compulsory(&self) -> Bytes {
        self.compulsory
    }
}

/// Ops that give another name to what is there already: every buffer they touch holds an output of theirs, and they write none. (An `ACCUMULATE`
/// counts as a writer, but the partial results have been added up when it comes.)
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

#[cfg(test)]
mod tests {
    use super::*;
    use serenity_ir::{GraphBuilder, Tensor};

    fn joined(kind: &str) -> Graph {
        let mut g = GraphBuilder::new("");
        let x = g.input(Tensor::sized("x", 1));
        let a = g.op("a", "CONV_2D", &[x], Tensor::sized("a", 10));
        let b = g.op("b", "CONV_2D", &[x], Tensor::sized("b", 10));
        let c = g.op("c", kind, &[a, b], Tensor::sized("c", 10));
        let y = g.op("y", "CONV_2D", &[c], Tensor::sized("y", 5));
        g.output(y);
        g.build().unwrap()
    }

    fn steps(graph: &Graph, model: MemoryModel) -> Vec<Vec<usize>> {
        let demand = Demand::new(graph, model, &graph.file_order(), Grain::Tensor).unwrap();
        demand.buffers.into_iter().map(|b| b.steps).collect()
    }

    #[test]
    fn a_concatenation_copies_or_names() {
        let graph = joined("CONCATENATION");
        let copied = [vec![0, 1], vec![0, 2], vec![1, 2], vec![2, 3], vec![3]];
        assert_eq!(steps(&graph, MemoryModel::Plain), copied);
        // As a view it touches nothing; whoever reads it reads the pieces.
        assert_eq!(steps(&graph, MemoryModel::Paper), [vec![0, 1], vec![0, 3], vec![1, 3], vec![3]]);
    }

    #[test]
    fn an_accumulator_changes_and_is_new_each_time() {
        let graph = joined("ACCUMULATE");
        let demand = Demand::new(&graph, MemoryModel::Paper, &graph.file_order(), Grain::Tensor).unwrap();
        assert_eq!(demand.buffers[1].steps, [0, 1, 3]);
        let versions: Vec<_> = demand.versions.iter().map(|v| (v.gaps.clone(), v.costs_a_write)).collect();
        // The input; the partial sum; the sum.
        assert_eq!(versions, [(0..1, false), (1..2, true), (2..3, true)]);
    }

    #[test]
    fn results_that_are_read_are_stored_once_and_inputs_never() {
        let mut g = GraphBuilder::new("");
        let x = g.input(Tensor::sized("x", 7));
        let a = g.op("a", "CONV_2D", &[x], Tensor::sized("a", 10));
        let b = g.op("b", "CONV_2D", &[a, x], Tensor::sized("b", 3));
        for result in [x, a, b] {
            g.output(result);
        }
        let graph = g.build().unwrap();
        let demand = Demand::new(&graph, MemoryModel::Plain, &graph.file_order(), Grain::Tensor).unwrap();
        assert!(demand.versions.iter().all(|v| !v.costs_a_write));
        assert_eq!(demand.compulsory(), Bytes { reads: 7, writes: 13 });
        let pages = Demand::new(&graph, MemoryModel::Plain, &graph.file_order(), Grain::Page).unwrap();
        assert_eq!(pages.compulsory(), Bytes { reads: 1024, writes: 2048 });
    }
}
