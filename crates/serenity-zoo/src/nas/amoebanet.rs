//! `AmoebaNet-A`: Real, Aggarwal, Huang, Le, "Regularized Evolution for Image Classifier Architecture Search", AAAI
//! 2019.
//!
//! The stack is that of `NASNet`; the cells are those of the paper's figure, in which only states that no node reads
//! are concatenated.

use super::nasnet::{cells, cifar, filters, imagenet};
use super::operation::Operation::{AveragePool, MaxPool, Separable, Skip, Split7x7};
use super::stack::stages;
use super::{CellTable, Genotype};
use crate::catalog::Network;
use crate::net::dtype_option;

/// For CIFAR-10.
pub(crate) const AMOEBANET_CIFAR: Network = Network {
    name: "amoebanet-cifar",
    summary: "AmoebaNet-A for CIFAR-10, 32x32",
    reference: "Real et al., AAAI 2019, arXiv:1802.01548",
    reconstruction: false,
    options: &[cells("6"), filters("36"), dtype_option("float32")],
    make: |options| cifar(options, &AMOEBANET_A, stages),
};

/// For `ImageNet`.
pub(crate) const AMOEBANET_IMAGENET: Network = Network {
    name: "amoebanet-imagenet",
    summary: "AmoebaNet-A for ImageNet (mobile), 224x224",
    options: &[cells("4"), filters("50"), dtype_option("float32")],
    make: |options| imagenet(options, &AMOEBANET_A, stages),
    ..AMOEBANET_CIFAR
};

const AMOEBANET_A: Genotype = Genotype {
    normal: CellTable {
        nodes: &[
            [(AveragePool, 0), (MaxPool, 1)],
            [(Separable(3), 0), (Separable(5), 2)],
            [(Separable(3), 0), (AveragePool, 3)],
            [(Separable(3), 1), (Skip, 1)],
            [(Skip, 0), (AveragePool, 1)],
        ],
        concat: &[4, 5, 6],
    },
    reduction: CellTable {
        nodes: &[
            [(AveragePool, 0), (Separable(3), 1)],
            [(MaxPool, 0), (Separable(7), 2)],
            [(Separable(7), 0), (AveragePool, 1)],
            [(MaxPool, 0), (MaxPool, 1)],
            [(Split7x7, 0), (Separable(3), 5)],
        ],
        concat: &[3, 4, 6],
    },
};
