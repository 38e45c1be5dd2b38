//! Layers of equal width.

use super::{OPS, REFERENCE, SEED, Sketch};
use crate::catalog::Network;
use crate::options::Options;
use crate::{NetworkOption, ZooError};
use serenity_ir::{Graph, TensorId};

/// Wide and regular: a scheduler has as many choices as there are orders of a layer.
pub(crate) const RANDOM_LAYERED: Network = Network {
    name: "random-layered",
    summary: "random graph in layers, each reading the layer before",
    reference: REFERENCE,
    reconstruction: false,
    options: &[OPS, NetworkOption::integer("width", "8", (1, 1000), "ops in a layer"), SEED],
    make,
};

fn make(options: &Options) -> Result<Graph, ZooError> {
    let mut sketch = Sketch::new(options);
    let (ops, width) = (options.integer("ops"), options.integer("width"));
    let bytes = sketch.size();
    let mut layer = vec![sketch.input(bytes)];
    let mut left = ops;
    while left > 0 {
        let size = left.min(width);
        left -= size;
        layer = add_layer(&mut sketch, &layer, size as usize);
    }
    sketch.finish(&layer)
}

/// Each op reads one to three results of the layer before, and every result is read.
fn add_layer(sketch: &mut Sketch, before: &[TensorId], size: usize) -> Vec<TensorId> {
    let mut reads: Vec<Vec<TensorId>> = (0..size).map(|_| sketch.some_of(before, 3)).collect();
    for &tensor in before {
        if !reads.iter().any(|reads| reads.contains(&tensor)) {
            let reader = sketch.rng.index(size);
            reads[reader].push(tensor);
        }
    }
    reads.iter().map(|reads| sketch.op(reads)).collect()
}
