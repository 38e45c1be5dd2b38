//! The names of the runtimes: who asks one of them something asks it here.

use crate::litert::Litert;
use crate::ort::Ort;
use crate::paper::{Paper, accumulate};
use crate::plain::Plain;
use crate::tflm::Tflm;
use crate::{Arena, ArenaProblem, AtBest, Kernels, Offsets, OrtOrder, OrtSetup, Runtime};
use serenity_ir::{Graph, Lifetimes, OpId, Role};

/// How a runtime spends memory. The choice changes what an order costs, never which orders are possible.
///
/// Matched without a wildcard wherever it decides something: a new model does not compile before every place has decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MemoryModel {
    /// Every tensor has its own buffer, from its producer to its last reader; inputs are there from the start until their last
    /// reader, outputs stay to the end.
    #[default]
    Plain,
    /// The semantics under which the figures of the paper come out: as [`Plain`](Self::Plain), but a concatenation is a view
    /// (its pieces stay where they are until the last reader of the view, the result costs nothing), and the partial results that an
    /// `ACCUMULATE` adds up are written into one buffer, which the first of them brings to life.
    Paper,
    /// TensorFlow Lite for Microcontrollers: as [`Plain`](Self::Plain), but sizes are rounded up to 16 bytes, an int4 tensor takes a byte an
    /// element, and what the kernels ask for as scratch is in use while they run. Nothing is done in place unless a plan in the
    /// model says so.
    Tflm(Kernels),
    /// The same with a plan of the arena in the model, as Serenity writes it: an op may write its output over an input that nobody else
    /// reads, as closely as these kernels allow.
    TflmPlanned(Kernels),
    /// LiteRT (TensorFlow Lite) with its reference kernels and no delegate: graph inputs and what nobody reads stay for the whole run, some
    /// operators write over an input that nobody else reads, reshaping ones share their input's memory, some results lie outside the
    /// arena, and what the kernels have in it besides their tensors is in use while they run ([`LitertKernels`](crate::LitertKernels)).
    Litert,
    /// ONNX Runtime on the CPU: graph inputs are the caller's, outputs have memory of their own, some operators write over an input that
    /// nobody else reads, reshaping ones share their input's memory.
    Ort(OrtSetup),
}

serenity_search::named! {
    "memory model": MemoryModel {
        "plain" => Plain,
        "paper" => Paper,
        "tflm" => Tflm(Kernels::Any),
        "tflm-planned" => TflmPlanned(Kernels::Any),
        "litert" => Litert,
        "ort" => Ort(OrtSetup::PLAIN),
    }
}

impl MemoryModel {
    /// The kernels that matter, if it is one of TFLM's.
    pub fn kernels(self) -> Option<Kernels> {
        match self {
            Self::Tflm(kernels) | Self::TflmPlanned(kernels) => Some(kernels),
            Self::Plain | Self::Paper | Self::Litert | Self::Ort(_) => None,
        }
    }

    /// The same model for other kernels, if they matter.
    #[must_use]
    pub fn with_kernels(self, kernels: Kernels) -> Self {
        match self {
            Self::Tflm(_) => Self::Tflm(kernels),
            Self::TflmPlanned(_) => Self::TflmPlanned(kernels),
            Self::Plain | Self::Paper | Self::Litert | Self::Ort(_) => self,
        }
    }

    /// How the session of ONNX Runtime is set up, if this is its model.
    pub fn ort(self) -> Option<OrtSetup> {
        match self {
            Self::Ort(setup) => Some(setup),
            Self::Plain | Self::Paper | Self::Tflm(_) | Self::TflmPlanned(_) | Self::Litert => None,
        }
    }

    /// In which order ONNX Runtime runs a file, if this is its model.
    pub fn ort_order(self) -> Option<OrtOrder> {
        self.ort().map(|setup| setup.order)
    }

    /// The same model for another session of ONNX Runtime, if it is its model.
    #[must_use]
    pub fn with_ort(self, setup: OrtSetup) -> Self {
        match self {
            Self::Ort(_) => Self::Ort(setup),
            Self::Plain | Self::Paper | Self::Tflm(_) | Self::TflmPlanned(_) | Self::Litert => self,
        }
    }

    /// Does it stand for a runtime, which computes also what depends on constants only?
    pub fn is_runtime(self) -> bool {
        match self {
            Self::Plain | Self::Paper => false,
            Self::Tflm(_) | Self::TflmPlanned(_) | Self::Litert | Self::Ort(_) => true,
        }
    }

    /// The same for a model that carries a plan of its arena, if it can.
    #[must_use]
    pub fn with_plan(self) -> Self {
        match self {
            Self::Tflm(kernels) => Self::TflmPlanned(kernels),
            Self::Plain | Self::Paper | Self::TflmPlanned(_) | Self::Litert | Self::Ort(_) => self,
        }
    }

