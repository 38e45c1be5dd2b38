//! Models under construction.

use serde_json::{Map, Value};
use serenity_ir::{
    Constant, ElementType, GraphBuilder, Model, Op, OpKind, Operand, Quantization, Tensor, TensorId,
};

/// A model under construction. Tensors are floats if they have no quantisation, and 8-bit integers otherwise.
pub(crate) struct Sketch {
    builder: GraphBuilder,
    operands: Vec<Vec<Operand>>,
    constants: Vec<Constant>,
    inputs: usize,
}

/// The scale and the zero point of a tensor.
pub(crate) fn affine(scale: f32, zero: i64) -> Quantization {
    Quantization { scales: vec![scale], zero_points: vec![zero], axis: 0 }
}

impl Sketch {
    pub(crate) fn new(name: &str) -> Self {
        Self { builder: GraphBuilder::new(name), operands: Vec::new(), constants: Vec::new(), inputs: 0 }
    }

    pub(crate) fn input(&mut self, shape: &[u64], quantization: Option<Quantization>) -> TensorId {
        let name = format!("input{}", self.inputs);
        self.inputs += 1;
        self.builder.input(tensor(&name, shape, quantization))
    }

    pub(crate) fn floats(&mut self, shape: &[u64], values: &[f32]) -> Operand {
        let data = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.constant(shape, ElementType::Float32, None, data)
    }

    pub(crate) fn int8(&mut self, shape: &[u64], values: &[i8], quantization: Quantization) -> Operand {
        let data = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.constant(shape, ElementType::Int8, Some(quantization), data)
    }

    pub(crate) fn int32(
        &mut self,
        shape: &[u64],
        values: &[i32],
        quantization: Option<Quantization>,
    ) -> Operand {
        let data = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.constant(shape, ElementType::Int32, quantization, data)
    }

    fn constant(
        &mut self,
        shape: &[u64],
        dtype: ElementType,
        quantization: Option<Quantization>,
        data: Vec<u8>,
    ) -> Operand {
        let name = format!("constant{}", self.constants.len());
        self.constants.push(Constant { name, shape: shape.to_vec(), dtype, quantization, data });
        Operand::Constant(self.constants.len() - 1)
    }

    /// Adds an op with one result; `attributes` is a JSON object.
    pub(crate) fn op(
        &mut self,
        kind: &str,
        operands: Vec<Operand>,
        attributes: Value,
        shape: &[u64],
        quantization: Option<Quantization>,
    ) -> TensorId {
        let Value::Object(attributes) = attributes else { panic!("attributes are an object") };
        let name = format!("{}{}", kind.to_lowercase(), self.operands.len());
        let output = self.builder.tensor(tensor(&name, shape, quantization));
        let activation = |operand: &Operand| match operand {
            Operand::Activation(tensor) => Some(*tensor),
            Operand::Constant(_) => None,
        };
        self.builder.push_op(Op {
            inputs: operands.iter().filter_map(activation).collect(),
            name,
            kind: OpKind::new(kind),
            outputs: vec![output],
            attributes,
            extra: Map::new(),
        });
        self.operands.push(operands);
        output
    }

    pub(crate) fn get(&self, tensor: TensorId) -> &Tensor {
        self.builder.get(tensor)
    }

    pub(crate) fn finish(mut self, outputs: &[TensorId]) -> Model {
        for &output in outputs {
            self.builder.output(output);
        }
        Model::new(self.builder.build().unwrap(), self.operands, self.constants).unwrap()
    }
}

fn tensor(name: &str, shape: &[u64], quantization: Option<Quantization>) -> Tensor {
    let dtype = if quantization.is_some() { ElementType::Int8 } else { ElementType::Float32 };
    Tensor { quantization, ..Tensor::shaped(name, shape.to_vec(), dtype).unwrap() }
}
