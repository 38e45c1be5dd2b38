//! A lower bound on the memory of a model with any loops.
//!
//! A loop cuts rows out of whole tensors. All inputs of the network exist as a whole before anything runs, and so does
//! every tensor of an operator that has no rows of its own.

use crate::rows::RowLocal;
use serenity_ir::{Graph, TensorId};

/// The memory that is in use at one time, whichever windows become loops.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Floor {
    /// The bytes in use.
    pub bytes: u64,
    /// The reason.
    pub why: Because,
}

/// What must exist as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Because {
    /// All inputs of the network.
    #[default]
    Inputs,
    /// A tensor of the operator with this name, which no window can contain.
    Op(String),
}

impl Floor {
    /// The floor of a main graph.
    pub fn of(graph: &Graph) -> Self {
        let bytes = |t: TensorId| graph.tensor(t).bytes;
        let inputs = graph.inputs().iter().map(|&t| bytes(t)).sum();
        let mut floor = Self { bytes: inputs, why: Because::Inputs };
        for op in graph.op_ids().filter(|&op| RowLocal::of(graph, op).is_none()) {
            // Of several tensors only the largest counts: others may be the same bytes under another name.
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
    use serenity_ir::{OpId, sketch};

    #[test]
    fn inputs_and_what_has_no_rows_are_whole() {
        // Wide, but row for row.
        let narrow = sketch(
            "x:int8[1,8,8,1] y:int8[1,8,8,2]; wide:int8[1,8,8,100] = RELU x; \
             flat:int8[1,8,8,1] = RELU wide; z:int8[1,8,8,1] = SOFTMAX flat; -> z y",
        );
        assert_eq!(Floor::of(&narrow), Floor { bytes: 3 * 64, why: Because::Inputs });
        let graph = sketch("x:int8[1,8,8,1]; y:int8[1,8,8,5] = CUSTOM x; -> y");
        assert_eq!(Floor::of(&graph), Floor { bytes: 5 * 64, why: Because::Op(graph.op_label(OpId(0))) });
    }
}
