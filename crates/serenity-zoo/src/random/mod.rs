//! Random operator graphs, for property tests and benchmarks.
//!
//! Each family is also a network of [`networks`](crate::networks), and the functions here are those networks under
//! another name: same limits, same graphs, same seeds. Sizes are in bytes, without shapes; ops compute nothing in
//! particular.
//!
//! ```
//! let graph = serenity_zoo::random::window(100, 10, 7).unwrap();
//! assert_eq!(graph.name(), "random-window?window=10&seed=7");
//! ```

pub(crate) mod dag;
pub(crate) mod layered;
pub(crate) mod series_parallel;
mod sketch;
pub(crate) mod stack;
pub(crate) mod tree;
pub(crate) mod window;

use crate::{NetworkOption, ZooError, build};
use serenity_ir::Graph;
use sketch::Sketch;

/// A small graph of 2 to `ops` ops that goes where graphs seldom go: several outputs or none, ops without inputs,
/// unused results, duplicate inputs, zero sizes, ties, views and accumulations, inputs that are outputs.
///
/// # Errors
/// If `ops` is not within 2 to 100,000.
pub fn dag(ops: u32, seed: u64) -> Result<Graph, ZooError> {
    build(&format!("random-dag?ops={ops}&seed={seed}"))
}

/// Layers of `width` ops, each reading one to three results of the layer before.
///
/// # Errors
/// If `ops` is not within 1 to 100,000, or `width` not within 1 to 1000.
pub fn layered(ops: u32, width: u32, seed: u64) -> Result<Graph, ZooError> {
    build(&format!("random-layered?ops={ops}&width={width}&seed={seed}"))
}

/// A chain in which each op reads one to three of the last `window` results, and none goes unread.
///
/// # Errors
/// If `ops` is not within 1 to 100,000, or `window` not within 1 to 1000.
pub fn window(ops: u32, window: u32, seed: u64) -> Result<Graph, ZooError> {
    build(&format!("random-window?ops={ops}&window={window}&seed={seed}"))
}

/// A tree whose leaves need nothing and whose root is the output.
///
/// # Errors
/// If `ops` is not within 1 to 100,000.
pub fn tree(ops: u32, seed: u64) -> Result<Graph, ZooError> {
    build(&format!("random-tree?ops={ops}&seed={seed}"))
}

/// Forks of up to `branches` branches that join again, nested and in series; the branches of a fork read the same
/// tensor.
///
/// # Errors
/// If `ops` is not within 1 to 100,000, or `branches` not within 2 to 64.
pub fn series_parallel(ops: u32, branches: u32, seed: u64) -> Result<Graph, ZooError> {
    build(&format!("random-sp?ops={ops}&branches={branches}&seed={seed}"))
}

/// `cells` cells of `ops` ops that read the two cells before them, so that no single tensor cuts the graph in two.
///
/// # Errors
/// If `cells * ops` exceeds 100,000, or `ops` is not within 3 to 1000.
pub fn stack(cells: u32, ops: u32, seed: u64) -> Result<Graph, ZooError> {
    build(&format!("random-stack?cells={cells}&ops={ops}&seed={seed}"))
}

/// The most ops a random graph may have.
const MOST_OPS: u64 = 100_000;
const REFERENCE: &str = "none: defined by this crate";
const SEED: NetworkOption = NetworkOption::integer("seed", "1", (0, u64::MAX), "seed of the random choices");
const OPS: NetworkOption = NetworkOption::integer("ops", "100", (1, MOST_OPS), "number of ops");

#[cfg(test)]
mod tests {
    use super::*;
    use serenity_ir::TensorId;

    fn unread(graph: &Graph) -> Vec<TensorId> {
        graph.tensor_ids().filter(|&t| graph.consumers(t).is_empty()).collect()
    }

    #[test]
    fn only_outputs_go_unread_and_the_number_of_ops_is_exact() {
        for seed in 0..50 {
            for ops in [3, 4, 5, 17, 100] {
                for graph in [
                    layered(ops, 7, seed),
                    window(ops, 4, seed),
                    window(ops, 1, seed),
                    tree(ops, seed),
                    series_parallel(ops, 3, seed),
                    stack(1, ops, seed),
                ] {
                    let graph = graph.unwrap();
                    assert_eq!(graph.ops().len(), ops as usize, "{}", graph.name());
                    assert_eq!(unread(&graph), graph.outputs(), "{}", graph.name());
                }
            }
        }
    }

    #[test]
    fn every_result_of_a_tree_is_read_once() {
        let graph = tree(500, 3).unwrap();
        assert!(graph.tensor_ids().all(|t| graph.consumers(t).len() <= 1));
        assert_eq!(unread(&graph).len(), 1);
        assert!(graph.inputs().is_empty());
    }

    #[test]
    fn layers_are_as_wide_as_asked_for() {
        let graph = layered(60, 6, 1).unwrap();
        let layer = |t: TensorId| graph.producer(t).map_or(0, |op| op.index() / 6 + 1);
        for op in graph.op_ids() {
            assert!(graph.op(op).inputs.iter().all(|&t| layer(t) == op.index() / 6));
        }
    }

    #[test]
    fn every_cell_of_a_stack_is_bridged() {
        let (cells, ops) = (8, 9);
        let graph = stack(cells, ops, 2).unwrap();
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
        for graph in [
            dag(100_000, 1),
            layered(100_000, 1000, 1),
            window(100_000, 1000, 1),
            tree(100_000, 1),
            series_parallel(100_000, 64, 1),
            stack(10_000, 10, 1),
        ] {
            assert!(graph.unwrap().ops().len() > 10_000);
        }
    }
}
