//! A model in which windows of the main graph run as loops.

use serenity_ir::{Graph, OpId};

/// The graphs of a model in which windows of the main one run as loops, and where their ops come from.
///
/// Tensors of the old main graph keep their ids in the new one; those that exist as stripes only are left with no bytes and the shape `[0]`. New tensors
/// follow. A constant of a new op is described in full by its attribute `constants`: `shape`, `dtype`, `quantization` if it has one, and either all its
/// `values` or the one value that `fill`s it.
#[derive(Clone, Debug)]
pub struct Looped {
    /// The main graph first, then the sub-graphs that the model had, as they were, then the condition and the body of each loop, which its `WHILE` names
    /// in the attribute `bodies`.
    pub graphs: Vec<Graph>,
    /// By graph and op: the op of the old main graph that it is, on stripes or as it was, with the constants of that op at all positions for which it
    /// has none of its own; `None` for the ops of the loop itself. Empty for the sub-graphs that the model had.
    pub origins: Vec<Vec<Option<OpId>>>,
}
