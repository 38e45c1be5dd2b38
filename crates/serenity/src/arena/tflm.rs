//! TensorFlow Lite for Microcontrollers: all sub-graphs share one arena and one time line.
//!
//! Graph inputs exist from the step at which their graph is entered. Every op is one step, and every sub-graph that an op runs is
//! entered with another; what the op reads and writes lives until the sub-graphs are done. A tensor that no op touches is given a
//! place all the same, at a step of its own.

use super::{Content, Demand, bodies};
use serenity_arena::{Buffer, Step};
use serenity_ir::{
    Graph, Kernels, OpId, Overlap, TensorId, best_overlaps, bytes_handed_over, tflm_bytes, tflm_scratch,
};

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

/// What one run of a model asks of the arena.
pub(super) struct Run<'a> {
    walk: Walk<'a>,
    kernels: Kernels,
}

impl<'a> Run<'a> {
    /// `None` if the sub-graphs call each other without end.
    pub(super) fn new(graphs: &'a [&'a Graph], orders: &'a [&'a [OpId]], kernels: Kernels) -> Option<Self> {
        let mut walk = Walk {
            graphs,
            orders,
            now: 0,
            tensors: graphs.iter().map(|g| vec![UNTOUCHED; g.tensors().len()]).collect(),
            ops: graphs.iter().map(|g| vec![UNTOUCHED; g.ops().len()]).collect(),
        };
        walk.enter(0, 0)?;
        Some(Self { walk, kernels })
    }

    /// Everything that TFLM's planner is asked to place, in its order: the tensors of all graphs, then the scratch of all ops.
    pub(super) fn demands(&self) -> Vec<Demand> {
        let mut demands = Vec::new();
        for (graph, g) in self.walk.graphs.iter().enumerate() {
            for tensor in g.tensor_ids() {
                let Life(first, last) = self.walk.tensors[graph][tensor.index()];
                let bytes = tflm_bytes(g.tensor(tensor));
                if bytes > 0 {
                    let content = Content::Tensor { graph, tensor };
                    demands.push(Demand { content, buffer: Buffer::new(bytes, first, last.max(first)) });
                }
            }
        }
        for (graph, g) in self.walk.graphs.iter().enumerate() {
            for &op in self.walk.orders[graph] {
                let Life(first, last) = self.walk.ops[graph][op.index()];
                for bytes in tflm_scratch(g, op, self.kernels) {
                    let content = Content::Scratch { graph, op };
                    demands.push(Demand { content, buffer: Buffer::new(bytes, first, last.max(first)) });
                }
            }
        }
        demands
    }

    /// The most memory in use at any step, if every op that can save something does.
    pub(super) fn live_peak(&self) -> u64 {
        let mut changes = vec![0_i128; self.walk.now as usize + 2];
        for Demand { buffer, .. } in self.demands().iter().filter(|demand| demand.buffer.first >= 0) {
            changes[buffer.first as usize] += i128::from(buffer.size);
            changes[buffer.last as usize + 1] -= i128::from(buffer.size);
        }
        for (index, overlap) in self.hand_overs() {
            let graph = self.walk.graphs[index];
            let step = self.walk.tensors[index][overlap.output.index()].0 as usize;
            let bytes = i128::from(bytes_handed_over(graph, &overlap));
            changes[step] -= bytes;
            changes[step + 1] += bytes;
        }
        let in_use = changes.iter().scan(0, |sum, change| {
            *sum += change;
            Some(*sum)
        });
        u64::try_from(in_use.max().unwrap_or(0)).unwrap_or(0)
    }

    /// Which outputs may be written over which inputs, because those die with the op that writes.
    pub(super) fn hand_overs(&self) -> Vec<(usize, Overlap)> {
        let mut found = Vec::new();
        for (index, graph) in self.walk.graphs.iter().enumerate() {
            for op in graph.op_ids() {
                let Life(begin, end) = self.walk.ops[index][op.index()];
                let dies_here = |t: TensorId| {
                    let Life(first, last) = self.walk.tensors[index][t.index()];
                    first < begin && last == begin && !graph.is_output(t)
                };
                // An op that runs others while its tensors live does not know when they are read.
                if begin == end && begin > 0 {
                    let chosen = best_overlaps(graph, op, self.kernels, dies_here);
                    found.extend(chosen.into_iter().map(|(overlap, _)| (index, overlap)));
                }
            }
        }
        found
    }
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
