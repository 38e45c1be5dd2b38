//! `PNASNet-5`: Liu et al., "Progressive Neural Architecture Search", ECCV 2018.
//!
//! There is only one cell; with stride 2 it is the reduction cell. Instead of standing between the stages, a
//! reduction cell is the first cell of the second and of the third stage.

use super::nasnet::{cells, cifar, filters, imagenet};
use super::operation::Operation::{MaxPool, Separable, Skip};
use super::stack::{Kind, Plan};
use super::{CellTable, Genotype};
use crate::catalog::Network;
use crate::net::dtype_option;
use crate::options::Options;

/// For CIFAR-10.
pub(crate) const PNASNET_CIFAR: Network = Network {
    name: "pnasnet-cifar",
    summary: "PNASNet-5 for CIFAR-10, 32x32",
    reference: "Liu et al., ECCV 2018, arXiv:1712.00559",
    reconstruction: false,
    options: &[cells("3"), filters("48"), dtype_option("float32")],
    make: |options| cifar(options, &PNASNET_5, plan),
};

/// For `ImageNet`.
pub(crate) const PNASNET_IMAGENET: Network = Network {
    name: "pnasnet-imagenet",
    summary: "PNASNet-5 for ImageNet (mobile), 224x224",
    options: &[cells("3"), filters("54"), dtype_option("float32")],
    make: |options| imagenet(options, &PNASNET_5, plan),
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
