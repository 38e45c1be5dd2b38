//! Simulates ONNX Runtime: how it orders the nodes of a file, and the memory that this takes.
//!
//! Based on measurements of version 1.31.1 on the CPU with graph optimisation off, first run. Predicts when every node
//! runs and what it requests from the arena, to the byte; how the arena rounds that, except for chance in the choice of
//! regions; and what kernels request while they run, where that is known. Weights are not included.

mod chunks;
mod lists;
mod nodes;
mod requests;
mod sharing;
mod steer;
mod temporaries;
mod walk;

pub use sharing::overwrites;
pub use steer::numberings;

use crate::{Arena, Offsets, OrtOrder, OrtSetup, Runtime};
use nodes::{Facts, Nodes};
use serenity_ir::{Graph, Lifetimes, OpId, Storage};

/// The result of one run.
pub struct Run {
    /// The ops in the order in which they run. One that runs several times is listed where it first does.
    pub order: Vec<OpId>,
    /// The peak of requested bytes of activations.
    pub requested: u64,
    /// The peak of bytes in the chunks that the arena hands out for activations and temporary buffers of kernels.
    pub in_use: u64,
}

/// A session of ONNX Runtime with a loaded model.
pub struct Session<'a> {
    graph: &'a Graph,
    setup: OrtSetup,
    facts: Facts,
    /// The bytes that each op requests while it runs.
    temporaries: Vec<u64>,
}

impl<'a> Session<'a> {
    /// Loads a graph into a session with this setup.
    pub fn new(graph: &'a Graph, setup: OrtSetup) -> Self {
        let temporaries = graph.op_ids().map(|op| temporaries::temporary(graph, op)).collect();
        Self { graph, setup, facts: Facts::new(graph, setup), temporaries }
    }

    /// The loaded graph.
    pub fn graph(&self) -> &Graph {
        self.graph
    }

    /// Runs a file that lists its nodes in the order `file`.
    pub fn run(&self, file: &[OpId]) -> Run {
        let nodes = Nodes::of(&self.facts, file);
        let steps = match self.setup.order {
            OrtOrder::Priority => walk::priority(&nodes, &self.facts),
            OrtOrder::Default => walk::default(&nodes),
        };
        let taken =
            requests::follow(self.graph, &self.facts, &nodes, &steps, &self.temporaries, self.setup.reuse);
        let mut seen = vec![false; self.temporaries.len()];
        let ops = steps.iter().map(|&step| nodes.ops[step]);
        let order: Vec<OpId> = ops.filter(|op| !std::mem::replace(&mut seen[op.index()], true)).collect();
        // Ops with effects keep their order in our files, but ONNX Runtime may see no reason to; then nothing is
        // promised.
        let order = if self.graph.check_order(&order).is_ok() { order } else { file.to_vec() };
        Run { order, requested: taken.requested, in_use: taken.in_use }
    }
}

pub(crate) struct Ort {
    pub(crate) setup: OrtSetup,
}

impl Runtime for Ort {
    fn storage(&self, graph: &Graph) -> Storage {
        sharing::storage(graph, self.setup)
    }

    fn least_lifetimes(&self, graph: &Graph) -> Lifetimes {
        sharing::ort_least_lifetimes(graph, self.setup)
    }

    fn shares_by_order(&self) -> bool {
        true
    }

    fn works_in_place(&self) -> bool {
        true
    }

    /// Its arena grows during the run: the requested bytes count, and there are no offsets.
    fn arena(&self, graphs: &[&Graph], orders: &[&[OpId]], _plan: Option<&Offsets>) -> Option<Arena> {
        let bytes = Session::new(graphs.first()?, self.setup).run(orders.first()?).requested;
        Some(Arena { bytes, pieces: Vec::new() })
    }

    fn execution_order(&self, graph: &Graph, file: &[OpId]) -> Vec<OpId> {
        Session::new(graph, self.setup).run(file).order
    }
}

#[cfg(test)]
mod tests {
    use super::steer::numberings;
    use super::*;
    use serenity_ir::{ElementType, GraphBuilder, KnownDim, KnownShape, Tensor, sketch};

    pub(super) fn floats(name: &str, count: u64) -> Tensor {
        Tensor {
            shape: Some(vec![1, count]),
            dtype: Some(ElementType::Float32),
            ..Tensor::sized(name, 4 * count)
        }
    }

