//! A window: consecutive row-local operators, and the tensors that enter and leave.

use crate::rows::{Image, RowLocal, Rows};
use serenity_ir::{Graph, OpId, Tensor, TensorId};
use std::collections::BTreeMap;

/// The most tensors that may leave a window. More of them are hardly ever smaller than their inputs.
const MOST_LEAVING: usize = 3;

/// Row-local operators that run one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Window<'g> {
    pub(crate) graph: &'g Graph,
    pub(crate) ops: Vec<&'g RowLocal>,
    /// The tensors that come from outside, by first use.
    pub(crate) enters: Vec<TensorId>,
    /// The result of the last op, which always leaves.
    pub(crate) leaves: TensorId,
    /// The other leaving tensors, in the order in which they are made.
    pub(crate) also: Vec<TensorId>,
}

impl<'g> Window<'g> {
    /// `None` if too many tensors leave, or an op comes before one that it reads from.
    pub(crate) fn new(graph: &'g Graph, ops: Vec<&'g RowLocal>) -> Option<Self> {
        let is_inside = |op: &OpId| ops.iter().any(|inside| inside.op == *op);
        let is_made = |t: &TensorId| ops.iter().any(|inside| inside.output == *t);
        let leaving = ops.iter().map(|op| op.output).filter(|&t| {
            graph.is_output(t) || graph.consumers(t).is_empty() || !graph.consumers(t).iter().all(is_inside)
        });
        let mut also: Vec<TensorId> = leaving.collect();
        let leaves = also.pop()?;
        if also.len() >= MOST_LEAVING {
            return None;
        }
        let mut enters = Vec::new();
        for (position, op) in ops.iter().enumerate() {
            let is_made_before = |t: &TensorId| ops[..position].iter().any(|before| before.output == *t);
            for &input in &op.inputs {
                if is_made(&input) && !is_made_before(&input) {
                    return None;
                }
                if !is_made(&input) && !enters.contains(&input) {
                    enters.push(input);
                }
            }
        }
        Some(Self { graph, ops, enters, leaves, also })
    }

    /// All leaving tensors, the result last.
    pub(crate) fn leaving(&self) -> impl Iterator<Item = TensorId> {
        self.also.iter().copied().chain([self.leaves])
    }

    /// Does an entering tensor have no reader behind the window?
    fn is_last_reader_of(&self, tensor: TensorId) -> bool {
        let is_inside = |op: &OpId| self.ops.iter().any(|inside| inside.op == *op);
        !self.graph.is_output(tensor) && self.graph.consumers(tensor).iter().all(is_inside)
    }

    /// Can the result be written over an entering tensor: does it die here, and have both the same type?
    pub(crate) fn can_share(&self, enters: TensorId) -> bool {
        let dtype = |t: TensorId| &self.graph.tensor(t).dtype;
        self.is_last_reader_of(enters) && dtype(enters) == dtype(self.leaves)
    }

    /// How coarse the rows of each tensor are: equal products of row and coarseness are at equal heights of the image.
    /// `None` if paths disagree. Other entering tensors must meet a tensor of the window row for row.
    pub(crate) fn coarseness(&self, enters: TensorId) -> Option<BTreeMap<TensorId, i64>> {
        // Coarse enough to stay an integer however often rows are repeated.
        let first = self.ops.iter().try_fold(1_i64, |product, op| product.checked_mul(op.rows.times()))?;
        let mut of = BTreeMap::from([(enters, first)]);
        for op in &self.ops {
            let mut known = op.inputs.iter().filter_map(|input| of.get(input).copied());
            let first = known.next()?;
            if known.any(|other| other != first) {
                return None;
            }
            let others: Vec<TensorId> =
                op.inputs.iter().filter(|input| !of.contains_key(input)).copied().collect();
            if !others.is_empty() && op.rows != Rows::Alike {
                return None;
            }
            of.extend(others.into_iter().map(|other| (other, first)));
            of.insert(op.output, first.checked_mul(op.rows.stride())? / op.rows.times());
        }
        Some(of)
    }

    pub(crate) fn height(&self, tensor: TensorId) -> i64 {
        Image::of(self.graph, tensor).map_or(1, |image| image.rows)
    }

    pub(crate) fn width(&self, tensor: TensorId) -> i64 {
        Image::of(self.graph, tensor).map_or(1, |image| image.columns)
    }

    /// Rows of a tensor, with columns added, as a tensor.
    pub(crate) fn stripe(&self, like: TensorId, rows: i64, columns: i64) -> Option<Tensor> {
        let image = Image::of(self.graph, like)?;
        let like = self.graph.tensor(like);
        let mut shape = like.shape.clone()?;
        *shape.get_mut(image.axis)? = rows as u64;
        if columns > 0 {
            *shape.get_mut(2)? += columns as u64;
        }
        let tensor = Tensor::shaped(like.name.clone(), shape, like.dtype.clone()?)?;
        Some(Tensor { quantization: like.quantization.clone(), ..tensor })
    }

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
