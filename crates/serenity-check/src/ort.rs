//! ONNX Runtime's memory once more, written down independently.

use crate::holdings::Holding;
use serenity_ir::{Graph, Op, OpId, TensorId};

/// Operators whose result is their first operand under another shape.
const RESHAPE: [&str; 5] = ["Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"];

/// Operators that write over their first operand if they can.
const OVERWRITE: [&str; 18] = [
    "Cast",
    "Celu",
    "Clip",
    "Elu",
    "HardSigmoid",
    "LeakyRelu",
    "LogSoftmax",
    "Relu",
    "ScatterElements",
    "Selu",
    "Shrink",
    "Sigmoid",
    "Softmax",
    "Softplus",
    "Softsign",
    "Tanh",
    "ThresholdedRelu",
    "Trilu",
];

/// Puts every tensor where ONNX Runtime has it in whatever order.
pub(crate) fn share(graph: &Graph, holdings: &mut [Option<Holding>]) {
    let mut places = Places {
        lies_in: graph.tensor_ids().collect(),
        // The caller may look at inputs before and at outputs after the run.
        looks: graph
            .tensor_ids()
            .map(|t| {
                let by_caller = [graph.is_input(t), graph.is_output(t)];
                graph.consumers(t).len() + by_caller.into_iter().filter(|&looks| looks).count()
            })
            .collect(),
    };
    for t in graph.tensor_ids() {
        // What is never read is never released.
        if let Some(holding) = &mut holdings[t.index()] {
            holding.kept |= graph.consumers(t).is_empty();
        }
    }
    for id in graph.file_order() {
        let op = graph.op(id);
        match op.outputs.first() {
            Some(&result) if !graph.is_output(result) => places.settle(graph, op, id, result, holdings),
            _ => {}
        }
    }
    // Memory of the caller's.
    for input in graph.inputs() {
        holdings[input.index()] = None;
    }
}

struct Places {
    /// By tensor: whose memory it lies in.
    lies_in: Vec<TensorId>,
    /// By tensor whose memory it is: how many look at it, but for the ops that put others there.
    looks: Vec<usize>,
}

impl Places {
    fn settle(
        &mut self,
        graph: &Graph,
        op: &Op,
        id: OpId,
        result: TensorId,
        holdings: &mut [Option<Holding>],
    ) {
        let kind = op.kind.as_str();
        let reshapes = RESHAPE.contains(&kind);
        if !reshapes && !OVERWRITE.contains(&kind) {
            return;
        }
        let Some(operand) = op.operand(0) else {
            if reshapes && op.constant(0).is_some() {
                // A constant by another name.
                holdings[result.index()] = None;
                self.looks[result.index()] += 1;
            }
            return;
        };
        let host = self.lies_in[operand.index()];
        let fits = reshapes
            || (self.looks[host.index()] == 1
                && op.inputs.iter().filter(|&&t| t == operand).count() == 1
                && same_layout(graph, operand, result));
        if !fits {
            return;
        }
        self.lies_in[result.index()] = host;
        self.looks[host.index()] = self.looks[host.index()] - 1 + self.looks[result.index()];
        let (Some(guest), Some(memory)) = (holdings[result.index()].take(), &mut holdings[host.index()])
        else {
            return;
        };
        memory.readers.extend(guest.readers);
        memory.kept |= guest.kept;
        if !reshapes {
            memory.writers.push(id);
        }
    }
}

fn same_layout(graph: &Graph, a: TensorId, b: TensorId) -> bool {
    let (a, b) = (graph.tensor(a), graph.tensor(b));
    let ranked = a.shape.as_ref().is_some_and(|shape| !shape.is_empty());
    let width = |dtype: &Option<serenity_ir::ElementType>| dtype.as_ref().and_then(|d| d.bytes_of(&[2]));
    ranked && a.shape == b.shape && width(&a.dtype).is_some() && width(&a.dtype) == width(&b.dtype)
}
