//! `PNASNet-5`: Liu et al., "Progressive Neural Architecture Search", ECCV 2018.
//!
//! There is only one cell; with stride 2 it is the reduction cell. Instead of standing between the stages, a
//! reduction cell is the first cell of the second and of the third stage.

use super::nasnet::{IMAGENET_STEM, cells, filters};
use super::operation::Operation::{MaxPool, Separable, Skip};
use super::stack::{self, Kind, Plan, with_stem_cells};
use super::{CellTable, Genotype};
use crate::ZooError;
use crate::catalog::Network;
use crate::net::{Conv, Net, dtype_option};
use crate::options::Options;
use serenity_ir::Graph;

/// For CIFAR-10.
pub(crate) const PNASNET_CIFAR: Network = Network {
    name: "pnasnet-cifar",
    summary: "PNASNet-5 for CIFAR-10, 32x32",
    reference: "Liu et al., ECCV 2018, arXiv:1712.00559",
    reconstruction: false,
    options: &[cells("3"), filters("48"), dtype_option("float32")],
    make: cifar,
};

/// For `ImageNet`.
pub(crate) const PNASNET_IMAGENET: Network = Network {
    name: "pnasnet-imagenet",
    summary: "PNASNet-5 for ImageNet (mobile), 224x224",
    options: &[cells("3"), filters("54"), dtype_option("float32")],
    make: imagenet,
    ..PNASNET_CIFAR
};

const CELL: CellTable = CellTable {
    nodes: &[
        [(Separable(5), 0), (MaxPool, 0)],
        [(Separable(7), 1), (MaxPool, 1)],
        [(Separable(5), 1), (Separable(3), 1)],
        [(Separable(3), 4), (MaxPool, 1)],
        [(Separable(3), 0), (Skip, 1)],
    ],
    concat: &[2, 3, 4, 5, 6],
};

const PNASNET_5: Genotype = Genotype { normal: CELL, reduction: CELL };

fn plan(options: &Options) -> Plan {
    let mut plan = Plan::new();
    for stage in 0..3 {
        for cell in 0..options.integer("cells") {
            let kind = if stage > 0 && cell == 0 { Kind::Reduction } else { Kind::Normal };
            plan.push((kind, options.integer("filters") << stage));
        }
    }
    plan
}

fn cifar(options: &Options) -> Result<Graph, ZooError> {
    let mut net = Net::with_dtype_option(options);
    let states = stack::stem(&mut net, 32, 3 * options.integer("filters"), Conv::square(3));
    let x = stack::add(&mut net, &PNASNET_5, states, &plan(options));
    let x = stack::head(&mut net, x, 10);
    net.finish(x)
}

fn imagenet(options: &Options) -> Result<Graph, ZooError> {
    let mut net = Net::with_dtype_option(options);
    let states = stack::stem(&mut net, 224, 32, IMAGENET_STEM);
    let plan = with_stem_cells(options.integer("filters"), plan(options));
    let x = stack::add(&mut net, &PNASNET_5, states, &plan);
    let x = stack::head(&mut net, x, 1000);
    net.finish(x)
}
