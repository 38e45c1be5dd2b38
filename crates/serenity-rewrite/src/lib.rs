//! Networks that compute the same with less: identity rewrites.
//!
//! In comes a [`Graph`]; out come [`Patch`]es ([`find`]), each of which names the ops it removes and changes, the identity it rests on, and
//! whether that holds bit for bit. A [`Rule`] only looks and proposes. [`apply`] alone makes a new graph, so what a patch is worth in
//! memory can be judged before any file is touched.
//!
//! Promised: applying what [`find`] proposes gives a valid graph that computes the same; tensors keep their ids, and one that nothing
//! writes any more keeps its name and has no bytes; finding again in the result proposes nothing that was done already.
//!
//! ```
//! use serenity_ir::{GraphBuilder, Tensor};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut builder = GraphBuilder::new("tiny");
//! let x = builder.input(Tensor::sized("x", 100));
//! let y = builder.op("a", "RELU", &[x], Tensor::sized("y", 100));
//! builder.output(y);
//! let graph = builder.build()?;
//! let patches = serenity_rewrite::find(&graph);
//! assert!(patches.is_empty());
//! assert_eq!(serenity_rewrite::apply(&graph, &patches)?, graph);
//! # Ok(()) }
//! ```
//!
//! [`Graph`]: serenity_ir::Graph

mod pad_folding;
mod patch;
mod same_padding;

pub use pad_folding::PadFolding;
pub use patch::{Change, Patch, PatchError, apply};

use serenity_ir::{Graph, OpId};
use std::collections::BTreeSet;

/// Finds places where an identity holds. Never changes anything.
pub trait Rule: Sync {
    /// A name for messages and scripts.
    fn name(&self) -> &'static str;

    /// What could be done, each proposal by itself.
    fn find(&self, graph: &Graph) -> Vec<Patch>;
}

/// All rules. What an earlier one proposes takes precedence.
pub fn rules() -> &'static [&'static dyn Rule] {
    &[&PadFolding]
}

/// What all rules propose that can be done together: no op is touched by two patches.
pub fn find(graph: &Graph) -> Vec<Patch> {
    let mut touched: BTreeSet<OpId> = BTreeSet::new();
    let mut patches: Vec<Patch> = rules().iter().flat_map(|rule| rule.find(graph)).collect();
    patches.retain(|patch| {
        let ops = patch.ops();
        let is_free = ops.iter().all(|op| !touched.contains(op));
        if is_free {
            touched.extend(ops);
        }
        is_free
    });
    patches
}
