//! The networks of the paper and its field, as generators.
//!
//! Takes a *spec*: the name of a network, with options where the defaults will not do, as in
//! `randwire-cifar10?seed=3&nodes=32`. Returns a [`Graph`] with real shapes, element types and attributes: everything
//! needed to give it weights and write it as a model file. [`networks`] lists all networks, random
//! families for tests and benchmarks included; [`macs`] and [`weights`] say how large a graph is.
//!
//! Guarantees: a spec gives a graph or a [`ZooError`] that names the remedy, never a panic or an absurd amount of
//! memory; equal specs give equal graphs on every platform; ops are listed in an order that can run; every op and every
//! tensor has a unique name; the graph is named after its spec.
//!
//! ```
//! # fn main() -> Result<(), serenity_zoo::ZooError> {
//! let graph = serenity_zoo::build("swiftnet")?;
//! assert_eq!(graph.ops().len(), 62);
//! assert_eq!(serenity_zoo::macs(&graph), 35_285_488);
//!
//! let error = serenity_zoo::build("swiftnett").unwrap_err();
//! assert!(error.to_string().contains("did you mean `swiftnet`?"));
//! # Ok(()) }
//! ```

mod branches;
mod catalog;
mod cost;
mod densenet;
mod error;
mod inception;
mod lower;
mod mobilenet;
mod nas;
mod net;
mod options;
mod random;
mod randwire;
mod rng;
mod swiftnet;
#[cfg(test)]
mod testing;

pub use catalog::{Network, networks};
pub use cost::{macs, weights};
pub use error::ZooError;
pub use lower::{Precision, build_model};
pub use options::{DefaultWith, NetworkOption, Values};

use options::Options;
use serenity_ir::Graph;

/// Builds the network that `spec` names: `NAME`, or `NAME?OPTION=VALUE&OPTION=VALUE`.
///
/// # Errors
/// If there is no such network or option, or a value is outside what the option allows.
pub fn build(spec: &str) -> Result<Graph, ZooError> {
    let (name, options) = match spec.split_once('?') {
        Some((name, options)) => (name, Some(options)),
        None => (spec, None),
    };
    let network = catalog::find(name)?;
    (network.make)(&Options::parse(network, options)?)
}
