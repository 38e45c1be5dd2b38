//! Which memory there is, who fills it and who still wants it: the memory models once more, written down independently.

use crate::peak::{is_private_partial, is_view};
use serenity_ir::{Graph, MemoryModel, OpId, Role, TensorId};

/// The memory of one tensor that has memory of its own.
#[derive(Clone, Debug, Default)]
pub(crate) struct Holding {
    pub(crate) bytes: u64,
    /// It is in use once one of these has begun, or from the start if there are none.
    pub(crate) writers: Vec<OpId>,
    /// It is in use until all of these have ended.
    pub(crate) readers: Vec<OpId>,
    /// The caller wants it in the end.
    pub(crate) kept: bool,
}

/// The memory of every tensor; `None` for those that lie in the memory of others, or in none.
pub(crate) fn holdings(graph: &Graph, model: MemoryModel) -> Vec<Option<Holding>> {
    let mut holdings: Vec<Option<Holding>> = graph
        .tensor_ids()
        .map(|t| {
            let kept = graph.is_output(t);
            let readers = graph.consumers(t).to_vec();
            let writers: Vec<OpId> = graph.producer(t).into_iter().collect();
            if writers.is_empty() && readers.is_empty() && !kept {
                return None;
            }
            let readers = if readers.is_empty() { writers.clone() } else { readers };
            Some(Holding { bytes: graph.tensor(t).bytes, writers, readers, kept })
        })
        .collect();
    if model == MemoryModel::Paper {
        // Backwards, so that a view of a view hands on what it has been handed.
        for op in graph.file_order().into_iter().rev() {
            share(graph, op, &mut holdings);
        }
    }
    holdings
}

fn share(graph: &Graph, id: OpId, holdings: &mut [Option<Holding>]) {
    let op = graph.op(id);
    let [result] = op.outputs[..] else { return };
    if is_view(graph, id) {
        // The pieces are wanted by whoever wants the view.
        let Some(view) = holdings[result.index()].take() else { return };
        for piece in &op.inputs {
            if let Some(piece) = &mut holdings[piece.index()] {
                piece.readers.extend(&view.readers);
                piece.kept |= view.kept;
            }
        }
    } else if accumulates(graph, id) {
        // Whichever partial result comes first brings the sum to life.
        let partials: Vec<Holding> = op.inputs.iter().filter_map(|t| holdings[t.index()].take()).collect();
        if let Some(sum) = &mut holdings[result.index()] {
            for partial in partials {
                sum.bytes = sum.bytes.max(partial.bytes);
                sum.writers.extend(partial.writers);
            }
        }
    }
}

/// Does this op add up partial results in place?
pub(crate) fn accumulates(graph: &Graph, op: OpId) -> bool {
    let node = graph.op(op);
    let private = |&t: &TensorId| is_private_partial(graph, t, op);
    node.kind.role() == Role::Accumulate && node.outputs.len() == 1 && node.inputs.iter().all(private)
}

/// Who depends on whom, transitively, for a few ops of interest.
pub(crate) struct Reach<'a> {
    graph: &'a Graph,
    before: Vec<Option<Vec<bool>>>,
}

impl<'a> Reach<'a> {
    pub(crate) fn new(graph: &'a Graph) -> Self {
        Self { graph, before: vec![None; graph.ops().len()] }
    }

    /// Has `first` run whenever `then` has?
    pub(crate) fn precedes(&mut self, first: OpId, then: OpId) -> bool {
        let graph = self.graph;
        let before = self.before[then.index()].get_or_insert_with(|| {
            let mut seen = vec![false; graph.ops().len()];
            seen[then.index()] = true;
            let mut open = vec![then];
            while let Some(op) = open.pop() {
                for p in graph.predecessors(op) {
                    if !std::mem::replace(&mut seen[p.index()], true) {
                        open.push(p);
                    }
                }
            }
            seen
        });
        before[first.index()]
    }
}
