//! Applies patches: the only place that makes new graphs.
//!
//! Patches say which ops take their input in pieces. From that follows, forwards, which tensors exist in pieces, and,
//! backwards, which must also exist as a whole because some op reads them so. Then all ops are written again in the old
//! order: a concatenation that is not needed as a whole is left out, an op that takes pieces becomes one op per piece,
//! and so on.

mod adder;
mod decisions;
mod describe;
mod relayout;
mod writer;

use crate::treatment::Treatment;
use crate::{Action, Patch, PatchError, Settings};
use decisions::Decisions;
pub(crate) use describe::permuted;
use serenity_ir::{Graph, OpId, Role, TensorId};
use std::collections::{BTreeMap, BTreeSet};
use writer::Writer;

/// A rewritten graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Rewriting {
    /// The rewritten graph.
    pub graph: Graph,
    /// The origin of each of its ops.
    pub origins: Vec<Origin>,
    /// Per patch that sums, by its op: the ops that make the terms, in the order that [`Patch::order`] counts in. A
    /// chain adds the terms of a sum as they are; for others these are the ops that add to the accumulator.
    pub terms: BTreeMap<OpId, Vec<OpId>>,
}

/// The origin of an op of a rewritten graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The op of the old graph that it is, or is a part of; `None` for new additions and concatenations.
    pub op: Option<OpId>,
    /// The constants that differ from those of that op, by operand.
    pub constants: BTreeMap<usize, NewConstant>,
}

/// A constant of a rewritten graph, in terms of the constant of the old op at the same operand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewConstant {
    /// A part of the old constant.
    Slice {
        /// The axis that is cut.
        axis: usize,
        /// The first position of the part.
        from: u64,
        /// The position after the last one.
        to: u64,
    },
    /// Zeros, in the shape of the old constant.
    Zeros,
    /// The constant is left out.
    Absent,
    /// A shape, as integers.
    Dimensions(Vec<u64>),
    /// The rows of the old constant, in this order.
    Rows(Vec<usize>),
    /// The old constant in another layout: dimension `i` is what dimension `permutation[i]` was, after as many dimensions
    /// of one position were put in front as are missing.
    Permuted(Vec<usize>),
}

impl Origin {
    fn of(op: OpId) -> Self {
        Self { op: Some(op), constants: BTreeMap::new() }
    }
}

/// A tensor as the pieces that make it up.
#[derive(Clone, Debug)]
struct Pieces {
    axis: usize,
    parts: Vec<TensorId>,
}

/// Would some ops stay whole, because there would be too many pieces? So would they if the patches cannot be applied.
pub(crate) fn is_cut_short(graph: &Graph, patches: &[Patch]) -> bool {
    Decisions::new(graph, patches).map_or(true, |decisions| decisions.is_cut_short)
}

/// Applies all patches to a graph.
///
/// # Errors
/// If the patches do not belong to this graph, or contradict each other.
pub fn apply(graph: &Graph, patches: &[Patch], settings: &Settings) -> Result<Rewriting, PatchError> {
    apply_cheaper(graph, patches, *settings, &BTreeSet::new())
}

/// Applies all patches to a graph, but the ops of `cheaper`, which begin with a sum, add its terms into their own result.
/// The graph needs less memory than one that can be run: see [`least`](crate::least).
pub(crate) fn apply_cheaper(
    graph: &Graph,
    patches: &[Patch],
    settings: Settings,
    cheaper: &BTreeSet<OpId>,
) -> Result<Rewriting, PatchError> {
    if patches.iter().any(|patch| matches!(patch.action, Action::Relayout(_))) {
        return relayout::relaid(graph, patches, settings);
    }
    let decisions = Decisions::new(graph, patches)?;
    let mut writer = Writer::new(graph, &settings, cheaper);
    let mut pieces: BTreeMap<TensorId, Pieces> = BTreeMap::new();
    for id in graph.file_order() {
        if decisions.is_gone(id) {
            continue;
        }
        if let Some((sum, order)) = decisions.sum(id) {
            writer.sum(id, sum, order, &decisions);
            continue;
        }
        let op = graph.op(id);
        match (decisions.treatment(id), op.kind.role()) {
            (Some((Treatment::Sums(sums), input, order)), _) => {
                writer.partial_sums(id, sums, &pieces[&input], input, order, &decisions);
            }
            (Some((Treatment::Apart(apart), input, _)), _) => {
                let output = op.outputs[0];
                let parts = writer.parts(id, apart, &pieces[&input], input, &decisions);
                let result = Pieces { axis: apart.axis, parts };
                if decisions.is_whole(output) {
                    writer.join(id, &result, output);
                }
                pieces.insert(output, result);
            }
            (joins, Role::Concat)
                if op.outputs.first().is_some_and(|&output| decisions.in_pieces(output).is_some()) =>
            {
                let parts_of = |input: &TensorId| {
                    let input = decisions.resolve(*input);
                    match pieces.get(&input) {
                        Some(pieces) if joins.is_some() && decisions.is_joined(id, input) => {
                            pieces.parts.clone()
                        }
                        _ => vec![input],
                    }
                };
                let axis = decisions.in_pieces(op.outputs[0]).unwrap_or_default();
                let parts: Vec<TensorId> = op.inputs.iter().flat_map(parts_of).collect();
                if decisions.is_whole(op.outputs[0]) {
                    writer.concat(id, &parts);
                }
                pieces.insert(op.outputs[0], Pieces { axis, parts });
            }
            _ => writer.copy(id, &decisions),
        }
    }
    writer.finish()
}
