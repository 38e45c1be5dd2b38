//! Short memory: an op reads what is recent.

use super::{OPS, REFERENCE, SEED, Sketch};
use crate::catalog::Network;
use crate::options::Options;
use crate::{NetworkOption, ZooError};
use serenity_ir::{Graph, TensorId};

/// Irregular, with a width that the window bounds.
pub(crate) const RANDOM_WINDOW: Network = Network {
    name: "random-window",
    summary: "random graph whose ops read one to three of the latest results",
    reference: REFERENCE,
    reconstruction: false,
    options: &[
        OPS,
        NetworkOption::integer("window", "8", (1, 1000), "how many of the latest results an op may read"),
        SEED,
    ],
    make,
};

fn make(options: &Options) -> Result<Graph, ZooError> {
    let mut sketch = Sketch::new(options);
    let window = options.integer("window") as usize;
    let bytes = sketch.size();
    let mut made: Vec<TensorId> = vec![sketch.input(bytes)];
    for _ in 0..options.integer("ops") {
        let recent = &made[made.len().saturating_sub(window)..];
        let mut reads = sketch.some_of(recent, 3);
        // The last op that can see a tensor reads it, if no other did.
        if recent.len() == window && !sketch.is_read(recent[0]) && !reads.contains(&recent[0]) {
            reads.push(recent[0]);
        }
        made.push(sketch.op(&reads));
    }
    let unread: Vec<TensorId> = made.into_iter().filter(|&tensor| !sketch.is_read(tensor)).collect();
    sketch.finish(&unread)
}
