//! Graphs of one op, for the tests of this folder.

use crate::{Kernels, LitertKernels, LitertPlace, scratch};
use serde_json::{Map, Value, json};
use serenity_ir::{Attributes, ElementType, Graph, GraphBuilder, Op, OpId, OpKind, Tensor};

/// One op in the making; operands are added in the order of the model's list.
pub(super) struct OneOp {
    kind: &'static str,
    inputs: Vec<Tensor>,
    outputs: Vec<Tensor>,
    attributes: Attributes,
    position: usize,
}

impl OneOp {
    pub(super) fn new(kind: &'static str) -> Self {
        Self { kind, inputs: vec![], outputs: vec![], attributes: Attributes::new(), position: 0 }
    }

    /// The next operand is an activation.
    pub(super) fn reads(mut self, shape: &[u64], dtype: ElementType) -> Self {
        self.inputs.push(Tensor::shaped("", shape.to_vec(), dtype).unwrap());
        self.position += 1;
        self
    }

    /// The next operand is a constant.
    pub(super) fn constant(mut self, shape: &[u64], dtype: &ElementType) -> Self {
        let constants = self.attributes.entry("constants").or_insert_with(|| Value::Object(Map::new()));
        constants[self.position.to_string()] = json!({"name": "", "shape": shape, "dtype": dtype.name()});
        self.position += 1;
        self
    }

    /// The next operand is not there.
    pub(super) fn absent(mut self) -> Self {
        let absent = self.attributes.entry("absent").or_insert_with(|| Value::Array(vec![]));
        absent.as_array_mut().unwrap().push(json!(self.position));
        self.position += 1;
        self
    }

    pub(super) fn gives(mut self, shape: &[u64], dtype: ElementType) -> Self {
        self.outputs.push(Tensor::shaped("", shape.to_vec(), dtype).unwrap());
        self
    }

    pub(super) fn with(mut self, name: &str, value: Value) -> Self {
        self.attributes.insert(name.to_owned(), value);
        self
    }

    pub(super) fn reference(self) -> Vec<u64> {
        self.scratch(Kernels::Reference)
    }

    pub(super) fn cmsis_nn(self) -> Vec<u64> {
        self.scratch(Kernels::CmsisNn)
    }

    pub(super) fn litert(self) -> Vec<u64> {
        let kernels = LitertKernels::of(&self.graph());
        let in_arena = kernels.temporaries(OpId(0)).iter().filter(|t| t.place == LitertPlace::Arena);
        in_arena.map(|temporary| temporary.bytes).collect()
    }

    pub(super) fn scratch(self, kernels: Kernels) -> Vec<u64> {
        scratch(&self.graph(), OpId(0), kernels)
    }

    pub(super) fn graph(self) -> Graph {
        let mut builder = GraphBuilder::new("");
        let inputs = self.inputs.into_iter().map(|tensor| builder.input(tensor)).collect();
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
