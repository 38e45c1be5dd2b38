//! `RandWire`: Xie, Kirillov, Girshick, He, "Exploring Randomly Wired Neural Networks for Image Recognition", ICCV
//! 2019.
//!
//! A network is a stem, a few stages, and a head (1x1 convolution to 1280 channels, classifier). A stage is a random
//! graph ([`wiring`]) whose nodes sum what they read, each input with a learned factor, and apply `ReLU`, a 3x3
//! separable convolution and a batch normalisation ([`node`]). Nodes without predecessors read the stage's input with
//! stride 2; the stage's output is the average of the nodes without successors. Every stage halves the size and
//! doubles the channels.
//!
//! `ImageNet` is the paper's small regime. For CIFAR, which that paper does not cover, the stem is one convolution of
//! stride 1 with C/2 filters, so that the stages are 16x16xC, 8x8x2C and, for CIFAR-100, 4x4x4C; C is chosen so that
//! multiply-accumulates and weights come close to the figures of the Serenity paper.

mod node;
mod wiring;

use crate::catalog::Network;
use crate::net::{Activation, Conv, Feature, InputWeight, Net, dtype_option};
use crate::options::{Options, Values};
use crate::rng::Rng;
use crate::{NetworkOption, ZooError};
use node::Granularity;
use serenity_ir::Graph;
use wiring::Wiring;

const SEED: NetworkOption = NetworkOption::integer("seed", "1", (0, u64::MAX), "seed of the random wiring");
const NODES: NetworkOption = NetworkOption::integer("nodes", "32", (1, 512), "nodes in each stage");
const K: NetworkOption =
    NetworkOption::integer("k", "4", (2, 510), "neighbours of a node in the ring of graph=ws; even");
const P: NetworkOption = NetworkOption::new(
    "p",
    "0.75",
    Values::Real { min: 0.0, max: 1.0 },
    "probability that an edge is rewired (graph=ws) or exists (graph=er)",
)
.or_with("graph", "er", "0.2");
const GRAPH: NetworkOption = NetworkOption::choice(
    "graph",
    "ws",
    &["ws", "er", "ba"],
    "random graph: Watts-Strogatz, Erdős-Rényi, Barabási-Albert",
);
const M: NetworkOption = NetworkOption::integer("m", "5", (1, 511), "edges of each new node of graph=ba");
const OPS: NetworkOption = NetworkOption::choice(
    "ops",
    "node",
    &["node", "split", "binary"],
    "a node is one op (node), a sum and two convolutions (split), or the same with additions of two (binary)",
);

/// What can be chosen of a network with so many stages, and what its channels and its resolution are if nothing is said.
const fn options(channels: &'static str, resolution: &'static str, stages: u64) -> [NetworkOption; 11] {
    [
        SEED,
        NODES,
        K,
        P,
        NetworkOption::integer("channels", channels, (2, 4096), "channels C of the first stage"),
        NetworkOption::integer("resolution", resolution, (8, 1024), "height and width of the image"),
        GRAPH,
        M,
        dtype_option("float32"),
        OPS,
        NetworkOption::integer("stage", "0", (0, stages), "one stage alone, from 1; 0 is the whole network"),
    ]
}

/// For CIFAR-10.
pub(crate) const RANDWIRE_CIFAR10: Network = Network {
    name: "randwire-cifar10",
    summary: "randomly wired network for CIFAR-10, two stages",
    reference: "Xie et al., ICCV 2019, arXiv:1904.01569; sizes fitted to Ahn et al., MLSys 2020",
    reconstruction: false,
    options: &options("78", "32", 2),
    make: |options| make(options, &Regime { stages: 2, classes: 10, stem: Stem::Cifar }),
};

pub(crate) const RANDWIRE_CIFAR100: Network = Network {
    name: "randwire-cifar100",
    summary: "randomly wired network for CIFAR-100, three stages",
    options: &options("80", "32", 3),
    make: |options| make(options, &Regime { stages: 3, classes: 100, stem: Stem::Cifar }),
    ..RANDWIRE_CIFAR10
};

/// For `ImageNet`.
pub(crate) const RANDWIRE_IMAGENET: Network = Network {
    name: "randwire-imagenet",
    summary: "randomly wired network for ImageNet, small regime",
    reference: "Xie et al., ICCV 2019, arXiv:1904.01569",
    options: &options("78", "224", 3),
    make: |options| make(options, &Regime { stages: 3, classes: 1000, stem: Stem::ImageNet }),
    ..RANDWIRE_CIFAR10
};

/// What differs between the data sets.
struct Regime {
    stages: u64,
    classes: u64,
    stem: Stem,
}

#[derive(Clone, Copy)]
enum Stem {
    /// C/2 channels at full size.
    Cifar,
    /// C/2 channels at half, then C at a quarter of the size.
    ImageNet,
}

fn make(options: &Options, regime: &Regime) -> Result<Graph, ZooError> {
    let mut net = Net::with_dtype_option(options);
    let output = match options.integer("stage") {
        0 => {
            let mut x = add_stem(&mut net, options, regime.stem);
            for stage in 1..=regime.stages {
                x = add_stage(&mut net, options, stage, x)?;
            }
            let x = net.relu("head/relu", x);
            let x = net.conv("head/conv", x, 1280, Conv::square(1).then(Activation::Relu));
            net.classifier(x, regime.classes)
        }
        alone => {
            let input = net.input("input", stage_input(options, regime.stem, alone));
            add_stage(&mut net, options, alone, input)?
        }
    };
    net.finish(output)
}

