//! The list of networks.

use crate::error::nearest;
use crate::options::Options;
use crate::{
    NetworkOption, ZooError, branches, densenet, inception, mobilenet, nas, random, randwire, swiftnet,
};
use serenity_ir::Graph;

/// A built-in network.
#[derive(Clone, Debug, serde::Serialize, schemars::JsonSchema)]
#[non_exhaustive]
pub struct Network {
    /// Its name in a spec.
    pub name: &'static str,
    /// What it is, in one line.
    pub summary: &'static str,
    /// Where it is described.
    pub reference: &'static str,
    /// The published description leaves out the wiring; this one was found by search so that the published figures
    /// come out.
    pub reconstruction: bool,
    /// What can be chosen.
    pub options: &'static [NetworkOption],
    #[serde(skip)]
    pub(crate) make: fn(&Options) -> Result<Graph, ZooError>,
}

static NETWORKS: [Network; 26] = [
    swiftnet::SWIFTNET,
    swiftnet::SWIFTNET_A,
    swiftnet::SWIFTNET_B,
    swiftnet::SWIFTNET_C,
    branches::BRANCHES,
    nas::darts_cell::DARTS_CELL,
    nas::darts::DARTS_CIFAR,
    nas::darts::DARTS_IMAGENET,
    nas::nasnet::NASNET_CIFAR,
    nas::nasnet::NASNET_IMAGENET,
    nas::amoebanet::AMOEBANET_CIFAR,
    nas::amoebanet::AMOEBANET_IMAGENET,
    nas::pnasnet::PNASNET_CIFAR,
    nas::pnasnet::PNASNET_IMAGENET,
    randwire::RANDWIRE_CIFAR10,
    randwire::RANDWIRE_CIFAR100,
    randwire::RANDWIRE_IMAGENET,
    densenet::DENSENET,
    inception::INCEPTION,
    mobilenet::MOBILENET,
    random::dag::RANDOM_DAG,
    random::layered::RANDOM_LAYERED,
    random::window::RANDOM_WINDOW,
    random::tree::RANDOM_TREE,
    random::series_parallel::RANDOM_SP,
    random::stack::RANDOM_STACK,
];

/// All networks, those of the paper first.
pub fn networks() -> &'static [Network] {
    &NETWORKS
}

pub(crate) fn find(name: &str) -> Result<&'static Network, ZooError> {
    NETWORKS.iter().find(|network| network.name == name).ok_or_else(|| ZooError::UnknownNetwork {
        name: name.to_owned(),
        nearest: nearest(name, NETWORKS.iter().map(|network| network.name)),
    })
}
