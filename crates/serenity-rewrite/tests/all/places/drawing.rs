//! Graphs drawn by hand.

use serde_json::{Value, json};
use serenity_ir::{Attributes, ElementType, Graph, GraphBuilder, Op, OpKind, Quantization, Tensor, TensorId};
use serenity_rewrite::{Patch, Settings, apply, find};

/// A graph under construction; its tensors are floats unless said otherwise.
pub(crate) struct Drawing {
    builder: GraphBuilder,
    pub(crate) dtype: ElementType,
    pub(crate) quantization: Option<Quantization>,
}

pub(crate) fn affine(scale: f32, zero: i64) -> Quantization {
    Quantization { scales: vec![scale], zero_points: vec![zero], axis: 0 }
}

pub(crate) fn attributes(value: Value) -> Attributes {
    let Value::Object(map) = value else { panic!("{value} is no object") };
    map
}

/// The description of a constant of floats.
pub(crate) fn constant(shape: &[u64]) -> Value {
    json!({"name": "c", "shape": shape, "dtype": "float32"})
}

/// The description of a constant of whole numbers.
pub(crate) fn whole(values: &[i64]) -> Value {
    json!({"name": "c", "shape": [values.len()], "dtype": "int64", "values": values})
}

impl Drawing {
    pub(crate) fn new() -> Self {
        Self { builder: GraphBuilder::new("drawing"), dtype: ElementType::Float32, quantization: None }
    }

    /// With tensors of this type.
    pub(crate) fn of(dtype: ElementType) -> Self {
        Self { dtype, ..Self::new() }
    }

    /// With 8-bit integers.
    pub(crate) fn int8() -> Self {
        Self { quantization: Some(affine(0.5, 3)), ..Self::of(ElementType::Int8) }
    }

    fn tensor(&self, name: &str, shape: &[u64]) -> Tensor {
        let quantization = self.quantization.clone();
        Tensor { quantization, ..Tensor::shaped(name, shape.to_vec(), self.dtype.clone()).unwrap() }
    }

    pub(crate) fn input(&mut self, shape: &[u64]) -> TensorId {
        let tensor = self.tensor("", shape);
        self.builder.input(tensor)
    }

    pub(crate) fn op(&mut self, kind: &str, inputs: &[TensorId], given: Value, shape: &[u64]) -> TensorId {
        self.op_of_many(kind, inputs, given, &[shape])[0]
    }

    pub(crate) fn op_of_many(
        &mut self,
        kind: &str,
        inputs: &[TensorId],
        given: Value,
        shapes: &[&[u64]],
    ) -> Vec<TensorId> {
        let tensors: Vec<Tensor> = shapes.iter().map(|shape| self.tensor(kind, shape)).collect();
        let outputs: Vec<TensorId> = tensors.into_iter().map(|tensor| self.builder.tensor(tensor)).collect();
        self.builder.push_op(Op {
            name: format!("{kind} {}", outputs[0]),
            kind: OpKind::new(kind),
            inputs: inputs.to_vec(),
            outputs: outputs.clone(),
            attributes: attributes(given),
            extra: Attributes::new(),
        });
        outputs
    }

    pub(crate) fn finish(mut self, outputs: &[TensorId]) -> Graph {
        for &output in outputs {
            self.builder.output(output);
        }
        self.builder.build().unwrap()
    }
}

/// The rules that propose something, and the kind of op it is about, in the file's order.
pub(crate) fn proposals(graph: &Graph, settings: Settings) -> Vec<(&'static str, String)> {
    let about = |patch: &Patch| (patch.rule, graph.op(patch.op()).kind.to_string());
    find(graph, &settings).iter().map(about).collect()
}

/// The graph with all proposals applied.
pub(crate) fn rewritten(graph: &Graph) -> Graph {
    let settings = Settings::default();
    apply(graph, &find(graph, &settings), &settings).unwrap().graph
}

/// The kinds of its ops, in the file's order.
pub(crate) fn kinds(graph: &Graph) -> Vec<&str> {
    graph.ops().iter().map(|op| op.kind.as_str()).collect()
}

/// The shapes of what the ops of one kind read first.
pub(crate) fn read_by(graph: &Graph, kind: &str) -> Vec<Vec<u64>> {
    let ops = graph.ops().iter().filter(|op| op.kind.as_str() == kind);
    ops.map(|op| graph.tensor(op.inputs[0]).shape.clone().unwrap()).collect()
}

/// An attribute of the ops of one kind.
pub(crate) fn attribute(graph: &Graph, kind: &str, path: &str) -> Vec<Value> {
    let ops = graph.ops().iter().filter(|op| op.kind.as_str() == kind);
    ops.map(|op| Value::Object(op.attributes.clone()).pointer(path).cloned().unwrap_or(Value::Null)).collect()
}
