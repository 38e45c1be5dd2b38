//! The graph: tensors, and the operators that read and write them.

use crate::{ElementType, KnownShape, OpId, OpKind, Quantization, TensorId, Unknown};
use serde_json::{Map, Value};

/// Named attributes of an operator, in the order they were given.
pub type Attributes = Map<String, Value>;

/// A value that one operator writes and others read.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// A name for people; need not be unique, may be empty.
    pub name: String,
    /// Memory cost. This is what counts, also where shape and type would say otherwise.
    pub bytes: u64,
    /// Dimensions, if known.
    pub shape: Option<Vec<u64>>,
    /// How much of them a runtime knows when it loads the file.
    pub known: KnownShape,
    /// Element type, if known.
    pub dtype: Option<ElementType>,
    /// What the stored integers stand for, if it is quantised.
    pub quantization: Option<Quantization>,
    /// Fields of the source that we do not know, or that we would spell otherwise, kept for writing back.
    pub extra: Map<String, Value>,
}

impl Tensor {
    /// A tensor of which only the size is known.
    pub fn sized(name: impl Into<String>, bytes: u64) -> Self {
        Self {
            name: name.into(),
            bytes,
            shape: None,
            known: KnownShape::Whole,
            dtype: None,
            quantization: None,
            extra: Map::new(),
        }
    }

    /// A packed tensor of a known shape and type; `None` if its size is unknown or overflows.
    pub fn shaped(name: impl Into<String>, shape: Vec<u64>, dtype: ElementType) -> Option<Self> {
        let bytes = dtype.bytes_of(&shape)?;
        Some(Self { shape: Some(shape), dtype: Some(dtype), ..Self::sized(name, bytes) })
    }
}

/// One operator: a node of the paper's graph with its metadata.
#[derive(Clone, Debug, PartialEq)]
pub struct Op {
    /// A name for people; need not be unique, may be empty.
    pub name: String,
    /// The type of the operation.
    pub kind: OpKind,
    /// Tensors it reads, in argument order; one may occur twice.
    pub inputs: Vec<TensorId>,
    /// Tensors it writes.
    pub outputs: Vec<TensorId>,
    /// Strides, padding, axis, …
    pub attributes: Attributes,
    /// Fields of the source that we do not know, or that we would spell otherwise, kept for writing back.
    pub extra: Map<String, Value>,
}

/// A validated, acyclic operator graph. Made by [`GraphBuilder::build`](crate::GraphBuilder::build).
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    pub(crate) name: String,
    pub(crate) tensors: Vec<Tensor>,
    pub(crate) ops: Vec<Op>,
    pub(crate) inputs: Vec<TensorId>,
    pub(crate) outputs: Vec<TensorId>,
    /// By tensor: is it among `inputs`, is it among `outputs`?
    pub(crate) is_input: Vec<bool>,
    pub(crate) is_output: Vec<bool>,
    pub(crate) unknown: Vec<Unknown>,
    pub(crate) extra: Map<String, Value>,
    pub(crate) producers: Vec<Option<OpId>>,
    pub(crate) consumers: Vec<Vec<OpId>>,
    pub(crate) file_order: Vec<OpId>,
}

impl Graph {
    /// The network's name; may be empty.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// All tensors, by id.
    pub fn tensors(&self) -> &[Tensor] {
        &self.tensors
    }

    /// All operators, in the file's order.
    pub fn ops(&self) -> &[Op] {
        &self.ops
    }

    /// The tensors the caller provides.
    pub fn inputs(&self) -> &[TensorId] {
        &self.inputs
    }

    /// The tensors the caller wants.
    pub fn outputs(&self) -> &[TensorId] {
        &self.outputs
    }

    /// Does the caller provide this tensor?
    pub fn is_input(&self, id: TensorId) -> bool {
        self.is_input[id.index()]
    }

    /// Does the caller want this tensor?
    pub fn is_output(&self, id: TensorId) -> bool {
        self.is_output[id.index()]
    }

    /// What is not known of it: what a claim about this graph cannot cover.
    pub fn unknown(&self) -> &[Unknown] {
        &self.unknown
    }

    /// Fields of the source that we do not know, kept for writing back.
    pub fn extra(&self) -> &Map<String, Value> {
        &self.extra
    }

    /// The tensor with this id.
    pub fn tensor(&self, id: TensorId) -> &Tensor {
        &self.tensors[id.index()]
    }

    /// The op with this id.
    pub fn op(&self, id: OpId) -> &Op {
        &self.ops[id.index()]
    }

