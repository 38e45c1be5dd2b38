//! When TFLM needs what: all graphs of a model on one line of steps.
//!
//! The main graph is there at step 0. Every op is a step, and every sub-graph that it runs is entered with another;
//! what the op reads and writes is needed until they are done.

use serenity_ir::{Graph, Op, OpId, TensorId};

/// Sub-graphs may run sub-graphs, but a model that takes more steps than this is not followed.
const MOST_STEPS: u64 = 1 << 24;

/// First and last step.
pub(crate) type Span = (u64, u64);

/// The steps at which tensors are needed and ops run, by graph; `None` for what is never touched.
pub(crate) struct Timeline {
    pub(crate) tensors: Vec<Vec<Option<Span>>>,
    pub(crate) ops: Vec<Vec<Option<Span>>>,
}

/// What is still to be done.
enum Todo {
    Enter(usize),
    Run(usize, OpId),
    Finish(usize, OpId),
    Leave(usize),
}

impl Timeline {
    /// Follows a run of these graphs, each in its order; `None` if it does not come to an end.
    pub(crate) fn of(graphs: &[&Graph], orders: &[&[OpId]]) -> Option<Self> {
        let mut line = Self {
            tensors: graphs.iter().map(|g| vec![None; g.tensors().len()]).collect(),
            ops: graphs.iter().map(|g| vec![None; g.ops().len()]).collect(),
        };
        let mut now = 0;
        // The next is the last.
        let mut todo = vec![Todo::Enter(0)];
        while let Some(next) = todo.pop() {
            if now > MOST_STEPS || todo.len() as u64 > MOST_STEPS {
                return None;
            }
            match next {
                Todo::Enter(graph) => {
                    now += u64::from(!todo.is_empty());
                    line.touch(graph, graphs[graph].inputs(), now);
                    todo.push(Todo::Leave(graph));
                    todo.extend(orders[graph].iter().rev().map(|&op| Todo::Run(graph, op)));
                }
                Todo::Run(graph, id) => {
                    now += 1;
                    let op = graphs[graph].op(id);
                    line.touch(graph, &op.outputs, now);
                    stretch(&mut line.ops[graph][id.index()], now);
                    todo.push(Todo::Finish(graph, id));
                    todo.extend(bodies(op, graphs.len()).into_iter().rev().map(Todo::Enter));
                }
                Todo::Finish(graph, id) => {
                    let op = graphs[graph].op(id);
                    line.touch(graph, &op.inputs, now);
                    line.touch(graph, &op.outputs, now);
                    stretch(&mut line.ops[graph][id.index()], now);
                }
                Todo::Leave(graph) => line.touch(graph, graphs[graph].outputs(), now),
            }
        }
        Some(line)
    }

    fn touch(&mut self, graph: usize, tensors: &[TensorId], now: u64) {
        for t in tensors {
            stretch(&mut self.tensors[graph][t.index()], now);
        }
    }
}

fn stretch(span: &mut Option<Span>, now: u64) {
    *span = Some(span.map_or((now, now), |(first, last)| (first, last.max(now))));
}

/// The sub-graphs that an op runs, of so many graphs.
pub(crate) fn bodies(op: &Op, graphs: usize) -> Vec<usize> {
    op.bodies().filter(|&body| body < graphs).collect()
}
