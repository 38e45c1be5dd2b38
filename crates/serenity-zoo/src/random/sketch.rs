//! What all random families share: a graph under construction with its random numbers.

use crate::ZooError;
use crate::options::Options;
use crate::rng::Rng;
use serde_json::Map;
use serenity_ir::{Attributes, Graph, GraphBuilder, Op, OpKind, Tensor, TensorId};

/// A random graph under construction. Ops and tensors are numbered.
pub(super) struct Sketch {
    pub(super) rng: Rng,
    graph: GraphBuilder,
    ops: u64,
    inputs: u64,
    /// By tensor.
    is_read: Vec<bool>,
}

impl Sketch {
    /// An empty graph, named after its spec.
    pub(super) fn new(options: &Options) -> Self {
        Self {
            rng: Rng::new(options.integer("seed"), 0),
            graph: GraphBuilder::new(options.spec()),
            ops: 0,
            inputs: 0,
            is_read: Vec::new(),
        }
    }

    /// How many ops there are so far.
    pub(super) fn ops(&self) -> u64 {
        self.ops
    }

    /// A size as networks have them: a few channels to many, small maps to large.
    pub(super) fn size(&mut self) -> u64 {
        (16 * self.rng.between(1, 16)) << self.rng.below(7)
    }

    pub(super) fn input(&mut self, bytes: u64) -> TensorId {
        self.is_read.push(false);
        self.inputs += 1;
        self.graph.input(Tensor::sized(format!("input{}", self.inputs - 1), bytes))
    }

    /// An op with one output of random size.
    pub(super) fn op(&mut self, inputs: &[TensorId]) -> TensorId {
        let bytes = self.size();
        self.sized_op("COMPUTE", inputs, bytes)
    }

    pub(super) fn concat(&mut self, inputs: &[TensorId]) -> TensorId {
        let bytes = inputs.iter().map(|&t| self.bytes(t)).sum();
        self.sized_op("CONCATENATION", inputs, bytes)
    }

    pub(super) fn sized_op(&mut self, kind: &str, inputs: &[TensorId], bytes: u64) -> TensorId {
        self.any_op(kind, inputs, &[bytes])[0]
    }

    /// An op with an output of each of these sizes.
    pub(super) fn any_op(&mut self, kind: &str, inputs: &[TensorId], sizes: &[u64]) -> Vec<TensorId> {
        let name = format!("op{}", self.ops);
        self.ops += 1;
        for input in inputs {
            self.is_read[input.index()] = true;
        }
        let outputs: Vec<TensorId> = (0..sizes.len())
            .map(|index| {
                self.is_read.push(false);
                let name = if index == 0 { name.clone() } else { format!("{name}:{index}") };
                self.graph.tensor(Tensor::sized(name, sizes[index]))
            })
            .collect();
        self.graph.push_op(Op {
            name,
            kind: OpKind::new(kind),
            inputs: inputs.to_vec(),
            outputs: outputs.clone(),
            attributes: Attributes::new(),
            extra: Map::new(),
        });
        outputs
    }

    pub(super) fn bytes(&self, tensor: TensorId) -> u64 {
        self.graph.get(tensor).bytes
    }

    pub(super) fn is_read(&self, tensor: TensorId) -> bool {
        self.is_read[tensor.index()]
    }

    /// Some of `from`: at least one, at most `most`, without repetition, in the order of `from`.
    pub(super) fn some_of(&mut self, from: &[TensorId], most: u64) -> Vec<TensorId> {
        let count = self.rng.between(1, most.min(from.len() as u64)) as usize;
        let mut chosen: Vec<usize> = Vec::with_capacity(count);
        while chosen.len() < count {
            let index = self.rng.index(from.len());
            if !chosen.contains(&index) {
                chosen.push(index);
            }
        }
        chosen.sort_unstable();
        chosen.into_iter().map(|index| from[index]).collect()
    }

    /// Declares the outputs, and ends the construction.
    pub(super) fn finish(mut self, outputs: &[TensorId]) -> Result<Graph, ZooError> {
        for &output in outputs {
            self.graph.output(output);
        }
        Ok(self.graph.build()?)
    }
}
