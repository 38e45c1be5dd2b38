//! Random cells that read the two cells before them.
//!
//! As in searched networks, and on purpose: since every cell is bridged by the next, no op separates the graph, and
//! divide and conquer at such ops does not help.

use super::{MOST_OPS, REFERENCE, SEED, Sketch};
use crate::catalog::Network;
use crate::options::Options;
use crate::{NetworkOption, ZooError};
use serenity_ir::{Graph, TensorId};

/// A stack of random cells.
pub(crate) const RANDOM_STACK: Network = Network {
    name: "random-stack",
    summary: "random cells that read the two cells before them",
    reference: REFERENCE,
    reconstruction: false,
    options: &[
        NetworkOption::integer("cells", "10", (1, 10_000), "number of cells"),
        NetworkOption::integer("ops", "12", (3, 1000), "ops in a cell"),
        SEED,
    ],
    make,
};

fn make(options: &Options) -> Result<Graph, ZooError> {
    let (cells, ops) = (options.integer("cells"), options.integer("ops"));
    if cells * ops > MOST_OPS {
        return Err(options.refuse("cells", format!("at most {} with {ops} ops a cell", MOST_OPS / ops)));
    }
    let mut sketch = Sketch::new(options);
    let bytes = [sketch.size(), sketch.size()];
    let mut states = bytes.map(|bytes| sketch.input(bytes));
    for _ in 0..cells {
        let output = add_cell(&mut sketch, states, ops);
        states = [states[1], output];
    }
    sketch.finish(&[states[1]])
}

/// The first two ops read one of the cell's inputs each, the others one or two earlier states; the last one
/// concatenates what nobody reads.
fn add_cell(sketch: &mut Sketch, inputs: [TensorId; 2], ops: u64) -> TensorId {
    let mut states = inputs.to_vec();
    states.extend(inputs.map(|input| sketch.op(&[input])));
    for _ in 3..ops {
        let reads = sketch.some_of(&states, 2);
        states.push(sketch.op(&reads));
    }
    let unread: Vec<TensorId> =
        states[2..].iter().copied().filter(|&tensor| !sketch.is_read(tensor)).collect();
    sketch.concat(&unread)
}
