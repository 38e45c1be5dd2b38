//! TensorFlow Lite for Microcontrollers: all sub-graphs share one arena and one time line.
//!
//! Graph inputs exist from the step at which their graph is entered. Every op is one step, and every sub-graph that an op runs is
//! entered with another; what the op reads and writes lives until the sub-graphs are done. A tensor that no op touches is given a
//! place all the same, at a step of its own.

use super::{Content, Demand, bodies};
use serenity_arena::{Buffer, Step};
use serenity_ir::{Graph, Kernels, OpId, TensorId, tflm_bytes, tflm_scratch};

/// Sub-graphs may call sub-graphs, but not for ever: no model that anybody runs takes more steps, or nests deeper.
const MOST_STEPS: Step = 1 << 24;
const DEEPEST: usize = 64;

/// First and last step.
#[derive(Clone, Copy)]
struct Life(Step, Step);

/// As TFLM has it for what no op touches.
const UNTOUCHED: Life = Life(-1, -1);

impl Life {
    fn begin(&mut self, now: Step) {
        if self.0 < 0 {
            self.0 = now;
        }
    }

    fn extend(&mut self, now: Step) {
        self.1 = self.1.max(now);
    }
}

struct Walk<'a> {
    graphs: &'a [&'a Graph],
    orders: &'a [&'a [OpId]],
    now: Step,
    tensors: Vec<Vec<Life>>,
    ops: Vec<Vec<Life>>,
}

/// Everything that TFLM's planner is asked to place, in its order: the tensors of all graphs, then the scratch of all ops. `None` if the
/// sub-graphs call each other without end.
pub(super) fn demands(graphs: &[&Graph], orders: &[&[OpId]], kernels: Kernels) -> Option<Vec<Demand>> {
    let mut walk = Walk {
        graphs,
        orders,
        now: 0,
        tensors: graphs.iter().map(|g| vec![UNTOUCHED; g.tensors().len()]).collect(),
        ops: graphs.iter().map(|g| vec![UNTOUCHED; g.ops().len()]).collect(),
    };
    walk.enter(0, 0)?;
    let mut demands = Vec::new();
    for (graph, g) in graphs.iter().enumerate() {
        for tensor in g.tensor_ids() {
            let Life(first, last) = walk.tensors[graph][tensor.index()];
            let bytes = tflm_bytes(g.tensor(tensor));
            if bytes > 0 {
                let content = Content::Tensor { graph, tensor };
                demands.push(Demand { content, buffer: Buffer::new(bytes, first, last.max(first)) });
            }
        }
    }
    for (graph, g) in graphs.iter().enumerate() {
        for &op in orders[graph] {
            let Life(first, last) = walk.ops[graph][op.index()];
            for bytes in tflm_scratch(g, op, kernels) {
                let content = Content::Scratch { graph, op };
                demands.push(Demand { content, buffer: Buffer::new(bytes, first, last.max(first)) });
            }
        }
    }
    Some(demands)
}

impl Walk<'_> {
    fn enter(&mut self, index: usize, depth: usize) -> Option<()> {
        let graph = *self.graphs.get(index)?;
        if depth > DEEPEST {
            return None;
        }
        for &input in graph.inputs() {
            self.touch(index, input, true);
        }
        for &op in self.orders[index] {
            self.now += 1;
            if self.now > MOST_STEPS {
                return None;
            }
            let node = graph.op(op);
            for &output in &node.outputs {
                self.touch(index, output, true);
            }
            self.ops[index][op.index()].begin(self.now);
            for body in bodies(node) {
                self.now += 1;
                self.enter(body, depth + 1)?;
            }
            for &tensor in node.inputs.iter().chain(&node.outputs) {
                self.touch(index, tensor, false);
            }
            self.ops[index][op.index()].extend(self.now);
        }
        for &output in graph.outputs() {
            self.touch(index, output, false);
        }
        Some(())
    }

    fn touch(&mut self, graph: usize, tensor: TensorId, begins: bool) {
        let life = &mut self.tensors[graph][tensor.index()];
        if begins {
            life.begin(self.now);
        }
        life.extend(self.now);
    }
}
