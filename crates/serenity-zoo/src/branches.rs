//! The graph with which the paper bounds what its algorithms take: an entry, independent branches, an exit.

use crate::catalog::Network;
use crate::net::{Activation, Conv, Feature, InputWeight, Net};
use crate::options::Options;
use crate::{NetworkOption, ZooError};
use serenity_ir::{ElementType, Graph};

/// Entry `A`, branches of one op each, exit `Z`.
pub(crate) const BRANCHES: Network = Network {
    name: "branches",
    summary: "an entry, independent branches and an exit: the graph that the paper's appendix invents for the worst case",
    options: &[NetworkOption::integer("branches", "8", (1, 64), "ops between the entry and the exit")],
    reference: "Ahn et al., MLSys 2020, arXiv:2003.02369, appendix on complexity",
    reconstruction: false,
    make,
};

fn make(options: &Options) -> Result<Graph, ZooError> {
    let mut net = Net::new(options, ElementType::Int8);
    let conv = Conv::square(1).then(Activation::Relu);
    let input = net.input("input", [8, 8, 16]);
    let entry = net.conv("A", input, 16, conv);
    let count = options.integer("branches");
    let branches: Vec<Feature> = (1..=count).map(|i| net.conv(&format!("B{i}"), entry, 16, conv)).collect();
    let exit = match branches[..] {
        [only] => net.conv("Z", only, 16, conv),
        _ => {
            net.weighted_sum("Z", &branches, &vec![InputWeight::Fixed(1.0); branches.len()], Activation::None)
        }
    };
    net.finish(exit)
}

#[cfg(test)]
mod tests {
    use crate::build;
    use crate::testing::{kahn_peak, optimal_peak};
    use serenity_runtimes::MemoryModel::Plain;

    #[test]
    fn every_order_needs_the_same_since_all_branches_wait_for_the_exit() {
        for (branches, ops) in [(1, 3), (2, 4), (8, 10)] {
            let graph = build(&format!("branches?branches={branches}")).unwrap();
            assert_eq!(graph.ops().len(), ops);
            assert_eq!(optimal_peak(&graph, Plain), kahn_peak(&graph, Plain));
        }
    }
}
