//! `NASNet-A`: Zoph, Vasudevan, Shlens, Le, "Learning Transferable Architectures for Scalable Image Recognition",
//! CVPR 2018.
//!
//! Defaults are `NASNet-A` (6 @ 768) for CIFAR-10 and (4 @ 1056), the mobile network, for `ImageNet`. As in the
//! released code, a normal cell concatenates state 0 with its five nodes, a reduction cell its last four nodes. One
//! simplification: the first cell, which has no cell before the previous one, reads the stem twice through two 1x1
//! convolutions.

use super::operation::Operation::{AveragePool, MaxPool, Separable, Skip};
use super::stack::{self, Plan, stages, with_stem_cells};
use super::{CellTable, Genotype};
use crate::catalog::Network;
use crate::net::{Conv, Net, Window, dtype_option};
use crate::options::Options;
use crate::{NetworkOption, ZooError};
use serenity_ir::Graph;

/// Cells in a row between two reductions.
pub(super) const fn cells(default: &'static str) -> NetworkOption {
    NetworkOption::integer("cells", default, (1, 50), "normal cells in each of the three stages")
}

/// Width of the network.
pub(super) const fn filters(default: &'static str) -> NetworkOption {
    NetworkOption::integer("filters", default, (8, 1024), "filters of the cells of the first stage")
}

/// For CIFAR-10.
pub(crate) const NASNET_CIFAR: Network = Network {
    name: "nasnet-cifar",
    summary: "NASNet-A for CIFAR-10, 32x32",
    reference: "Zoph et al., CVPR 2018, arXiv:1707.07012",
    reconstruction: false,
    options: &[cells("6"), filters("32"), dtype_option("float32")],
    make: |options| cifar(options, &NASNET_A, stages),
};

/// For `ImageNet`.
pub(crate) const NASNET_IMAGENET: Network = Network {
    name: "nasnet-imagenet",
    summary: "NASNet-A for ImageNet (mobile), 224x224",
    options: &[cells("4"), filters("44"), dtype_option("float32")],
    make: |options| imagenet(options, &NASNET_A, stages),
    ..NASNET_CIFAR
};

const NASNET_A: Genotype = Genotype {
    normal: CellTable {
        nodes: &[
            [(Separable(5), 1), (Separable(3), 0)],
            [(Separable(5), 0), (Separable(3), 0)],
            [(AveragePool, 1), (Skip, 0)],
            [(AveragePool, 0), (AveragePool, 0)],
            [(Separable(3), 1), (Skip, 1)],
        ],
        concat: &[0, 2, 3, 4, 5, 6],
    },
    reduction: CellTable {
        nodes: &[
            [(Separable(5), 1), (Separable(7), 0)],
            [(MaxPool, 1), (Separable(7), 0)],
            [(AveragePool, 1), (Separable(5), 0)],
            [(Skip, 3), (AveragePool, 2)],
            [(Separable(3), 2), (MaxPool, 1)],
        ],
        concat: &[3, 4, 5, 6],
    },
};

/// A genotype on the CIFAR stem of `NASNet`.
pub(super) fn cifar(
    options: &Options,
    genotype: &Genotype,
    plan: fn(&Options) -> Plan,
) -> Result<Graph, ZooError> {
    let mut net = Net::with_dtype_option(options);
    let states = stack::stem(&mut net, 32, 3 * options.integer("filters"), Conv::square(3));
    let x = stack::add(&mut net, genotype, states, &plan(options));
    let x = stack::head(&mut net, x, 10);
    net.finish(x)
}

/// A genotype on the `ImageNet` stem of `NASNet`, from 224 to 111.
pub(super) fn imagenet(
    options: &Options,
    genotype: &Genotype,
    plan: fn(&Options) -> Plan,
) -> Result<Graph, ZooError> {
    let mut net = Net::with_dtype_option(options);
    let halve = Conv::with(Window::square(3).stride(2).valid());
    let states = stack::stem(&mut net, 224, 32, halve);
    let plan = with_stem_cells(options.integer("filters"), plan(options));
    let x = stack::add(&mut net, genotype, states, &plan);
    let x = stack::head(&mut net, x, 1000);
    net.finish(x)
}