    /// Ids of all operators, in the file's order.
    pub fn op_ids(&self) -> impl ExactSizeIterator<Item = OpId> + use<> {
        (0..self.ops.len()).map(OpId::from_index)
    }

    /// Ids of all tensors.
    pub fn tensor_ids(&self) -> impl ExactSizeIterator<Item = TensorId> + use<> {
        (0..self.tensors.len()).map(TensorId::from_index)
    }

    /// Who writes a tensor; `None` for graph inputs and for tensors nothing touches.
    pub fn producer(&self, id: TensorId) -> Option<OpId> {
        self.producers[id.index()]
    }

    /// Who reads a tensor: each op once, in the file's order.
    pub fn consumers(&self, id: TensorId) -> &[OpId] {
        &self.consumers[id.index()]
    }

    /// The ops that must run before `id`: each once, in the file's order.
    pub fn predecessors(&self, id: OpId) -> Vec<OpId> {
        let mut result: Vec<OpId> = self.op(id).inputs.iter().filter_map(|&t| self.producer(t)).collect();
        result.sort_unstable();
        result.dedup();
        result
    }

    /// The order in which the file lists the ops. If that order cannot run (JSON written by hand may list a reader first),
    /// the closest one that can: always the first op of the file whose inputs exist.
    pub fn file_order(&self) -> Vec<OpId> {
        self.file_order.clone()
    }

    /// A name to show for an op: its own, or its type and position.
    pub fn op_label(&self, id: OpId) -> String {
        let op = self.op(id);
        match (op.name.as_str(), op.kind.as_str()) {
            ("", "") => format!("op#{id}"),
            ("", kind) => format!("{kind}#{id}"),
            (name, _) => name.to_owned(),
        }
    }

    /// A name to show for a tensor: its own, or its id.
    pub fn tensor_label(&self, id: TensorId) -> String {
        let tensor = self.tensor(id);
        if tensor.name.is_empty() { format!("tensor#{id}") } else { tensor.name.clone() }
    }

    /// This graph, with one op that needs `bytes` besides its tensors while it runs.
    #[must_use]
    pub fn with_workspace(mut self, op: OpId, bytes: u64) -> Self {
        self.ops[op.index()].attributes.insert("workspace".to_owned(), bytes.into());
        self
    }

    /// This graph, with another quantization for one tensor.
    #[must_use]
    pub fn with_quantization(mut self, tensor: TensorId, quantization: Quantization) -> Self {
        self.tensors[tensor.index()].quantization = Some(quantization);
        self
    }

    /// This graph, with more facts marked as unknown.
    #[must_use]
    pub fn with_unknown(mut self, more: impl IntoIterator<Item = Unknown>) -> Self {
        for unknown in more {
            if !self.unknown.contains(&unknown) {
                self.unknown.push(unknown);
            }
        }
        self
    }

    /// This graph, where the first op of each pair must run before the second. Both must come in that order in
    /// [`file_order`](Self::file_order). Each pair adds a tensor of 0 bytes behind the others; ids do not change.
    ///
    /// # Panics
    /// If a pair names an op that does not exist.
    #[must_use]
    pub fn with_precedence(mut self, pairs: &[(OpId, OpId)]) -> Self {
        for &(first, then) in pairs {
            let id = TensorId::from_index(self.tensors.len());
            self.tensors.push(Tensor::sized("", 0));
            self.is_input.push(false);
            self.is_output.push(false);
            self.producers.push(Some(first));
            self.consumers.push(vec![then]);
            self.ops[first.index()].outputs.push(id);
            self.ops[then.index()].inputs.push(id);
        }
        self
    }

    /// This graph with its ops listed in `order`; tensor ids do not change.
    ///
    /// # Errors
    /// If `order` is not an order of this graph's ops that can run.
    pub fn reordered(&self, order: &[OpId]) -> Result<Self, crate::OrderError> {
        self.check_order(order)?;
        let mut new_position = vec![OpId(0); order.len()];
        for (position, &op) in order.iter().enumerate() {
            new_position[op.index()] = OpId::from_index(position);
        }
        let mut graph = self.clone();
        graph.ops = order.iter().map(|&op| self.op(op).clone()).collect();
        graph.file_order = graph.op_ids().collect();
        for producer in graph.producers.iter_mut().flatten() {
            *producer = new_position[producer.index()];
        }
        for consumers in &mut graph.consumers {
            for consumer in consumers.iter_mut() {
                *consumer = new_position[consumer.index()];
            }
            consumers.sort_unstable();
        }
        Ok(graph)
    }
}
