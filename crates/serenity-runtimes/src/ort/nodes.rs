//! The nodes as ONNX Runtime has them after loading a file.
//!
//! They are numbered in the order of the file. A `DequantizeLinear` that several operands read is given to the first of
//! them; each other gets a copy, numbered behind all nodes of the file.

use super::lists::Lists;
use super::sharing::{OrtSharing, ort_layout, ort_sharing};
use super::walk;
use crate::OrtSetup;
use serenity_ir::{Graph, OpId, Operator, TensorId};
use std::collections::BTreeMap;

/// A tensor, or the copy of one.
pub(super) type Value = usize;

/// Facts that hold for every order of a file, looked up once because thousands of orders are tried.
pub(super) struct Facts {
    /// Per op: the tensors that it reads and writes, as far as ONNX Runtime knows them.
    inputs: Lists,
    outputs: Lists,
    /// By op: `Shape` and `Size`, which are preferred to all others.
    pub(super) is_size: Vec<bool>,
    is_dequantizer: Vec<bool>,
    /// By op: what it does with the memory of an operand, where that stands among its inputs, and whether it is a constant.
    pub(super) shared: Vec<(OrtSharing, Option<usize>, bool)>,
    /// By tensor.
    pub(super) bytes: Vec<u64>,
    pub(super) is_output: Vec<bool>,
    /// Per tensor: tensors with the same number can take each other's buffer.
    pub(super) layout: Vec<Option<usize>>,
    pub(super) layouts: usize,
    /// Nodes without copies, if there is nothing to copy.
    connected: Option<Connections>,
}

impl Facts {
    pub(super) fn new(graph: &Graph, setup: OrtSetup) -> Self {
        let real = |tensors: &[TensorId]| -> Vec<Value> {
            tensors.iter().filter(|&&t| !is_token(graph, t)).map(|t| t.index()).collect()
        };
        let mut numbers = BTreeMap::new();
        let layout = graph.tensors().iter().map(|tensor| {
            let next = numbers.len();
            ort_layout(tensor, setup).map(|layout| *numbers.entry(layout).or_insert(next))
        });
        let layout: Vec<Option<usize>> = layout.collect();
        let is_kind = |operators: &[Operator]| {
            graph.ops().iter().map(|op| operators.contains(&op.kind.operator())).collect::<Vec<bool>>()
        };
        let shared = |op: &serenity_ir::Op| {
            let sharing = ort_sharing(op);
            let operand = sharing.operand();
            let is_constant = operand.is_some_and(|operand| op.constant(operand).is_some());
            (sharing, operand.and_then(|operand| op.input_of(operand)), is_constant)
        };
        let mut facts = Self {
            inputs: graph.ops().iter().map(|op| real(&op.inputs)).collect(),
            outputs: graph.ops().iter().map(|op| real(&op.outputs)).collect(),
            is_size: is_kind(&[Operator::Shape, Operator::Size]),
            is_dequantizer: is_kind(&[Operator::DequantizeLinear]),
            shared: graph.ops().iter().map(shared).collect(),
            bytes: graph.tensors().iter().map(|tensor| tensor.bytes).collect(),
            is_output: graph.tensor_ids().map(|tensor| graph.is_output(tensor)).collect(),
            layouts: numbers.len(),
            layout,
            connected: None,
        };
        let nodes = Nodes::of(&facts, &graph.file_order());
        facts.connected = (nodes.ops.len() == graph.ops().len()).then_some(nodes.connections);
        facts
    }
}

/// Which nodes read what others write.
#[derive(Clone)]
pub(super) struct Connections {
    /// The nodes whose outputs a node reads, each once.
    pub(super) before: Lists,
    /// The nodes that read an output of a node, each once.
    pub(super) after: Lists,
}

pub(super) struct Nodes {
    /// The op of each node: those of the graph first, then copies.
    pub(super) ops: Vec<OpId>,
    /// The number of each node.
    pub(super) number: Vec<usize>,
    pub(super) inputs: Lists,
    pub(super) outputs: Lists,
    /// The tensor of each value.
    pub(super) tensors: Vec<usize>,
    pub(super) connections: Connections,
}

impl Nodes {
    pub(super) fn of(facts: &Facts, numbering: &[OpId]) -> Self {
        let mut number = vec![0; numbering.len()];
        for (position, op) in numbering.iter().enumerate() {
            number[op.index()] = position;
        }
        let (inputs, outputs) = (facts.inputs.clone(), facts.outputs.clone());
        let tensors = facts.bytes.len();
        let connections =
            facts.connected.clone().unwrap_or_else(|| Connections::new(&inputs, &outputs, tensors));
        let mut nodes = Self {
            ops: (0..numbering.len()).map(OpId::from_index).collect(),
            number,
            inputs,
            outputs,
            tensors: (0..tensors).collect(),
            connections,
        };
        if facts.connected.is_none() && nodes.copy_dequantizers(facts, numbering) {
            nodes.connections = Connections::new(&nodes.inputs, &nodes.outputs, nodes.tensors.len());
        }
        nodes
    }

    /// Whether there was anything to copy.
    fn copy_dequantizers(&mut self, facts: &Facts, numbering: &[OpId]) -> bool {
        let of_the_file = self.ops.len();
        let mut reads: Vec<Vec<(usize, usize)>> = vec![Vec::new(); self.tensors.len()];
        for op in numbering {
            for (position, &value) in self.inputs.of(op.index()).iter().enumerate() {
                reads[value].push((op.index(), position));
            }
        }
        for node in walk::default(self) {
            let [value] = *self.outputs.of(node) else { continue };
            if !facts.is_dequantizer[self.ops[node].index()] {
                continue;
            }
            let tensor = self.tensors[value];
            let own = usize::from(!facts.is_output[tensor]);
            for &(reader, position) in reads[value].iter().skip(own) {
                let copy = self.tensors.len();
                self.tensors.push(tensor);
                self.inputs.of_mut(reader)[position] = copy;
                self.number.push(self.ops.len());
                self.ops.push(self.ops[node]);
                let operands = self.inputs.of(node).to_vec();
                self.inputs.push(&operands);
                self.outputs.push(&[copy]);
            }
        }
        self.ops.len() > of_the_file
    }
}

impl Connections {
    fn new(inputs: &Lists, outputs: &Lists, values: usize) -> Self {
        let mut producer = vec![None; values];
        for node in 0..outputs.len() {
            for &value in outputs.of(node) {
                producer[value] = Some(node);
            }
        }
        let mut pairs = Vec::new();
        let mut before = Lists::default();
        for node in 0..inputs.len() {
            let mut from: Vec<usize> = inputs.of(node).iter().filter_map(|&value| producer[value]).collect();
            from.sort_unstable();
            from.dedup();
            pairs.extend(from.iter().map(|&from| (from, node)));
            before.push(&from);
        }
        Self { before, after: Lists::grouped(inputs.len(), &pairs) }
    }
}

/// Is this a tensor that we added to keep ops with effects in order? ONNX Runtime does not know it.
fn is_token(graph: &Graph, tensor: TensorId) -> bool {
    let tensor = graph.tensor(tensor);
    tensor.bytes == 0 && tensor.dtype.is_none() && tensor.name.starts_with("state#")
}
