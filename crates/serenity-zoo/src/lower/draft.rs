//! A network of basic ops under construction, its constants still real numbers.

use crate::ZooError;
use crate::rng::Rng;
use serde_json::Map;
use serenity_ir::{
    Attributes, Constant, ElementType, GraphBuilder, Model, Op, OpKind, Operand, Quantization, Tensor,
    TensorId,
};

/// Ops, tensors and constants.
pub(super) struct Draft {
    pub(super) name: String,
    pub(super) tensors: Vec<DraftTensor>,
    pub(super) ops: Vec<DraftOp>,
    pub(super) constants: Vec<DraftConstant>,
    pub(super) inputs: Vec<TensorId>,
    pub(super) outputs: Vec<TensorId>,
}

/// An activation.
pub(super) struct DraftTensor {
    pub(super) name: String,
    pub(super) shape: Vec<u64>,
}

/// A basic op with one output.
pub(super) struct DraftOp {
    pub(super) name: String,
    pub(super) kind: &'static str,
    pub(super) operands: Vec<Operand>,
    pub(super) output: TensorId,
    pub(super) attributes: Attributes,
}

impl DraftOp {
    /// The tensors it reads.
    pub(super) fn inputs(&self) -> impl Iterator<Item = TensorId> {
        self.operands.iter().filter_map(|operand| match operand {
            Operand::Activation(tensor) => Some(*tensor),
            Operand::Constant(_) => None,
        })
    }

    /// The constants it reads.
    pub(super) fn constants(&self) -> impl Iterator<Item = usize> {
        self.operands.iter().filter_map(|operand| match operand {
            Operand::Constant(index) => Some(*index),
            Operand::Activation(_) => None,
        })
    }
}

/// A constant before it is given a type.
pub(super) struct DraftConstant {
    pub(super) name: String,
    pub(super) shape: Vec<u64>,
    pub(super) values: Values,
}

/// The elements of a constant.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Values {
    /// Weights, which quantisation makes small integers.
    Real(Vec<f32>),
    /// Sizes and positions, which stay what they are.
    Integer(Vec<i32>),
}

impl Default for Values {
    fn default() -> Self {
        Self::Real(Vec::new())
    }
}

impl Draft {
    /// An empty network.
    pub(super) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            tensors: Vec::new(),
            ops: Vec::new(),
            constants: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
        }
    }

    /// Random numbers depend on the network's name and on nothing else. FNV-1a.
    pub(super) fn seed(&self) -> u64 {
        self.name
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    }

    /// One of many streams of random numbers; each constant has the stream of its index.
    pub(super) fn rng(&self, stream: u64) -> Rng {
        Rng::new(self.seed(), stream)
    }

    pub(super) fn tensor(&mut self, name: &str, shape: &[u64]) -> TensorId {
        self.tensors.push(DraftTensor { name: name.to_owned(), shape: shape.to_vec() });
        TensorId::from_index(self.tensors.len() - 1)
    }

    pub(super) fn constant(&mut self, name: String, shape: Vec<u64>, values: Values) -> Operand {
        self.constants.push(DraftConstant { name, shape, values });
        Operand::Constant(self.constants.len() - 1)
    }

    /// Adds an op; its output bears its name.
    pub(super) fn op(
        &mut self,
        name: &str,
        kind: &'static str,
        operands: Vec<Operand>,
        shape: &[u64],
        attributes: Attributes,
    ) -> TensorId {
        let output = self.tensor(name, shape);
        self.ops.push(DraftOp { name: name.to_owned(), kind, operands, output, attributes });
        output
    }

    /// The network with activations of one type; `quantization` is by tensor, and empty if there is none.
    pub(super) fn into_model(
        self,
        dtype: &ElementType,
        constants: Vec<Constant>,
        quantization: Vec<Quantization>,
    ) -> Result<Model, ZooError> {
        let mut graph = GraphBuilder::new(self.name);
        let mut quantization = quantization.into_iter();
        for tensor in self.tensors {
            let bytes = dtype.bytes_of(&tensor.shape).unwrap_or(u64::MAX);
            graph.tensor(Tensor {
                shape: Some(tensor.shape),
                dtype: Some(dtype.clone()),
                quantization: quantization.next(),
                ..Tensor::sized(tensor.name, bytes)
            });
        }
        self.inputs.into_iter().for_each(|input| graph.mark_input(input));
        self.outputs.into_iter().for_each(|output| graph.output(output));
        let mut operands = Vec::with_capacity(self.ops.len());
        for op in self.ops {
            graph.push_op(Op {
                inputs: op.inputs().collect(),
                name: op.name,
                kind: OpKind::new(op.kind),
                outputs: vec![op.output],
                attributes: op.attributes,
                extra: Map::new(),
            });
            operands.push(op.operands);
        }
        Ok(Model::new(graph.build()?, operands, constants)?)
    }
}

impl DraftConstant {
    /// The elements that quantisation makes small integers.
    pub(super) fn reals(&self) -> &[f32] {
        match &self.values {
            Values::Real(values) => values,
            Values::Integer(_) => &[],
        }
    }

    /// The constant as it is: 32-bit floats or integers.
    pub(super) fn into_constant(self) -> Constant {
        let (dtype, data) = match &self.values {
            Values::Real(values) => {
                (ElementType::Float32, values.iter().flat_map(|value| value.to_le_bytes()).collect())
            }
            Values::Integer(values) => {
                (ElementType::Int32, values.iter().flat_map(|value| value.to_le_bytes()).collect())
            }
        };
        Constant { name: self.name, shape: self.shape, dtype, quantization: None, data }
    }
}
