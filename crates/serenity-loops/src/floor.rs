//! What no loops get below.
//!
//! A loop cuts rows out of tensors that are there as a whole. So are all inputs of the network at once, before anything runs, and whatever an operator reads or writes that has no rows
//! of its own.

use crate::rows::RowLocal;
use serenity_ir::{Graph, TensorId};

/// What must be there at one time, whichever windows become loops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Floor {
    /// So many bytes,
    pub bytes: u64,
    /// because of this.
    pub why: Because,
}

/// What must be there as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Because {
    /// All inputs of the network.
    Inputs,
    /// A tensor that an op of this name reads or writes, which can be in no window.
    Op(String),
}

impl Floor {
    /// The floor of a main graph.
    pub fn of(graph: &Graph) -> Self {
        let bytes = |t: TensorId| graph.tensor(t).bytes;
        let inputs = graph.inputs().iter().map(|&t| bytes(t)).sum();
        let mut floor = Self { bytes: inputs, why: Because::Inputs };
        for op in graph.op_ids().filter(|&op| RowLocal::of(graph, op).is_none()) {
            // Of several tensors the largest: others may be the same bytes under another name.
            for &tensor in graph.op(op).inputs.iter().chain(&graph.op(op).outputs) {
                if bytes(tensor) > floor.bytes {
                    floor = Self { bytes: bytes(tensor), why: Because::Op(graph.op_label(op)) };
                }
            }
        }
        floor
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serenity_ir::{ElementType, GraphBuilder, OpId, Tensor};

    #[test]
    fn inputs_and_what_has_no_rows_are_whole() {
        let mut graph = GraphBuilder::new("");
        let image = |channels: u64| Tensor::shaped("", vec![1, 8, 8, channels], ElementType::Int8).unwrap();
        let [x, y] = [graph.input(image(1)), graph.input(image(2))];
        // Wide, but row for row.
        let wide = graph.op("", "RELU", &[x], image(100));
        let flat = graph.op("", "RELU", &[wide], image(1));
        let z = graph.op("", "SOFTMAX", &[flat], image(1));
        graph.output(z);
        graph.output(y);
        let narrow = graph.build().unwrap();
        assert_eq!(Floor::of(&narrow), Floor { bytes: 3 * 64, why: Because::Inputs });

        let mut graph = GraphBuilder::new("");
        let x = graph.input(image(1));
        let y = graph.op("", "CUSTOM", &[x], image(5));
        graph.output(y);
        let graph = graph.build().unwrap();
        assert_eq!(Floor::of(&graph), Floor { bytes: 5 * 64, why: Because::Op(graph.op_label(OpId(0))) });
    }
}
