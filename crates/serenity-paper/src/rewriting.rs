//! The paper's graph rewriting (section 3.3, equations 3 to 8, figure 9), and what lies beyond it.

use crate::semantics::VIEWS;
use serenity::ir::{Graph, Role};
use serenity::pipeline::Error as PipelineError;
use serenity::pipeline::rewrite_settings;
use serenity::rewrite::{ChannelPartitioning, KernelPartitioning, Rule, SumReassociation, apply};
use serenity::{Error, Rewrites};

/// The graph after the paper's two rules, wherever they fit: a convolution over a concatenation becomes partial
/// convolutions that accumulate in place, a depthwise one becomes partial ones under a view. One rule after the other,
/// so that the view stays one for whoever reads it: as in the paper, nested concatenations are not flattened.
pub(crate) fn rewritten(graph: &Graph) -> Result<Graph, Error> {
    by(&by(graph, &ChannelPartitioning)?, &KernelPartitioning)
}

/// The graph with every sum of several terms added up in place, each term when it is there: what the paper does not do.
pub(crate) fn accumulating(graph: &Graph) -> Result<Graph, Error> {
    by(graph, &SumReassociation)
}

fn by(graph: &Graph, rule: &dyn Rule) -> Result<Graph, Error> {
    let settings = rewrite_settings(VIEWS, Rewrites::Paper);
    let patches = rule.find(graph, &settings);
    let refused = |source| PipelineError::Rewrite { name: graph.name().to_owned(), source };
    Ok(apply(graph, &patches, &settings).map_err(refused)?.graph)
}

/// Nodes as the paper counts them: that an accumulation ends is no node of its own.
pub(crate) fn nodes(graph: &Graph) -> usize {
    graph.ops().iter().filter(|op| op.kind.role() != Role::Accumulate).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::semantics::{Inputs, Run, build};

    #[test]
    fn swiftnet_has_the_papers_nodes_and_peaks() {
        // The first wiring of cell A needs less than the paper says.
        for (spec, count, live) in [
            ("swiftnet-a?wiring=fitted", 33, 188_160),
            ("swiftnet-a?wiring=mixed", 33, 188_160),
            ("swiftnet-a", 33, 163_072),
            ("swiftnet-b", 28, 62_720),
            ("swiftnet-c", 29, 18_032),
        ] {
            let graph = rewritten(&build(spec).unwrap()).unwrap();
            let run = Run::best(&graph, VIEWS).unwrap();
            assert_eq!((nodes(&graph), run.live_sum()), (count, live), "{spec}");
        }
    }

    #[test]
    fn darts_needs_five_units() {
        let graph = rewritten(&build("darts-cell").unwrap()).unwrap();
        let run = Run::best(&graph, VIEWS).unwrap();
        assert_eq!((run.live_sum(), run.old_arena(Inputs::Freed).unwrap()), (752_640, 752_640));
    }

    #[test]
    fn a_network_without_concatenations_stays_as_it_is() {
        let graph = build("randwire-cifar10?stage=1&ops=split").unwrap();
        assert_eq!(rewritten(&graph).unwrap(), graph);
        assert!(accumulating(&graph).unwrap().ops().len() > graph.ops().len());
    }
}
