//! Fork and join, nested and in series.
//!
//! What inception modules and residual blocks look like. The branches of a fork read the same tensor, which makes
//! this harder than trees: that tensor stays until the last branch has begun.

use super::{OPS, REFERENCE, SEED, Sketch};
use crate::catalog::Network;
use crate::options::Options;
use crate::{NetworkOption, ZooError};
use serenity_ir::{Graph, TensorId};

/// Random forks and joins.
pub(crate) const RANDOM_SP: Network = Network {
    name: "random-sp",
    summary: "random series-parallel graph: nested forks and joins",
    reference: REFERENCE,
    reconstruction: false,
    options: &[OPS, SEED, NetworkOption::integer("branches", "4", (2, 64), "most branches of a fork")],
    make,
};

/// Forks nested deeper than this become chains, which bounds the recursion.
const DEEPEST: u32 = 20;

fn make(options: &Options) -> Result<Graph, ZooError> {
    let mut sketch = Sketch::new(options);
    let bytes = sketch.size();
    let input = sketch.input(bytes);
    let output = add(&mut sketch, input, options.integer("ops"), options.integer("branches"), DEEPEST);
    sketch.finish(&[output])
}

/// Adds `ops` ops, at least one, between `x` and the result.
fn add(sketch: &mut Sketch, mut x: TensorId, mut ops: u64, branches: u64, depth: u32) -> TensorId {
    while ops > 0 {
        // A fork needs an op in each of two branches, and one to join them.
        if depth == 0 || ops < 3 || sketch.rng.one_in(3) {
            x = sketch.op(&[x]);
            ops -= 1;
            continue;
        }
        let inside = sketch.rng.between(2, (ops - 1).min(8 * branches));
        x = fork(sketch, x, inside, branches, depth - 1);
        ops -= inside + 1;
    }
    x
}

/// `ops` ops in parallel branches, and one more that joins them.
fn fork(sketch: &mut Sketch, x: TensorId, ops: u64, branches: u64, depth: u32) -> TensorId {
    let count = sketch.rng.between(2, branches.min(ops));
    let mut sizes = vec![1; count as usize];
    for _ in count..ops {
        let branch = sketch.rng.index(sizes.len());
        sizes[branch] += 1;
    }
    let ends: Vec<TensorId> = sizes.into_iter().map(|size| add(sketch, x, size, branches, depth)).collect();
    if sketch.rng.one_in(2) { sketch.concat(&ends) } else { sketch.op(&ends) }
}
