//! Identity rewrites: networks that compute the same with less memory.
//!
//! [`find`] takes a [`Graph`] and returns [`Patch`]es, each of which names the ops that it changes, the identity that
//! it rests on, and whether that holds bit for bit. A [`Rule`] only proposes. Only [`apply`] makes a new graph, so the
//! effect of patches on memory can be judged before any file is changed; it names the origin of each new op, which a
//! writer of files needs. [`choose`] searches for the best set of patches.
//!
//! Guarantees: applying any of the patches that [`find`] proposes gives a valid graph that computes the same; tensors
//! keep their ids, new ones follow them, and a tensor that is no longer written keeps its name and has no bytes.
//!
//! ```
//! use serenity_ir::{GraphBuilder, Tensor};
//! use serenity_rewrite::{Settings, apply, find};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut builder = GraphBuilder::new("tiny");
//! let x = builder.input(Tensor::sized("x", 100));
//! let y = builder.op("a", "RELU", &[x], Tensor::sized("y", 100));
//! builder.output(y);
//! let graph = builder.build()?;
//! let patches = find(&graph, &Settings::default());
//! assert!(patches.is_empty());
//! assert_eq!(apply(&graph, &patches, &Settings::default())?.graph, graph);
//! # Ok(()) }
//! ```
//!
//! [`Graph`]: serenity_ir::Graph

mod apply;
mod choose;
pub mod constant_channels;
mod constants;
mod families;
mod least;
mod pad_folding;
mod partial_results;
mod patch;
mod same_padding;
mod split;
mod sum;
mod transposes;
mod treatment;

pub use apply::{NewConstant, Origin, Rewriting, apply};
pub use choose::{Choice, Effort, Evaluation, Worth, choose};
pub use constants::{ConstantError, apply_to_model, described, rewritten_model, slice};
pub use least::{Least, least};
pub use pad_folding::PadFolding;
pub use partial_results::{Constants, ErrorBounds, can_widen, widen};
pub use patch::{Action, Change, Patch, PatchError};
pub use split::{ChannelPartitioning, ConcatSinking, KernelPartitioning};
pub use sum::SumReassociation;
pub use transposes::{CANCELLED_TRANSPOSES, Relayout, cancelled_transposes};

use serenity_ir::{ElementType, Graph, OpId, Tensor};
use std::collections::BTreeMap;

/// What a rewritten graph may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// How partial results are summed.
    pub sums: Sums,
    /// May integers be rounded more than once? The sum of quantised partial results is, so the result differs from the
    /// original.
    pub rounds_integers: bool,
}

/// How partial results are summed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sums {
    /// By a chain of binary additions, which every runtime has.
    #[default]
    Chain,
    /// By ops that add into one accumulator, in any order, as the paper counts them: `ADD_INTO` and `ACCUMULATE`. No
    /// runtime has such ops.
    Accumulator,
    /// By ops that add into one accumulator, counted as if a runtime added each result into a place of its own: the
    /// best order of such a graph shows in which order a chain should add.
    Draft,
}

impl Settings {
    /// May a tensor of this type be the sum of partial results?
    pub fn may_round(self, tensor: &Tensor) -> bool {
        use ElementType::{BFloat16, Float16, Float32, Float64};
        let is_float = matches!(tensor.dtype, None | Some(Float16 | BFloat16 | Float32 | Float64));
        self.rounds_integers || (is_float && tensor.quantization.is_none())
    }
}

/// Finds places where an identity holds. A rule never changes the graph.
pub trait Rule: Sync {
    /// A name for messages and scripts.
    fn name(&self) -> &'static str;

    /// What could be done, each proposal by itself.
    fn find(&self, graph: &Graph, settings: &Settings) -> Vec<Patch>;
}

/// All rules. The proposals of earlier ones take precedence.
pub fn rules() -> &'static [&'static dyn Rule] {
    &[&PadFolding, &ChannelPartitioning, &KernelPartitioning, &ConcatSinking, &SumReassociation]
}

/// All proposals of the rules that can be made together: no op is the subject of two patches.
pub fn find(graph: &Graph, settings: &Settings) -> Vec<Patch> {
    let mut found: BTreeMap<OpId, Patch> = BTreeMap::new();
    for patch in rules().iter().flat_map(|rule| rule.find(graph, settings)) {
        found.entry(patch.op()).or_insert(patch);
    }
    found.into_values().collect()
}

/// Converters join the names of all that they fused by semicolons; the first is enough to find the op.
fn short_name(graph: &Graph, op: OpId) -> String {
    let name = graph.op_label(op);
    name.split(';').next().unwrap_or_default().to_owned()
}