    fn run(graph: &Graph, file: &[OpId], walk: OrtOrder) -> Run {
        Session::new(graph, OrtSetup { order: walk, reuse: true }).run(file)
    }

    fn ids(order: &[OpId]) -> Vec<u32> {
        order.iter().map(|op| op.0).collect()
    }

    #[test]
    fn of_two_branches_the_default_walk_takes_the_later_one_first() {
        let graph = sketch(
            "x:float32[1,1]; a:float32[1,10] = Conv x; b:float32[1,20] = Conv x; \
             s:float32[1,30] = Concat a b; -> s",
        );
        let file = graph.file_order();
        assert_eq!(ids(&run(&graph, &file, OrtOrder::Default).order), [1, 0, 2]);
        assert_eq!(ids(&run(&graph, &file, OrtOrder::Priority).order), [0, 1, 2]);
        let steered = [1, 0, 2].map(OpId);
        assert_eq!(ids(&run(&graph, &steered, OrtOrder::Default).order), [0, 1, 2]);
    }

    #[test]
    fn shapes_run_as_soon_as_they_can() {
        let graph = sketch(
            "x:float32[1,1]; a:float32[1,10] = Conv x; b:float32[1,10] = Conv a; \
             n:float32[1,2] = Shape a; y:float32[1,10] = Expand b n; -> y",
        );
        let found = run(&graph, &graph.file_order(), OrtOrder::Priority);
        assert_eq!(ids(&found.order), [0, 2, 1, 3]);
    }

    /// What five layers in a row request, of which the first and the fourth may have one shape.
    fn requested(a: Tensor, d: Tensor) -> u64 {
        let mut g = GraphBuilder::new("");
        let x = g.input(floats("x", 1));
        let a = g.op("a", "Conv", &[x], a);
        let b = g.op("b", "Conv", &[a], floats("b", 30));
        let c = g.op("c", "Conv", &[b], floats("c", 40));
        let d = g.op("d", "Conv", &[c], d);
        let y = g.op("y", "Conv", &[d], floats("y", 1));
        g.output(y);
        let graph = g.build().unwrap();
        run(&graph, &graph.file_order(), OrtOrder::Priority).requested
    }

    /// Two tensors of one shape, one after the other, share a buffer, which is held between them.
    #[test]
    fn a_buffer_that_will_be_taken_again_is_held() {
        assert_eq!(requested(floats("a", 100), floats("d", 101)), 4 * (101 + 40));
        assert_eq!(requested(floats("a", 100), floats("d", 100)), 4 * (100 + 30 + 40));
    }

    #[test]
    fn a_buffer_is_taken_again_where_the_runtime_knows_that_it_fits() {
        let known = |first: KnownShape, last: KnownShape| {
            let [a, d] =
                [("a", first), ("d", last)].map(|(name, known)| Tensor { known, ..floats(name, 100) });
            requested(a, d)
        };
        let named = || KnownShape::Partly(vec![KnownDim::Named("n".into()), KnownDim::Size(100)]);
        let (taken, new) = (4 * (100 + 30 + 40), 4 * (100 + 40));
        assert_eq!(known(named(), named()), taken);
        assert_eq!(known(named(), KnownShape::Whole), new);
        assert_eq!(known(KnownShape::Nothing, KnownShape::Nothing), new);
    }

    /// The second reader of a `DequantizeLinear` gets one of its own, which runs when nothing else can.
    #[test]
    fn every_dequantize_has_one_reader() {
        let graph = sketch(
            "x:float32[1,1]; q:float32[1,10] = DequantizeLinear x; a:float32[1,1] = Conv q; \
             b:float32[1,1] = Conv q; c:float32[1,1] = Conv a; y:float32[1,2] = Concat c b; -> y",
        );
        let found = run(&graph, &graph.file_order(), OrtOrder::Priority);
        assert_eq!(ids(&found.order), [0, 1, 3, 2, 4]);
    }

    #[test]
    fn steered_numberings_can_run() {
        let graph = sketch(
            "x:float32[1,1]; a:float32[1,10] = Conv x; b:float32[1,20] = Conv x; \
             c:float32[1,5] = Conv a; s:float32[1,30] = Concat c b; -> s",
        );
        let wanted = [0, 2, 1, 3].map(OpId);
        let found = numberings(&graph, &wanted);
        assert!(found.iter().all(|order| graph.check_order(order).is_ok()));
        assert!(found.iter().any(|order| run(&graph, order, OrtOrder::Default).order == wanted));
    }
}
