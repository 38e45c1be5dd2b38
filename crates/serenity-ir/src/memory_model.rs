//! What a runtime keeps alive, aliases and runs in place.

use crate::{Buffer, BufferId, Graph, Lifetimes, OpId, Role, TensorId};
use std::fmt;
use std::str::FromStr;

/// How a runtime spends memory. The choice changes what an order costs, never which orders are possible.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MemoryModel {
    /// Every tensor has its own buffer, from its producer to its last reader; inputs are there from the start until their last
    /// reader, outputs stay to the end.
    #[default]
    Plain,
    /// The semantics under which the figures of the paper come out: as [`Plain`](Self::Plain), but a concatenation is a view
    /// (its pieces stay where they are until the last reader of the view, the result costs nothing), and the partial results that an
    /// `ACCUMULATE` adds up are written into one buffer, which the first of them brings to life.
    Paper,
}

/// Names as the command line spells them.
const NAMES: &[(&str, MemoryModel)] = &[("plain", MemoryModel::Plain), ("paper", MemoryModel::Paper)];

/// A name that is no memory model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown memory model `{0}`; choose one of: plain, paper")]
pub struct UnknownMemoryModel(String);

impl FromStr for MemoryModel {
    type Err = UnknownMemoryModel;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        NAMES
            .iter()
            .find(|(known, _)| *known == name)
            .map(|&(_, model)| model)
            .ok_or_else(|| UnknownMemoryModel(name.to_owned()))
    }
}

impl fmt::Display for MemoryModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(NAMES.iter().find(|(_, model)| model == self).map_or("", |(name, _)| name))
    }
}

impl MemoryModel {
    /// All models, by name.
    pub fn all() -> impl Iterator<Item = (&'static str, Self)> {
        NAMES.iter().copied()
    }

    /// The buffers of `graph` under this model.
    pub fn lifetimes(self, graph: &Graph) -> Lifetimes {
        let storage = match self {
            Self::Plain => Storage::one_buffer_a_tensor(graph),
            Self::Paper => Storage::with_views(graph),
        };
        storage.into_lifetimes(graph)
    }
}

/// Where the bytes of each tensor lie.
struct Storage {
    /// Size of each buffer.
    bytes: Vec<u64>,
    /// For each tensor, the buffers that hold it: its own, or for a view those of its pieces.
    of: Vec<Vec<BufferId>>,
}

impl Storage {
    fn one_buffer_a_tensor(graph: &Graph) -> Self {
        Self {
            bytes: graph.tensors().iter().map(|t| t.bytes).collect(),
            of: graph.tensor_ids().map(|t| vec![BufferId(t.0)]).collect(),
        }
    }

    fn with_views(graph: &Graph) -> Self {
        let mut storage = Self::one_buffer_a_tensor(graph);
        // In an order that can run, the pieces of a view have their places before the view gets its own.
        for op in graph.file_order() {
            match graph.op(op).kind.role() {
                Role::Concat => storage.make_view(graph, op),
                Role::Accumulate => storage.accumulate(graph, op),
                Role::Compute => {}
            }
        }
        storage
    }

    /// The output of a concatenation lies where its pieces lie.
    fn make_view(&mut self, graph: &Graph, op: OpId) {
        let op = graph.op(op);
        let [view] = op.outputs[..] else { return };
        if op.inputs.is_empty() {
            return;
        }
        let mut pieces: Vec<BufferId> =
            op.inputs.iter().flat_map(|t| self.of[t.index()].iter().copied()).collect();
        pieces.sort_unstable();
        pieces.dedup();
        self.of[view.index()] = pieces;
    }

    /// Partial results share the buffer of their sum, if nobody else wants to see them.
    fn accumulate(&mut self, graph: &Graph, op: OpId) {
        let (id, op) = (op, graph.op(op));
        let [sum] = op.outputs[..] else { return };
        let private = |&t: &TensorId| {
            graph.producer(t).is_some_and(|p| graph.op(p).kind.role() == Role::Compute)
                && graph.consumers(t) == [id]
                && !graph.is_output(t)
        };
        if !op.inputs.iter().all(private) {
            return;
        }
        for partial in &op.inputs {
            let bytes = self.bytes[partial.index()];
            self.bytes[sum.index()] = self.bytes[sum.index()].max(bytes);
            self.of[partial.index()] = vec![BufferId(sum.0)];
        }
    }

    fn into_lifetimes(self, graph: &Graph) -> Lifetimes {
        let mut buffers: Vec<Buffer> = self
            .bytes
            .iter()
            .map(|&bytes| Buffer {
                bytes,
                tensors: Vec::new(),
                writers: Vec::new(),
                readers: Vec::new(),
                from_start: false,
                to_end: false,
            })
            .collect();
        for t in graph.tensor_ids() {
            // A view has several pieces or a piece of another name; it writes nothing itself.
            let is_view = graph.producer(t).is_some_and(|p| graph.op(p).kind.role() == Role::Concat)
                && self.of[t.index()][..] != [BufferId(t.0)];
            for &b in &self.of[t.index()] {
                let buffer = &mut buffers[b.index()];
                if b.0 == t.0 {
                    buffer.tensors.insert(0, t);
                } else {
                    buffer.tensors.push(t);
                }
                buffer.from_start |= graph.is_input(t);
                buffer.to_end |= graph.is_output(t);
                if !is_view {
                    buffer.writers.extend(graph.producer(t));
                }
                buffer.readers.extend(graph.consumers(t));
                // Whoever writes a tensor, or makes a view of it, holds it while running, also if nobody reads the result.
                buffer.readers.extend(graph.producer(t));
            }
        }
        for buffer in &mut buffers {
            finish(buffer);
        }
        buffers.retain(|b| {
            b.bytes > 0 && (!b.readers.is_empty() || b.to_end) && (b.from_start || !b.writers.is_empty())
        });
        Lifetimes { ops: graph.ops().len(), buffers }
    }
}

