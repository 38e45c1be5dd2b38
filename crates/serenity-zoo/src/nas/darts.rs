//! `DARTS`: Liu, Simonyan, Yang, "`DARTS`: Differentiable Architecture Search", ICLR 2019.
//!
//! Two genotypes were published: `v2`, found by the second-order search and used for the results, and `v1` of the
//! first-order search. For CIFAR, 20 cells of 36 filters on a 3x3 convolution; for `ImageNet`, 14 cells of 48 filters
//! on three strided convolutions (530 M multiply-accumulates come out, where the paper says 574 M). Reduction cells
//! stand at one third and two thirds. The auxiliary heads, which only training uses, are left out.

use super::operation::Operation::{AveragePool, Dilated, MaxPool, Separable, Skip};
use super::stack::{self, Kind, Plan};
use super::{CellTable, Genotype};
use crate::catalog::Network;
use crate::net::{Activation, Conv, Net, dtype_option};
use crate::options::Options;
use crate::{NetworkOption, ZooError};
use serenity_ir::Graph;

pub(super) const REFERENCE: &str = "Liu, Simonyan, Yang, ICLR 2019, arXiv:1806.09055";

pub(super) const GENOTYPE: NetworkOption = NetworkOption::choice(
    "genotype",
    "v2",
    &["v2", "v1"],
    "cell found by the second-order (v2) or the first-order (v1) search",
);

const fn layers(default: &'static str) -> NetworkOption {
    NetworkOption::integer("layers", default, (1, 200), "number of cells")
}

const fn channels(default: &'static str) -> NetworkOption {
    NetworkOption::integer("channels", default, (2, 1024), "filters of the first cells")
}

/// For CIFAR-10.
pub(crate) const DARTS_CIFAR: Network = Network {
    name: "darts-cifar",
    summary: "DARTS for CIFAR-10, 32x32",
    reference: REFERENCE,
    reconstruction: false,
    options: &[GENOTYPE, layers("20"), channels("36"), dtype_option("float32")],
    make: cifar,
};

/// For `ImageNet`. It comes to 530 M multiply-accumulates; 574 M are published.
pub(crate) const DARTS_IMAGENET: Network = Network {
    name: "darts-imagenet",
    summary: "DARTS for ImageNet, 224x224",
    options: &[GENOTYPE, layers("14"), channels("48"), dtype_option("float32")],
    make: imagenet,
    ..DARTS_CIFAR
};

const V2: Genotype = Genotype {
    normal: CellTable {
        nodes: &[
            [(Separable(3), 0), (Separable(3), 1)],
            [(Separable(3), 0), (Separable(3), 1)],
            [(Separable(3), 1), (Skip, 0)],
            [(Skip, 0), (Dilated(3), 2)],
        ],
        concat: &[2, 3, 4, 5],
    },
    reduction: CellTable {
        nodes: &[
            [(MaxPool, 0), (MaxPool, 1)],
            [(Skip, 2), (MaxPool, 1)],
            [(MaxPool, 0), (Skip, 2)],
            [(Skip, 2), (MaxPool, 1)],
        ],
        concat: &[2, 3, 4, 5],
    },
};

const V1: Genotype = Genotype {
    normal: CellTable {
        nodes: &[
            [(Separable(3), 1), (Separable(3), 0)],
            [(Skip, 0), (Separable(3), 1)],
            [(Skip, 0), (Separable(3), 1)],
            [(Separable(3), 0), (Skip, 2)],
        ],
        concat: &[2, 3, 4, 5],
    },
    reduction: CellTable {
        nodes: &[
            [(MaxPool, 0), (MaxPool, 1)],
            [(Skip, 2), (MaxPool, 0)],
            [(MaxPool, 0), (Skip, 2)],
            [(Skip, 2), (AveragePool, 0)],
        ],
        concat: &[2, 3, 4, 5],
    },
};

pub(super) fn genotype(options: &Options) -> &'static Genotype {
    match options.choice("genotype") {
        "v1" => &V1,
        _ => &V2,
    }
}

fn plan(options: &Options) -> Plan {
    let layers = options.integer("layers");
    let mut filters = options.integer("channels");
    let mut plan = Plan::new();
    for layer in 0..layers {
        let is_reduction = layer == layers / 3 || layer == 2 * layers / 3;
        if is_reduction {
            filters *= 2;
        }
        plan.push((if is_reduction { Kind::Reduction } else { Kind::Normal }, filters));
    }
    plan
}

fn cifar(options: &Options) -> Result<Graph, ZooError> {
    let mut net = Net::with_dtype_option(options);
    let states = stack::stem(&mut net, 32, 3 * options.integer("channels"), Conv::square(3));
    let x = stack::add(&mut net, genotype(options), states, &plan(options));
    let x = net.classifier(x, 10);
    net.finish(x)
}

fn imagenet(options: &Options) -> Result<Graph, ZooError> {
    let mut net = Net::with_dtype_option(options);
    let channels = options.integer("channels");
    let halve = Conv::square(3).stride(2);
    let image = net.input("input", [224, 224, 3]);
    let x = net.conv("stem0/conv0", image, channels / 2, halve.then(Activation::Relu));
    let far = net.conv("stem0/conv1", x, channels, halve);
    let x = net.relu("stem1/relu", far);
    let near = net.conv("stem1/conv", x, channels, halve);
    let x = stack::add(&mut net, genotype(options), [far, near], &plan(options));
    let x = net.classifier(x, 1000);
    net.finish(x)
}
