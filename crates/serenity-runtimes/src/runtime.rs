//! What everybody else knows of a runtime.

use crate::{Arena, ArenaProblem, Offsets, problem};
use serenity_ir::{Graph, Lifetimes, OpId, Storage, Unknown};

/// What no order and no plan of the arena can beat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AtBest {
    /// Lifetimes of buffers.
    pub lifetimes: Lifetimes,
    /// Bytes that an op need not have while it runs, at most.
    pub savings: Vec<(OpId, u64)>,
}

/// How a runtime spends memory. Only where each tensor lies must be said; the rest is what a runtime without any peculiarities would do.
pub trait Runtime {
    /// Where the bytes of each tensor lie, and what is in use besides them.
    fn storage(&self, graph: &Graph) -> Storage;

    /// Lifetimes whose least peak is a lower bound for every order and every plan of the arena.
    fn least_lifetimes(&self, graph: &Graph) -> Lifetimes {
        self.storage(graph).into_lifetimes(graph)
    }

    /// Closer lifetimes for that lower bound, with what ops save while they run; `None` if nothing closer is known.
    fn at_best(&self, _graph: &Graph) -> Option<AtBest> {
        None
    }

    /// Pairs of ops that must keep their order, because the runtime would go wrong otherwise.
    fn hazards(&self, _graph: &Graph) -> Vec<(OpId, OpId)> {
        Vec::new()
    }

    /// What it does not know of a graph before it runs, or what nobody knows of its kernels.
    fn unknown(&self, _graph: &Graph) -> Vec<Unknown> {
        Vec::new()
    }

    /// Does the order decide who writes over what, so that an order may need less than the lifetimes say?
    fn shares_by_order(&self) -> bool {
        false
    }

    /// May an op write its result over an input?
    fn works_in_place(&self) -> bool {
        false
    }

    /// Has it an op that adds partial results up in one buffer, in whatever order they come to be?
    fn accumulates(&self) -> bool {
        false
    }

    /// Is its arena known without following it step by step, so that sets of rewrites can be compared by it?
    fn plans_at_once(&self) -> bool {
        false
    }

    /// Does it run sub-graphs in the arena of the graph that calls them?
    fn shares_arena_with_bodies(&self) -> bool {
        false
    }

    /// The arena that it uses if each graph runs in its order, with a plan or without; `None` if it has none, or if sub-graphs call each other
    /// without end.
    fn arena(&self, _graphs: &[&Graph], _orders: &[&[OpId]], _plan: Option<&Offsets>) -> Option<Arena> {
        None
    }

    /// What is to be placed if each graph runs in its order. Steps are those of the runtime; for none, the positions of the ops.
    fn placement_problem(&self, graphs: &[&Graph], orders: &[&[OpId]]) -> Option<ArenaProblem> {
        let graph = graphs.first()?;
        problem::by_lifetimes(&self.storage(graph).into_lifetimes(graph), orders.first()?)
    }

    /// The order in which it runs a graph whose ops stand in its file in the order `file`.
    fn execution_order(&self, _graph: &Graph, file: &[OpId]) -> Vec<OpId> {
        file.to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Content;
    use serenity_ir::{GraphBuilder, Tensor, TensorId};

    /// Rounds every tensor up to a page, and is a runtime like any other in all else.
    struct Pages;

    impl Runtime for Pages {
        fn storage(&self, graph: &Graph) -> Storage {
            let mut storage = Storage::one_buffer_a_tensor(graph);
            storage.bytes.iter_mut().for_each(|bytes| *bytes = bytes.next_multiple_of(4096));
            storage
        }
    }

    #[test]
    fn a_runtime_need_only_say_where_tensors_lie() {
        let mut g = GraphBuilder::new("");
        let x = g.input(Tensor::sized("x", 1));
        let y = g.op("y", "RELU", &[x], Tensor::sized("y", 5000));
        g.output(y);
        let graph = g.build().unwrap();
        let order = graph.file_order();
        assert_eq!(Pages.least_lifetimes(&graph).profile(&order).peak(), 3 * 4096);
        assert_eq!(Pages.execution_order(&graph, &order), order);
        assert_eq!(Pages.arena(&[&graph], &[&order], None), None);
        let problem = Pages.placement_problem(&[&graph], &[&order]).unwrap();
        assert_eq!(problem.contents[0], Content::Tensor { graph: 0, tensor: TensorId(0) });
        assert_eq!(problem.problem.buffers().iter().map(|buffer| buffer.size).sum::<u64>(), 3 * 4096);
        assert!(Pages.hazards(&graph).is_empty() && Pages.unknown(&graph).is_empty());
    }
}