fn finish(buffer: &mut Buffer) {
    for ops in [&mut buffer.writers, &mut buffer.readers] {
        ops.sort_unstable();
        ops.dedup();
    }
    if buffer.from_start {
        buffer.writers.clear();
    }
    if buffer.readers.iter().any(|op| buffer.writers.binary_search(op).is_err()) {
        // Whoever only reads runs after all who write, so writers hold a buffer only where nobody reads.
        let writers = &buffer.writers;
        buffer.readers.retain(|op| writers.binary_search(op).is_err());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{GraphBuilder, Tensor};

    /// x -> (a, b) -> concat -> y, sizes 1, 10, 20, 30, 5.
    fn fork_join(join: &str) -> Graph {
        let mut g = GraphBuilder::new("");
        let x = g.input(Tensor::sized("x", 1));
        let a = g.op("a", "CONV_2D", &[x], Tensor::sized("a", 10));
        let b = g.op("b", "CONV_2D", &[x], Tensor::sized("b", 20));
        let c = g.op("c", join, &[a, b], Tensor::sized("c", 30));
        let y = g.op("y", "CONV_2D", &[c], Tensor::sized("y", 5));
        g.output(y);
        g.build().unwrap()
    }

    fn peak(model: MemoryModel, graph: &Graph) -> u64 {
        model.lifetimes(graph).profile(&graph.file_order()).peak()
    }

    #[test]
    fn plain_copies_a_concatenation() {
        assert_eq!(peak(MemoryModel::Plain, &fork_join("Concat")), 60);
    }

    #[test]
    fn paper_views_a_concatenation() {
        let graph = fork_join("CONCATENATION");
        let lifetimes = MemoryModel::Paper.lifetimes(&graph);
        assert_eq!(lifetimes.profile(&graph.file_order()).peak(), 35);
        let a = &lifetimes.buffers()[1];
        assert_eq!((a.writers.as_slice(), a.readers.as_slice()), (&[OpId(0)][..], &[OpId(2), OpId(3)][..]));
        assert_eq!(a.tensors, [TensorId(1), TensorId(3)]);
    }

    #[test]
    fn a_view_nobody_reads_and_a_view_that_is_a_result() {
        let build = |is_output: bool| {
            let mut g = GraphBuilder::new("");
            let a = g.op("a", "X", &[], Tensor::sized("a", 10));
            let v = g.op("v", "CONCAT", &[a, a], Tensor::sized("v", 20));
            g.op("late", "X", &[], Tensor::sized("late", 1));
            if is_output {
                g.output(v);
            }
            g.build().unwrap()
        };
        let after = |graph: &Graph| {
            let profile = MemoryModel::Paper.lifetimes(graph).profile(&graph.file_order());
            profile.steps.iter().map(|s| s.after).collect::<Vec<_>>()
        };
        assert_eq!(after(&build(false)), [10, 0, 0]);
        assert_eq!(after(&build(true)), [10, 10, 10]);
    }

    #[test]
    fn paper_accumulates_in_place() {
        let graph = fork_join("ACCUMULATE");
        let lifetimes = MemoryModel::Paper.lifetimes(&graph);
        let sum = lifetimes.buffers().iter().find(|b| b.bytes == 30).unwrap();
        assert_eq!((sum.writers.len(), sum.readers.as_slice()), (3, &[OpId(3)][..]));
        // x and the sum; then the sum and y.
        assert_eq!(lifetimes.profile(&graph.file_order()).peak(), 35);
        assert_eq!(peak(MemoryModel::Plain, &graph), 60);
    }

    #[test]
    fn a_partial_result_that_others_read_is_not_accumulated_in_place() {
        let mut g = GraphBuilder::new("");
        let a = g.op("a", "X", &[], Tensor::sized("a", 10));
        let b = g.op("b", "X", &[], Tensor::sized("b", 10));
        let s = g.op("s", "ACCUMULATE", &[a, b], Tensor::sized("s", 10));
        g.output(s);
        g.output(a);
        assert_eq!(peak(MemoryModel::Paper, &g.build().unwrap()), 30);
    }

    #[test]
    fn inputs_nobody_reads_cost_nothing_and_inputs_that_are_outputs_stay() {
        let mut g = GraphBuilder::new("");
        g.input(Tensor::sized("unread", 1000));
        let kept = g.input(Tensor::sized("kept", 100));
        g.output(kept);
        g.op("f", "X", &[], Tensor::sized("dead", 10));
        let graph = g.build().unwrap();
        let profile = MemoryModel::Plain.lifetimes(&graph).profile(&graph.file_order());
        assert_eq!((profile.at_start, profile.peak(), profile.steps[0].after), (100, 110, 100));
    }
}
