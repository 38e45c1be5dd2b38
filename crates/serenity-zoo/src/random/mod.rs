//! Random operator graphs, for property tests and benchmarks.
//!
//! Each family is a network of [`networks`](crate::networks). Sizes are in bytes, without shapes; ops compute nothing
//! in particular.
//!
//! ```
//! let graph = serenity_zoo::build("random-window?ops=100&window=10&seed=7").unwrap();
//! assert_eq!(graph.name(), "random-window?window=10&seed=7");
//! ```

pub(crate) mod dag;
pub(crate) mod layered;
pub(crate) mod series_parallel;
mod sketch;
pub(crate) mod stack;
pub(crate) mod tree;
pub(crate) mod window;

use crate::NetworkOption;
use sketch::Sketch;

/// The most ops a random graph may have.
const MOST_OPS: u64 = 100_000;
const REFERENCE: &str = "none: defined by this crate";
const SEED: NetworkOption = NetworkOption::integer("seed", "1", (0, u64::MAX), "seed of the random choices");
const OPS: NetworkOption = NetworkOption::integer("ops", "100", (1, MOST_OPS), "number of ops");

#[cfg(test)]
mod tests {
    use crate::build;
    use serenity_ir::{Graph, TensorId};

    fn unread(graph: &Graph) -> Vec<TensorId> {
        graph.tensor_ids().filter(|&t| graph.consumers(t).is_empty()).collect()
    }

    #[test]
    fn only_outputs_go_unread_and_the_number_of_ops_is_exact() {
        for seed in 0..50 {
            for ops in [3, 4, 5, 17, 100] {
                for spec in [
                    "random-layered?width=7",
                    "random-window?window=4",
                    "random-window?window=1",
                    "random-tree?",
                    "random-sp?branches=3",
                    "random-stack?cells=1",
                ] {
                    let separator = if spec.ends_with('?') { "" } else { "&" };
                    let graph = build(&format!("{spec}{separator}ops={ops}&seed={seed}")).unwrap();
                    assert_eq!(graph.ops().len(), ops as usize, "{}", graph.name());
                    assert_eq!(unread(&graph), graph.outputs(), "{}", graph.name());
                }
            }
        }
    }

    #[test]
    fn every_result_of_a_tree_is_read_once() {
        let graph = build("random-tree?ops=500&seed=3").unwrap();
        assert!(graph.tensor_ids().all(|t| graph.consumers(t).len() <= 1));
        assert_eq!(unread(&graph).len(), 1);
        assert!(graph.inputs().is_empty());
    }

    #[test]
    fn layers_are_as_wide_as_asked_for() {
        let graph = build("random-layered?ops=60&width=6").unwrap();
        let layer = |t: TensorId| graph.producer(t).map_or(0, |op| op.index() / 6 + 1);
        for op in graph.op_ids() {
            assert!(graph.op(op).inputs.iter().all(|&t| layer(t) == op.index() / 6));
        }
    }

    #[test]
    fn every_cell_of_a_stack_is_bridged() {
        let (cells, ops) = (8, 9);
        let graph = build(&format!("random-stack?cells={cells}&ops={ops}&seed=2")).unwrap();
        let cell = |op: serenity_ir::OpId| op.0 / ops;
        for at in 1..cells - 1 {
            let bridges = graph.op_ids().any(|op| {
                let sources = graph.predecessors(op);
                cell(op) == at + 1 && sources.iter().any(|&source| cell(source) == at - 1)
            });
            assert!(bridges, "cell {at}");
        }
    }

    #[test]
    fn the_largest_graphs_are_built() {
        for spec in [
            "random-dag?ops=100000",
            "random-layered?ops=100000&width=1000",
            "random-window?ops=100000&window=1000",
            "random-tree?ops=100000",
            "random-sp?ops=100000&branches=64",
            "random-stack?cells=10000&ops=10",
        ] {
            assert!(build(spec).unwrap().ops().len() > 10_000);
        }
    }
}