    /// The same for a model that carries none.
    #[must_use]
    pub fn without_plan(self) -> Self {
        match self {
            Self::TflmPlanned(kernels) => Self::Tflm(kernels),
            Self::Plain | Self::Paper | Self::Tflm(_) | Self::Litert | Self::Ort(_) => self,
        }
    }

    /// Is the model taken to carry a plan of its arena?
    pub fn is_planned(self) -> bool {
        match self {
            Self::TflmPlanned(_) => true,
            Self::Plain | Self::Paper | Self::Tflm(_) | Self::Litert | Self::Ort(_) => false,
        }
    }

    /// The runtime behind the name.
    pub fn runtime(self) -> Box<dyn Runtime> {
        match self {
            Self::Plain => Box::new(Plain),
            Self::Paper => Box::new(Paper),
            Self::Tflm(kernels) => Box::new(Tflm { kernels, is_planned: false }),
            Self::TflmPlanned(kernels) => Box::new(Tflm { kernels, is_planned: true }),
            Self::Litert => Box::new(Litert),
            Self::Ort(setup) => Box::new(Ort { setup }),
        }
    }

    /// Can the buffers of `graph` be told under this model in memory that is in proportion to it? Where concatenations are views of views, each reader wants every piece.
    pub fn can_follow(self, graph: &Graph) -> bool {
        match self {
            Self::Paper => Paper::can_follow(graph),
            Self::Plain | Self::Tflm(_) | Self::TflmPlanned(_) | Self::Litert | Self::Ort(_) => true,
        }
    }

    /// The buffers of `graph` under this model, if it [can follow](Self::can_follow) it.
    pub fn lifetimes(self, graph: &Graph) -> Lifetimes {
        self.runtime().storage(graph).into_lifetimes(graph)
    }

    /// The same, where what an `ACCUMULATE` adds up is written into one buffer: what a runtime that works in place would need if partial
    /// results could be added in any order. No runtime has such an operator; this is for finding out in which order to add.
    pub fn accumulating_lifetimes(self, graph: &Graph) -> Lifetimes {
        let mut storage = self.runtime().storage(graph);
        for op in graph.file_order().into_iter().filter(|&op| graph.op(op).kind.role() == Role::Accumulate) {
            accumulate(&mut storage, graph, op);
        }
        storage.into_lifetimes(graph)
    }

    /// As [`Runtime::least_lifetimes`].
    pub fn least_lifetimes(self, graph: &Graph) -> Lifetimes {
        self.runtime().least_lifetimes(graph)
    }

    /// As [`Runtime::at_best`].
    pub fn at_best(self, graph: &Graph) -> Option<AtBest> {
        self.runtime().at_best(graph)
    }

    /// As [`Runtime::arena`].
    pub fn arena(self, graphs: &[&Graph], orders: &[&[OpId]], plan: Option<&Offsets>) -> Option<Arena> {
        self.runtime().arena(graphs, orders, plan)
    }

    /// As [`Runtime::placement_problem`].
    pub fn placement_problem(self, graphs: &[&Graph], orders: &[&[OpId]]) -> Option<ArenaProblem> {
        self.runtime().placement_problem(graphs, orders)
    }

    /// As [`Runtime::execution_order`].
    pub fn execution_order(self, graph: &Graph, file: &[OpId]) -> Vec<OpId> {
        self.runtime().execution_order(graph, file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serenity_ir::{GraphBuilder, Tensor, TensorId};

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

    #[test]
    fn who_is_alive_adds_up_to_the_profile_at_every_step() {
        let mut g = GraphBuilder::new("");
        let x = g.input(Tensor::sized("x", 7));
        let a = g.op("a", "X", &[x], Tensor::sized("a", 11));
        let b = g.op("b", "X", &[x, a], Tensor::sized("b", 13));
        g.op("dead", "X", &[], Tensor::sized("dead", 17));
        let c = g.op("c", "CONCAT", &[a, b], Tensor::sized("c", 24));
        g.output(c);
        let graph = g.build().unwrap();
        for (_, model) in MemoryModel::all() {
            let lifetimes = model.lifetimes(&graph);
            for order in [graph.file_order(), vec![OpId(2), OpId(0), OpId(1), OpId(3)]] {
                let profile = lifetimes.profile(&order);
                for (position, step) in profile.steps.iter().enumerate() {
                    let alive = lifetimes.alive_during(&order, position);
                    assert_eq!(alive.iter().map(|&b| lifetimes.buffer(b).bytes).sum::<u64>(), step.during);
                }
            }
        }
    }
}
