//! Graphs of one op.

use serde_json::{Map, Value, json};
use serenity_ir::{Attributes, ElementType, Graph, GraphBuilder, Op, OpId, OpKind, Tensor, TensorId};
use std::fmt;

/// One op in the making; operands are added in the order of its signature.
#[derive(Clone)]
pub(super) struct OneOp {
    kind: &'static str,
    inputs: Vec<Tensor>,
    outputs: Vec<Tensor>,
    attributes: Attributes,
    position: usize,
    /// How often the first activation is given again, behind all others.
    repeats: usize,
}

impl OneOp {
    pub(super) fn new(kind: &'static str) -> Self {
        Self { kind, inputs: vec![], outputs: vec![], attributes: Attributes::new(), position: 0, repeats: 0 }
    }

    pub(super) fn reads(mut self, shape: &[i64], dtype: &ElementType) -> Self {
        self.inputs.push(tensor(shape, dtype));
        self.position += 1;
        self
    }

    /// The first activation once more.
    pub(super) fn first_again(mut self) -> Self {
        self.repeats += 1;
        self.position += 1;
        self
    }

    pub(super) fn constant(self, shape: &[i64], dtype: &ElementType) -> Self {
        self.describe(json!({"name": "", "shape": shape, "dtype": dtype.name()}))
    }

    pub(super) fn values(self, values: &[i64]) -> Self {
        self.describe(json!({"name": "", "shape": [values.len()], "dtype": "int32", "values": values}))
    }

    fn describe(mut self, description: Value) -> Self {
        let constants = self.attributes.entry("constants").or_insert_with(|| Value::Object(Map::new()));
        constants[self.position.to_string()] = description;
        self.position += 1;
        self
    }

    /// An operand with more bytes than its shape needs.
    pub(super) fn reads_unpacked(mut self, shape: &[i64], dtype: &ElementType, bytes: u64) -> Self {
        self.inputs.push(Tensor { bytes, ..tensor(shape, dtype) });
        self.position += 1;
        self
    }

    pub(super) fn gives(mut self, shape: &[i64], dtype: &ElementType) -> Self {
        self.outputs.push(tensor(shape, dtype));
        self
    }

    pub(super) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.attributes.insert(name.to_owned(), value.into());
        self
    }

    /// The graph, its first input and its first output.
    pub(super) fn with_ends(self) -> (Graph, [TensorId; 2]) {
        let graph = self.graph();
        let ends = [graph.op(OpId(0)).inputs[0], graph.op(OpId(0)).outputs[0]];
        (graph, ends)
    }

    pub(super) fn graph(self) -> Graph {
        let mut builder = GraphBuilder::new("");
        let mut inputs: Vec<TensorId> = self.inputs.into_iter().map(|tensor| builder.input(tensor)).collect();
        inputs.extend(vec![inputs[0]; self.repeats]);
        let outputs = self.outputs.into_iter().map(|tensor| builder.tensor(tensor)).collect();
        builder.push_op(Op {
            name: String::new(),
            kind: OpKind::new(self.kind),
            inputs,
            outputs,
            attributes: self.attributes,
            extra: Map::new(),
        });
        builder.build().unwrap()
    }
}

fn tensor(shape: &[i64], dtype: &ElementType) -> Tensor {
    let shape = shape.iter().map(|&dimension| dimension as u64).collect();
    Tensor::shaped("", shape, dtype.clone()).unwrap()
}

impl fmt::Display for OneOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shapes = |tensors: &[Tensor]| tensors.iter().map(|t| json!(t.shape)).collect::<Value>();
        let attributes = Value::Object(self.attributes.clone());
        write!(f, "{} {} -> {} {attributes}", self.kind, shapes(&self.inputs), shapes(&self.outputs))
    }
}
