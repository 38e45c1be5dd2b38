//! The nodes as ONNX Runtime has them after loading a file.
//!
//! They are numbered in the order of the file. A `DequantizeLinear` that several operands read is given to the first of them; each other gets
//! a copy, numbered behind all nodes of the file.

use super::walk;
use serenity_ir::{Graph, OpId, TensorId};

/// A tensor, or the copy of one.
pub(super) type Value = usize;

pub(super) struct Node {
    pub(super) op: OpId,
    pub(super) inputs: Vec<Value>,
    pub(super) outputs: Vec<Value>,
    /// `Shape` and `Size`, which are preferred to all others.
    pub(super) is_size: bool,
}

pub(super) struct Nodes {
    /// By number.
    pub(super) list: Vec<Node>,
    /// The tensor of each value.
    pub(super) tensors: Vec<TensorId>,
    /// The nodes whose outputs a node reads, ascending, by number.
    pub(super) before: Vec<Vec<usize>>,
    /// The nodes that read an output of a node, one entry a read, by number.
    pub(super) after: Vec<Vec<usize>>,
}

impl Nodes {
    pub(super) fn of(graph: &Graph, numbering: &[OpId]) -> Self {
        let node = |&op: &OpId| {
            let (id, op) = (op, graph.op(op));
            let real = |tensors: &[TensorId]| -> Vec<Value> {
                tensors.iter().filter(|&&t| !is_token(graph, t)).map(|t| t.index()).collect()
            };
            Node {
                op: id,
                inputs: real(&op.inputs),
                outputs: real(&op.outputs),
                is_size: matches!(op.kind.as_str(), "Shape" | "Size"),
            }
        };
        let list = numbering.iter().map(node).collect();
        let mut nodes =
            Self { list, tensors: graph.tensor_ids().collect(), before: Vec::new(), after: Vec::new() };
        nodes.connect();
        if nodes.copy_dequantizers(graph) {
            nodes.connect();
        }
        nodes
    }

    fn connect(&mut self) {
        let mut producer = vec![None; self.tensors.len()];
        for (number, node) in self.list.iter().enumerate() {
            for &value in &node.outputs {
                producer[value] = Some(number);
            }
        }
        self.before = vec![Vec::new(); self.list.len()];
        self.after = vec![Vec::new(); self.list.len()];
        for (number, node) in self.list.iter().enumerate() {
            for from in node.inputs.iter().filter_map(|&value| producer[value]) {
                self.before[number].push(from);
                self.after[from].push(number);
            }
            self.before[number].sort_unstable();
            self.before[number].dedup();
        }
    }

    /// Whether there was anything to copy.
    fn copy_dequantizers(&mut self, graph: &Graph) -> bool {
        let is_copied = |node: &Node| graph.op(node.op).kind.as_str() == "DequantizeLinear";
        let mut reads: Vec<Vec<(usize, usize)>> = vec![Vec::new(); self.tensors.len()];
        for (number, node) in self.list.iter().enumerate() {
            for (position, &value) in node.inputs.iter().enumerate() {
                reads[value].push((number, position));
            }
        }
        let of_the_file = self.list.len();
        for number in walk::default(self) {
            let [value] = self.list[number].outputs[..] else { continue };
            if !is_copied(&self.list[number]) {
                continue;
            }
            let tensor = self.tensors[value];
            let own = usize::from(!graph.is_output(tensor));
            for &(reader, position) in reads[value].iter().skip(own) {
                let copy = self.tensors.len();
                self.tensors.push(tensor);
                self.list[reader].inputs[position] = copy;
                let Node { op, ref inputs, .. } = self.list[number];
                self.list.push(Node { op, inputs: inputs.clone(), outputs: vec![copy], is_size: false });
            }
        }
        self.list.len() > of_the_file
    }
}

/// Tensors of our own making, which keep ops with effects in order; ONNX Runtime knows nothing of them.
fn is_token(graph: &Graph, tensor: TensorId) -> bool {
    let tensor = graph.tensor(tensor);
    tensor.bytes == 0 && tensor.dtype.is_none() && tensor.name.starts_with("state#")
}
