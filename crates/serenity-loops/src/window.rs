//! A window: consecutive row-local operators, what enters and what leaves.

use crate::rows::{RowLocal, image};
use serenity_ir::{Graph, OpId, TensorId};

/// Row-local operators that run one after the other, of which one tensor leaves.
#[derive(Clone, Debug)]
pub(crate) struct Window<'g> {
    pub(crate) graph: &'g Graph,
    pub(crate) ops: Vec<&'g RowLocal>,
    /// What comes from before, by first use.
    pub(crate) enters: Vec<TensorId>,
    pub(crate) leaves: TensorId,
}

impl<'g> Window<'g> {
    /// `None` if other than one tensor leaves.
    pub(crate) fn new(graph: &'g Graph, ops: Vec<&'g RowLocal>) -> Option<Self> {
        let is_inside = |op: &OpId| ops.iter().any(|inside| inside.op == *op);
        let is_made = |t: &TensorId| ops.iter().any(|inside| inside.output == *t);
        let mut leaving = ops.iter().map(|op| op.output).filter(|&t| {
            graph.is_output(t) || graph.consumers(t).is_empty() || !graph.consumers(t).iter().all(is_inside)
        });
        let leaves = leaving.next()?;
        if leaving.next().is_some() {
            return None;
        }
        let mut enters = Vec::new();
        for &input in ops.iter().flat_map(|op| &op.inputs) {
            if !is_made(&input) && !enters.contains(&input) {
                enters.push(input);
            }
        }
        Some(Self { graph, ops, enters, leaves })
    }

    /// Does nobody want an entering tensor behind the window?
    fn is_last_reader_of(&self, tensor: TensorId) -> bool {
        let is_inside = |op: &OpId| self.ops.iter().any(|inside| inside.op == *op);
        !self.graph.is_output(tensor) && self.graph.consumers(tensor).iter().all(is_inside)
    }

    /// Can the result be written over an entering tensor: does it die here, and have both one type?
    pub(crate) fn can_share(&self, enters: TensorId) -> bool {
        let dtype = |t: TensorId| &self.graph.tensor(t).dtype;
        self.is_last_reader_of(enters) && dtype(enters) == dtype(self.leaves)
    }

    /// Rows of a tensor.
    pub(crate) fn height(&self, tensor: TensorId) -> i64 {
        image(self.graph, tensor).map_or(1, |dims| dims[1])
    }

    /// Bytes of one row.
    pub(crate) fn row_bytes(&self, tensor: TensorId) -> i64 {
        self.graph.tensor(tensor).bytes as i64 / self.height(tensor).max(1)
    }

    /// Bytes of an element.
    pub(crate) fn item(&self, tensor: TensorId) -> i64 {
        self.graph.tensor(tensor).layout().map_or(1, |layout| layout.item)
    }

    /// Multiplications of the window as it is.
    pub(crate) fn macs(&self) -> u64 {
        self.ops.iter().map(|op| op.macs).sum()
    }
}
