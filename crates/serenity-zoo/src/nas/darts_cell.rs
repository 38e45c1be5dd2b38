//! The normal cell of `DARTS` as the paper measures it.
//!
//! The paper schedules one normal cell of the `ImageNet` network, 28x28 with 48 filters, so that every tensor but the
//! concatenation has 28 * 28 * 48 * 4 = 150,528 bytes, its unit u. Each `ReLU`-depthwise-pointwise group is one node,
//! a skip connection is none, and the 1x1 convolution of the next cell, which reads the concatenation, belongs to the
//! cell: 19 nodes. The paper's 6u only come out if the outputs of the two cells before are not counted, so those two
//! inputs have a shape but cost 0 bytes.

use super::cell;
use super::darts::{GENOTYPE, REFERENCE, genotype};
use super::operation::{Granularity, relu_conv};
use crate::catalog::Network;
use crate::net::Net;
use crate::options::Options;
use crate::{NetworkOption, ZooError};
use serenity_ir::{ElementType, Graph};

/// One normal cell.
pub(crate) const DARTS_CELL: Network = Network {
    name: "darts-cell",
    summary: "normal cell of DARTS for ImageNet as the paper measures it, 28x28x48",
    reference: REFERENCE,
    reconstruction: false,
    options: &[
        GENOTYPE,
        NetworkOption::choice(
            "ops",
            "node",
            &["node", "split"],
            "ReLU, depthwise and pointwise convolution as one op (node, as the paper counts) or apart (split)",
        ),
    ],
    make,
};

const SIZE: u64 = 28;
const FILTERS: u64 = 48;

fn make(options: &Options) -> Result<Graph, ZooError> {
    let granularity = match options.choice("ops") {
        "split" => Granularity::Split,
        _ => Granularity::Node,
    };
    let mut net = Net::new(options, ElementType::Float32);
    // Both inputs are concatenations of four states, as for all normal cells of the first stage but its first two.
    let shape = [SIZE, SIZE, 4 * FILTERS];
    let inputs = [net.uncounted_input("s0", shape), net.uncounted_input("s1", shape)];
    let states = [
        relu_conv(&mut net, "cell/pre0", inputs[0], FILTERS, granularity),
        relu_conv(&mut net, "cell/pre1", inputs[1], FILTERS, granularity),
    ];
    let joined = cell::nodes(&mut net, "cell", &genotype(options).normal, states, 1, granularity);
    let output = relu_conv(&mut net, "next/pre1", joined, FILTERS, granularity);
    net.finish(output)
}

#[cfg(test)]
mod tests {
    use crate::build;
    use crate::testing::{kahn_peak, optimal_peak};
    use serenity_runtimes::MemoryModel::{Paper, Plain};

    const UNIT: u64 = 150_528;

    #[test]
    fn nodes_and_peaks_are_those_of_the_paper() {
        let graph = build("darts-cell").unwrap();
        assert_eq!(graph.ops().len(), 19);
        assert_eq!(kahn_peak(&graph, Paper), 7 * UNIT);
        assert_eq!(optimal_peak(&graph, Paper), 6 * UNIT);
        assert_eq!(kahn_peak(&graph, Plain), 8 * UNIT);
        assert_eq!(optimal_peak(&graph, Plain), 8 * UNIT);
    }

    #[test]
    fn split_ops_compute_the_same() {
        for genotype in ["v1", "v2"] {
            let cost = |ops: &str| {
                let graph = build(&format!("darts-cell?genotype={genotype}&ops={ops}")).unwrap();
                (crate::macs(&graph), crate::weights(&graph))
            };
            assert_eq!(cost("node"), cost("split"));
        }
    }
}
