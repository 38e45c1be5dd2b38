//! From the name of a runtime to its behaviour.

use crate::litert::Litert;
use crate::ort::Ort;
use crate::paper::{Paper, accumulate};
use crate::plain::Plain;
use crate::tflm::Tflm;
use crate::{Arena, ArenaProblem, AtBest, MemoryModel, Offsets, Runtime};
use serenity_ir::{Graph, Lifetimes, OpId, Role};

/// The behaviour of the runtime that a [`MemoryModel`] names.
///
/// The name itself is a fact that the checker knows too (`serenity-facts`); what follows from it is derived here, and a
/// second time by the checker. A name without a runtime does not compile.
pub trait MemoryModelExt: Sized {
    /// The runtime behind the name.
    fn runtime(self) -> Box<dyn Runtime>;

    /// Can the buffers of `graph` be listed under this model in memory proportional to it? Where concatenations are
    /// views of views, each reader needs every piece.
    fn can_follow(self, graph: &Graph) -> bool;

    /// The buffers of `graph` under this model, if it [can follow](Self::can_follow) it.
    fn lifetimes(self, graph: &Graph) -> Lifetimes {
        self.runtime().storage(graph).into_lifetimes(graph)
    }

    /// The buffers of `graph` if an `ACCUMULATE` adds into one buffer: what a runtime that works in place would need if
    /// partial results could be added in any order. No runtime has such an operator; this helps to find out in which
    /// order to add.
    fn accumulating_lifetimes(self, graph: &Graph) -> Lifetimes {
        let mut storage = self.runtime().storage(graph);
        for op in graph.file_order().into_iter().filter(|&op| graph.op(op).kind.role() == Role::Accumulate) {
            accumulate(&mut storage, graph, op);
        }
        storage.into_lifetimes(graph)
    }

    /// See [`Runtime::least_lifetimes`].
    fn least_lifetimes(self, graph: &Graph) -> Lifetimes {
        self.runtime().least_lifetimes(graph)
    }

    /// See [`Runtime::at_best`].
    fn at_best(self, graph: &Graph) -> Option<AtBest> {
        self.runtime().at_best(graph)
    }

    /// See [`Runtime::arena`].
    fn arena(self, graphs: &[&Graph], orders: &[&[OpId]], plan: Option<&Offsets>) -> Option<Arena> {
        self.runtime().arena(graphs, orders, plan)
    }

    /// See [`Runtime::placement_problem`].
    fn placement_problem(self, graphs: &[&Graph], orders: &[&[OpId]]) -> Option<ArenaProblem> {
        self.runtime().placement_problem(graphs, orders)
    }

    /// See [`Runtime::execution_order`].
    fn execution_order(self, graph: &Graph, file: &[OpId]) -> Vec<OpId> {
        self.runtime().execution_order(graph, file)
    }
}

impl MemoryModelExt for MemoryModel {
    fn runtime(self) -> Box<dyn Runtime> {
        match self {
            Self::Plain => Box::new(Plain),
            Self::Paper => Box::new(Paper),
            Self::Tflm(kernels) => Box::new(Tflm { kernels, is_planned: false }),
            Self::TflmPlanned(kernels) => Box::new(Tflm { kernels, is_planned: true }),
            Self::Litert => Box::new(Litert),
            Self::Ort(setup) => Box::new(Ort { setup }),
        }
    }

    fn can_follow(self, graph: &Graph) -> bool {
        match self {
            Self::Paper => Paper::can_follow(graph),
            Self::Plain | Self::Tflm(_) | Self::TflmPlanned(_) | Self::Litert | Self::Ort(_) => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serenity_ir::{TensorId, sketch};

    /// x -> (a, b) -> concat -> y, sizes 1, 10, 20, 30, 5.
    fn fork_join(join: &str) -> Graph {
        sketch(&format!("x:1; a:10 = CONV_2D x; b:20 = CONV_2D x; c:30 = {join} a b; y:5 = CONV_2D c; -> y"))
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
        let after = |outputs: &str| {
            let graph = sketch(&format!("a:10 = X; v:20 = CONCAT a a; late:1 = X; -> {outputs}"));
            let profile = MemoryModel::Paper.lifetimes(&graph).profile(&graph.file_order());
            profile.steps.iter().map(|s| s.after).collect::<Vec<_>>()
        };
        assert_eq!(after(""), [10, 0, 0]);
        assert_eq!(after("v"), [10, 10, 10]);
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
        let graph = sketch("a:10 = X; b:10 = X; s:10 = ACCUMULATE a b; -> s a");
        assert_eq!(peak(MemoryModel::Paper, &graph), 30);
    }

    #[test]
    fn inputs_nobody_reads_cost_nothing_and_inputs_that_are_outputs_stay() {
        let graph = sketch("unread:1000 kept:100; dead:10 = X; -> kept");
        let profile = MemoryModel::Plain.lifetimes(&graph).profile(&graph.file_order());
        assert_eq!((profile.at_start, profile.peak(), profile.steps[0].after), (100, 110, 100));
    }

    #[test]
    fn who_is_alive_adds_up_to_the_profile_at_every_step() {
        let graph = sketch("x:7; a:11 = X x; b:13 = X x a; dead:17 = X; c:24 = CONCAT a b; -> c");
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
