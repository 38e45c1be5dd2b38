//! The interface of a runtime.

use crate::{Arena, ArenaProblem, Offsets, problem};
use serenity_ir::{Graph, Lifetimes, OpId, Storage, Unknown};

/// Lower bounds for all orders and all plans of the arena.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AtBest {
    /// The lifetimes of buffers.
    pub lifetimes: Lifetimes,
    /// The most bytes that each op can save while it runs.
    pub savings: Vec<(OpId, u64)>,
}

/// How a runtime uses memory. Only [`storage`](Self::storage) is required; the defaults are for a runtime without
/// peculiarities.
pub trait Runtime {
    /// The buffers of each tensor, and what is in use besides them.
    fn storage(&self, graph: &Graph) -> Storage;

    /// Lifetimes whose least peak is a lower bound for every order and every plan of the arena.
    fn least_lifetimes(&self, graph: &Graph) -> Lifetimes {
        self.storage(graph).into_lifetimes(graph)
    }

    /// Closer lifetimes for that lower bound, with what ops save while they run; `None` if nothing closer is known.
    fn at_best(&self, _graph: &Graph) -> Option<AtBest> {
        None
    }

    /// Pairs of ops that must keep their order, because the runtime would compute wrong results otherwise.
    fn hazards(&self, _graph: &Graph) -> Vec<(OpId, OpId)> {
        Vec::new()
    }

    /// What the runtime does not know about a graph before it runs, or what is not known about its kernels.
    fn unknown(&self, _graph: &Graph) -> Vec<Unknown> {
        Vec::new()
    }

    /// Does the order decide which tensors are written over which, so that an order may need less than the lifetimes
    /// say?
    fn shares_by_order(&self) -> bool {
        false
    }

    /// May an op write its result over an input?
    fn works_in_place(&self) -> bool {
        false
    }

    /// Does it have an op that adds partial results into one buffer, in the order in which they are computed?
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

    /// The arena if each graph runs in its order, with a memory plan or without; `None` if the runtime has no arena, or
    /// if sub-graphs call each other without end.
    fn arena(&self, _graphs: &[&Graph], _orders: &[&[OpId]], _plan: Option<&Offsets>) -> Option<Arena> {
        None
    }

    /// The buffers to place if each graph runs in its order. Steps are those of the runtime, or else the positions of
    /// the ops.
    fn placement_problem(&self, graphs: &[&Graph], orders: &[&[OpId]]) -> Option<ArenaProblem> {
        let graph = graphs.first()?;
        problem::by_lifetimes(&self.storage(graph).into_lifetimes(graph), orders.first()?)
    }

    /// The order in which it runs a graph whose ops are listed in its file in the order `file`.
    fn execution_order(&self, _graph: &Graph, file: &[OpId]) -> Vec<OpId> {
        file.to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Content;
    use serenity_ir::{TensorId, sketch};

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
        let graph = sketch("x:1; y:5000 = RELU x; -> y");
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