fn add_stem(net: &mut Net, options: &Options, stem: Stem) -> Feature {
    let (resolution, channels) = (options.integer("resolution"), options.integer("channels"));
    let image = net.input("input", [resolution, resolution, 3]);
    match stem {
        Stem::Cifar => net.conv("stem/conv", image, channels / 2, Conv::square(3)),
        Stem::ImageNet => {
            let halve = Conv::square(3).stride(2);
            let x = net.conv("stem/conv1", image, channels / 2, halve.then(Activation::Relu));
            net.conv("stem/conv2", x, channels, halve)
        }
    }
}

/// The shape of what a stage reads in the whole network.
fn stage_input(options: &Options, stem: Stem, stage: u64) -> [u64; 3] {
    let channels = options.integer("channels");
    let (halved_by_stem, stem_channels) = match stem {
        Stem::Cifar => (0, channels / 2),
        Stem::ImageNet => (2, channels),
    };
    let halvings = halved_by_stem + stage - 1;
    let size = (0..halvings).fold(options.integer("resolution"), |size, _| size.div_ceil(2));
    [size, size, if stage == 1 { stem_channels } else { channels << (stage - 2) }]
}

/// Stages count from 1; each has its own random stream, so that a stage alone is wired as in the whole network.
fn add_stage(net: &mut Net, options: &Options, stage: u64, input: Feature) -> Result<Feature, ZooError> {
    let channels = options.integer("channels") << (stage - 1);
    let granularity = Granularity::of(options);
    let wiring = Wiring::draw(options, &mut Rng::new(options.integer("seed"), stage))?;
    let mut made: Vec<Feature> = Vec::with_capacity(wiring.predecessors.len());
    for (index, predecessors) in wiring.predecessors.iter().enumerate() {
        let at = format!("stage{stage}/node{index}");
        let (reads, conv) = if predecessors.is_empty() {
            (vec![input], Conv::square(3).stride(2))
        } else {
            (predecessors.iter().map(|&node| made[node]).collect(), Conv::square(3))
        };
        made.push(node::add(net, &at, &reads, channels, conv, granularity));
    }
    let sinks: Vec<Feature> = wiring.sinks().into_iter().map(|node| made[node]).collect();
    let share = InputWeight::Fixed(1.0 / sinks.len() as f64);
    Ok(node::sum(net, &format!("stage{stage}/average"), &sinks, share, Activation::None, granularity))
}

#[cfg(test)]
mod tests {
    use crate::{build, macs, weights};

    /// Median over a few seeds of (multiply-accumulates, weights): the number of nodes that read the stage's input,
    /// which has fewer channels, differs from seed to seed.
    fn median_size(network: &str) -> (f64, f64) {
        let graphs: Vec<_> = (1..=31).map(|seed| build(&format!("{network}?seed={seed}")).unwrap()).collect();
        let median = |mut values: Vec<u64>| {
            values.sort_unstable();
            values[values.len() / 2] as f64 / 1e6
        };
        (median(graphs.iter().map(macs).collect()), median(graphs.iter().map(weights).collect()))
    }

    fn assert_close(measured: f64, published: f64, tolerance: f64) {
        assert!((measured / published - 1.0).abs() < tolerance, "{measured} is not {published}");
    }

    #[test]
    fn sizes_are_those_of_the_literature() {
        for (network, published_macs, published_weights) in [
            ("randwire-cifar10", 112.1, 1.17),
            ("randwire-cifar100", 159.5, 4.61),
            ("randwire-imagenet", 583.0, 5.6),
        ] {
            let (macs, weights) = median_size(network);
            assert_close(macs, published_macs, 0.03);
            assert_close(weights, published_weights, 0.03);
        }
    }

    #[test]
    fn a_stage_alone_is_wired_as_in_the_whole() {
        let shapes = |spec: &str, prefix: &str| -> Vec<_> {
            let graph = build(spec).unwrap();
            let ops = graph.ops().iter().filter(|op| op.name.starts_with(prefix));
            ops.map(|op| {
                let inputs: Vec<_> = op.inputs.iter().map(|&t| graph.tensor(t).shape.clone()).collect();
                (op.name.clone(), op.attributes.clone(), inputs)
            })
            .collect()
        };
        for stage in 1..=3 {
            let prefix = format!("stage{stage}/");
            let alone = shapes(&format!("randwire-cifar100?seed=5&stage={stage}"), &prefix);
            assert!(alone.len() > 30);
            assert_eq!(alone, shapes("randwire-cifar100?seed=5", &prefix));
        }
    }

    #[test]
    fn all_granularities_compute_the_same() {
        let size = |ops: &str| {
            let graph = build(&format!("randwire-cifar10?ops={ops}")).unwrap();
            (macs(&graph), weights(&graph))
        };
        assert_eq!(size("node"), size("split"));
        assert_eq!(size("node"), size("binary"));
        let binary = build("randwire-cifar10?ops=binary").unwrap();
        assert!(binary.ops().iter().all(|op| op.inputs.len() <= 2));
    }

    #[test]
    fn every_random_graph_works_at_its_limits() {
        for options in [
            "nodes=1&graph=er",
            "nodes=1&graph=er&ops=binary",
            "graph=er&p=0&ops=split",
            "graph=er&p=1&nodes=20&ops=binary",
            "graph=ba&m=31",
            "graph=ba&m=1",
            "k=30&p=1",
            "k=2&p=0&nodes=3",
            "resolution=8&channels=2&dtype=int8",
        ] {
            let graph = build(&format!("randwire-cifar100?{options}")).unwrap();
            assert!(!graph.ops().is_empty(), "{options}");
        }
        for options in ["k=3", "k=32", "nodes=4&k=4", "nodes=1", "graph=ba&m=32", "stage=4"] {
            assert!(build(&format!("randwire-cifar100?{options}")).is_err(), "{options}");
        }
    }
}
