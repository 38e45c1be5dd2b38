//! Two graphs that differ in nothing but numbers and names.

use crate::{Graph, Op, TensorId};
use std::collections::BTreeMap;

impl Graph {
    /// Do both list the same kinds of ops in the same order, wired in the same way, on tensors of the same size, shape,
    /// type and quantisation? How tensors are numbered and called does not matter, nor what the attributes say.
    pub fn computes_as(&self, other: &Self) -> bool {
        let mut pairs = Pairs { graphs: (self, other), known: BTreeMap::new() };
        self.ops().len() == other.ops().len()
            && pairs.match_all(self.inputs(), other.inputs())
            && self.ops().iter().zip(other.ops()).all(|(one, two)| pairs.match_ops(one, two))
            && pairs.match_all(self.outputs(), other.outputs())
    }
}

struct Pairs<'a> {
    graphs: (&'a Graph, &'a Graph),
    known: BTreeMap<TensorId, TensorId>,
}

impl Pairs<'_> {
    fn match_ops(&mut self, one: &Op, two: &Op) -> bool {
        one.kind == two.kind
            && self.match_all(&one.inputs, &two.inputs)
            && self.match_all(&one.outputs, &two.outputs)
    }

    fn match_all(&mut self, one: &[TensorId], two: &[TensorId]) -> bool {
        one.len() == two.len() && one.iter().zip(two).all(|(&one, &two)| self.matches(one, two))
    }

    fn matches(&mut self, one: TensorId, two: TensorId) -> bool {
        if let Some(&known) = self.known.get(&one) {
            return known == two;
        }
        self.known.insert(one, two);
        let (one, two) = (self.graphs.0.tensor(one), self.graphs.1.tensor(two));
        one.bytes == two.bytes
            && (&one.shape, &one.dtype, &one.quantization) == (&two.shape, &two.dtype, &two.quantization)
    }
}
