//! What LiteRT's arena planner shares.
//!
//! An operator that only reshapes gets its input's memory for its output. One that computes element by element writes over an input, if nobody
//! else reads it. Neither happens to graph inputs, which belong to the caller, nor for graph outputs, nor for tensors of at most 4 bytes.

use super::storage::Storage;
use crate::{BufferId, Graph, Op, OpId, TensorId};

/// What an operator may do with the memory of its inputs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sharing {
    /// Its output is the first input under another shape.
    View,
    /// It may write its output over one of so many first operands.
    Overwrite(usize),
    None,
}

fn sharing(op: &Op) -> Sharing {
    match op.kind.as_str() {
        "RESHAPE" | "EXPAND_DIMS" | "SQUEEZE" | "BITCAST" => Sharing::View,
        "ADD" | "SUB" | "MUL" | "DIV" => Sharing::Overwrite(2),
        "SOFTMAX" | "DYNAMIC_UPDATE_SLICE" => Sharing::Overwrite(1),
        _ => Sharing::None,
    }
}

/// Tensors too small to be worth sharing, as LiteRT has it.
const SMALLEST_SHARED: u64 = 5;

impl Storage {
    /// LiteRT's: inputs stay, and what may share memory shares it.
    pub(super) fn in_place(graph: &Graph) -> Self {
        let mut storage = Self::one_buffer_a_tensor(graph);
        storage.inputs_stay = true;
        let mut residents: Vec<Vec<TensorId>> = graph.tensor_ids().map(|t| vec![t]).collect();
        for op in graph.file_order() {
            let node = graph.op(op);
            let Some(&output) = node.outputs.first() else { continue };
            let (candidates, is_view) = match sharing(node) {
                Sharing::None => continue,
                Sharing::View => (1, true),
                Sharing::Overwrite(operands) => (operands, false),
            };
            let input = (0..candidates).filter_map(|position| node.operand(position)).find(|&input| {
                let buffer = storage.of[input.index()][0];
                can_share(graph, input, output)
                    && (is_view || is_last_user(graph, op, &residents[buffer.index()]))
            });
            if let Some(input) = input {
                let buffer: BufferId = storage.of[input.index()][0];
                storage.of[output.index()] = vec![buffer];
                storage.is_view[output.index()] = is_view;
                storage.bytes[output.index()] = 0;
                residents[buffer.index()].push(output);
            }
        }
        storage
    }
}

fn can_share(graph: &Graph, input: TensorId, output: TensorId) -> bool {
    let bytes = graph.tensor(input).bytes;
    bytes >= SMALLEST_SHARED
        && bytes == graph.tensor(output).bytes
        && !graph.is_input(input)
        && !graph.is_output(output)
}

/// Does nobody but `op` want what lies in this memory? Ops whose results lie there too do not count.
fn is_last_user(graph: &Graph, op: OpId, residents: &[TensorId]) -> bool {
    let writes_there = |id: OpId| graph.op(id).outputs.iter().any(|t| residents.contains(t));
    residents.iter().all(|&t| {
        let reads = graph.op(op).inputs.iter().filter(|&&input| input == t).count();
        !graph.is_output(t)
            && reads <= 1
            && graph.consumers(t).iter().all(|&reader| reader == op || writes_there(reader))
    })
}

#[cfg(test)]
mod tests {
    use crate::{GraphBuilder, MemoryModel, OpId, Tensor, TensorId};

    fn peak_and_buffers(g: GraphBuilder) -> (u64, Vec<Vec<TensorId>>) {
        let graph = g.build().unwrap();
        let lifetimes = MemoryModel::Litert.lifetimes(&graph);
        let tensors = lifetimes.buffers().iter().map(|b| b.tensors.clone()).collect();
        (lifetimes.profile(&graph.file_order()).peak(), tensors)
    }

    #[test]
    fn a_sum_is_written_over_an_operand_that_nobody_else_reads() {
        let mut g = GraphBuilder::new("");
        let x = g.input(Tensor::sized("x", 10));
        let a = g.op("a", "CONV_2D", &[x], Tensor::sized("a", 10));
        let b = g.op("b", "CONV_2D", &[x], Tensor::sized("b", 10));
        let s = g.op("s", "ADD", &[a, b], Tensor::sized("s", 10));
        let y = g.op("y", "CONV_2D", &[s], Tensor::sized("y", 10));
        g.output(y);
        let (peak, buffers) = peak_and_buffers(g);
        // x stays; s lies in a; b goes before y comes.
        assert_eq!((peak, &buffers[1]), (30, &vec![a, s]));
    }

    #[test]
    fn inputs_outputs_repeated_and_shared_operands_are_not_written_over() {
        let mut g = GraphBuilder::new("");
        let x = g.input(Tensor::sized("x", 10));
        let a = g.op("a", "ADD", &[x], Tensor::sized("a", 10));
        let b = g.op("b", "MUL", &[a, a], Tensor::sized("b", 10));
        let c = g.op("c", "SUB", &[b], Tensor::sized("c", 10));
        let d = g.op("d", "DIV", &[b, c], Tensor::sized("d", 10));
        g.output(d);
        assert!(peak_and_buffers(g).1.iter().all(|tensors| tensors.len() == 1));
    }

    #[test]
    fn a_view_shares_also_what_others_read_and_protects_it() {
        let mut g = GraphBuilder::new("");
        let x = g.input(Tensor::sized("x", 1));
        let a = g.op("a", "CONV_2D", &[x], Tensor::sized("a", 10));
        let v = g.op("v", "RESHAPE", &[a], Tensor::sized("v", 10));
        let s = g.op("s", "SOFTMAX", &[v], Tensor::sized("s", 10));
        let y = g.op("y", "CONV_2D", &[s, a], Tensor::sized("y", 1));
        g.output(y);
        let graph = g.build().unwrap();
        let lifetimes = MemoryModel::Litert.lifetimes(&graph);
        let buffer = lifetimes.buffers().iter().find(|b| b.tensors == [a, v]).unwrap();
        assert_eq!(
            (&buffer.writers[..], &buffer.readers[..]),
            (&[OpId(0)][..], &[OpId(1), OpId(2), OpId(3)][..])
        );
    }
}
