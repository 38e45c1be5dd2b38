//! A layer at a time: the builder that all generators write their networks with.
//!
//! Feature maps are NHWC with batch 1, one element type a network. Ops are spelt as `TFLite` spells them. Batch
//! normalisation is folded into the convolution before it (so that has a bias), and a `ReLU` that directly follows is
//! its `activation`. Shapes are computed from the attributes, so the two cannot disagree.
//!
//! Two things are no single `TFLite` op, and say so in their attributes:
//! - `SEPARABLE_CONV_2D` is a depthwise and a pointwise convolution in one op, where the paper counts one node. If it
//!   has several inputs it sums them first.
//! - `ADD_N`, an addition of more than two tensors, and `input_weights`, one factor an input: a number, or
//!   `"learned"`.
//!
//! `input_activation` is what a convolution applies to what it reads (the pre-activation `ReLU` of NAS cells) where
//! that is not an op of its own.

mod layers;
mod window;

pub(crate) use layers::{Activation, Conv, InputWeight, Pool};
pub(crate) use window::Window;

use crate::options::Options;
use crate::{NetworkOption, ZooError};
use serde_json::{Map, Value};
use serenity_ir::{Attributes, ElementType, Graph, GraphBuilder, Op, OpKind, Tensor, TensorId};

/// The option that chooses the element type, for every network that leaves it open.
pub(crate) const fn dtype_option(default: &'static str) -> NetworkOption {
    NetworkOption::choice("dtype", default, &["float32", "float16", "int8"], "element type of all tensors")
}

/// A tensor of a network under construction, with its dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Feature {
    pub(crate) id: TensorId,
    pub(crate) height: u64,
    pub(crate) width: u64,
    pub(crate) channels: u64,
}

/// A network under construction.
pub(crate) struct Net {
    graph: GraphBuilder,
    dtype: ElementType,
}

impl Net {
    /// An empty network, named after its spec.
    pub(crate) fn new(options: &Options, dtype: ElementType) -> Self {
        Self { graph: GraphBuilder::new(options.spec()), dtype }
    }

    /// An empty network of the element type that its option `dtype` names.
    pub(crate) fn with_dtype_option(options: &Options) -> Self {
        Self::new(options, ElementType::parse(options.choice("dtype")))
    }

    /// A feature map that the caller provides.
    pub(crate) fn input(&mut self, name: &str, [height, width, channels]: [u64; 3]) -> Feature {
        let id = self.graph.input(self.tensor(name, vec![1, height, width, channels]));
        Feature { id, height, width, channels }
    }

    /// As [`input`](Self::input), but it costs no memory: for cells whose figures leave out what they are given.
    pub(crate) fn uncounted_input(&mut self, name: &str, shape: [u64; 3]) -> Feature {
        let [height, width, channels] = shape;
        let tensor = Tensor { bytes: 0, ..self.tensor(name, vec![1, height, width, channels]) };
        Feature { id: self.graph.input(tensor), height, width, channels }
    }

    /// Declares what the network computes, and ends the construction.
    pub(crate) fn finish(mut self, output: Feature) -> Result<Graph, ZooError> {
        self.graph.output(output.id);
        Ok(self.graph.build()?)
    }

    /// A size beyond 64 bits becomes the largest there is, which the graph then refuses.
    fn tensor(&self, name: &str, shape: Vec<u64>) -> Tensor {
        let bytes = self.dtype.bytes_of(&shape).unwrap_or(u64::MAX);
        Tensor { shape: Some(shape), dtype: Some(self.dtype.clone()), ..Tensor::sized(name, bytes) }
    }

    /// Adds an op; its output bears its name.
    fn emit(
        &mut self,
        name: &str,
        kind: &str,
        inputs: &[Feature],
        shape: Vec<u64>,
        attributes: Attributes,
    ) -> TensorId {
        let output = self.graph.tensor(self.tensor(name, shape));
        self.graph.push_op(Op {
            name: name.to_owned(),
            kind: OpKind::new(kind),
            inputs: inputs.iter().map(|input| input.id).collect(),
            outputs: vec![output],
            attributes,
            extra: Map::new(),
        });
        output
    }

    /// As [`emit`](Self::emit), for an op whose output is a feature map.
    fn emit_map(
        &mut self,
        name: &str,
        kind: &str,
        inputs: &[Feature],
        [height, width, channels]: [u64; 3],
        attributes: Attributes,
    ) -> Feature {
        let id = self.emit(name, kind, inputs, vec![1, height, width, channels], attributes);
        Feature { id, height, width, channels }
    }
}

fn attributes<const N: usize>(entries: [(&str, Value); N]) -> Attributes {
    entries.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
