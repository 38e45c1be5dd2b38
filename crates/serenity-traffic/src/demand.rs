//! Who touches what, when, in one order.

use crate::{Bytes, Grain, Touches, TrafficError};
use serenity_ir::{Graph, OpId};
use serenity_runtimes::MemoryModel;
use std::ops::Range;

/// A buffer between two ops in a row that touch it: it is kept on chip meanwhile, or dropped and read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gap {
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
    /// Must its bytes be written off-chip before any may be dropped? Not if they are there already, or must be stored
    /// in any case.
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
    /// What no order and no on-chip size avoids.
    pub(crate) compulsory: Bytes,
}

impl Demand {
    /// The demand of `graph` if its ops run in `order`.
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
        Ok(Touches::new(graph, model, grain)?.in_order(order))
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

    /// Bytes times steps between touches if nothing is dropped: the less, the less there is to keep.
    pub fn residence(&self) -> u128 {
        let length = |g: &Gap| u128::from(g.units) * u128::from(self.grain.unit()) * (g.to - g.from) as u128;
        self.gaps.iter().map(length).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serenity_ir::sketch;

    fn joined(kind: &str) -> Graph {
        sketch(&format!("x:1; a:10 = CONV_2D x; b:10 = CONV_2D x; c:10 = {kind} a b; y:5 = CONV_2D c; -> y"))
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
        let graph = sketch("x:7; a:10 = CONV_2D x; b:3 = CONV_2D a x; -> x a b");
        let demand = Demand::new(&graph, MemoryModel::Plain, &graph.file_order(), Grain::Tensor).unwrap();
        assert!(demand.versions.iter().all(|v| !v.costs_a_write));
        assert_eq!(demand.compulsory, Bytes { reads: 7, writes: 13 });
        let pages = Demand::new(&graph, MemoryModel::Plain, &graph.file_order(), Grain::Page).unwrap();
        assert_eq!(pages.compulsory, Bytes { reads: 1024, writes: 2048 });
    }
}
