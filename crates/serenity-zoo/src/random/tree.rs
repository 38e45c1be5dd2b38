//! In-trees: every result is read once.
//!
//! A least-peak order of a tree is known in polynomial time (Liu 1987), so trees check an exact search at sizes where
//! brute force cannot.

use super::{OPS, REFERENCE, SEED, Sketch};
use crate::ZooError;
use crate::catalog::Network;
use crate::options::Options;
use serenity_ir::{Graph, TensorId};

/// A random recursive tree.
pub(crate) const RANDOM_TREE: Network = Network {
    name: "random-tree",
    summary: "random in-tree: every result is read once, leaves need nothing",
    reference: REFERENCE,
    reconstruction: false,
    options: &[OPS, SEED],
    make,
};

fn make(options: &Options) -> Result<Graph, ZooError> {
    let mut sketch = Sketch::new(options);
    let ops = options.integer("ops") as usize;
    // From the root on, every op gives its result to a random one before it; built from the leaves, which have the
    // highest numbers.
    let reader: Vec<usize> = (0..ops).map(|op| sketch.rng.index(op)).collect();
    let mut reads: Vec<Vec<TensorId>> = vec![Vec::new(); ops];
    for op in (1..ops).rev() {
        let inputs = std::mem::take(&mut reads[op]);
        let output = sketch.op(&inputs);
        reads[reader[op]].push(output);
    }
    let root = sketch.op(&reads[0]);
    sketch.finish(&[root])
}
