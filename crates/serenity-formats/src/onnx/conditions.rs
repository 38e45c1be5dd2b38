//! What only an `.onnx` file can tell about whether an identity holds.

use serenity_ir::{Call, Given, Graph, OpId};
use serenity_onnx::Model;
use serenity_rewrite::{Action, Patch, slice};
use std::collections::BTreeMap;

/// What is asked of every patch.
pub(super) struct Conditions<'m> {
    model: &'m Model,
    is_quantised: bool,
    /// By constant, since many ops may share one.
    is_divisible: BTreeMap<&'m str, bool>,
}

impl<'m> Conditions<'m> {
    pub(super) fn of(model: &'m Model) -> Self {
        Self { model, is_quantised: is_quantised(model), is_divisible: BTreeMap::new() }
    }

    /// Does what a rule proposes hold for what the file says?
    pub(super) fn hold_for(&mut self, patch: &Patch) -> bool {
        // A difference in the last bit becomes a whole step where numbers are rounded to integers.
        let is_same = patch.exact || !self.is_quantised;
        is_same
            && !self.model.redefines_operators()
            && match &patch.action {
                Action::Split { op, .. } => self.can_divide_constants(*op),
                Action::Accumulate { .. } => true,
                Action::Bypass { .. } | Action::Relayout(_) => false,
            }
    }

    /// Are all constants of an op, and of those that compute its operands from constants, in the file as they are and for good?
    fn can_divide_constants(&mut self, id: OpId) -> bool {
        let model: &'m Model = self.model;
        let graph = model.graph();
        let computes_from_constants = |&op: &OpId| graph.op(op).inputs.is_empty();
        let producers = graph.op(id).inputs.iter().filter_map(|&input| graph.producer(input));
        std::iter::once(id)
            .chain(producers.filter(computes_from_constants))
            .all(|op| constants(graph, op).all(|name| self.is_divisible(name)))
    }

    fn is_divisible(&mut self, constant: Option<&'m str>) -> bool {
        let Some(name) = constant else { return false };
        let model = self.model;
        *self.is_divisible.entry(name).or_insert_with(|| {
            let can_be_sliced = |constant: serenity_onnx::Constant<'_>| {
                let serenity_onnx::Constant { data, shape, dtype, .. } = constant;
                shape.is_empty() || slice(&data, &shape, &dtype, 0, 0, 0).is_some()
            };
            !model.is_overridable(name) && model.constant(name).is_some_and(can_be_sliced)
        })
    }
}

/// The names of an op's constants.
fn constants(graph: &Graph, op: OpId) -> impl Iterator<Item = Option<&str>> {
    let call = Call::new(graph, op);
    (0..call.operand_count()).filter_map(move |position| match call.given(position) {
        Given::Constant(constant) => Some(constant.name()),
        _ => None,
    })
}

/// Does a model round to integers anywhere?
pub(super) fn is_quantised(model: &Model) -> bool {
    let ops = model.graph().ops().iter().map(|op| op.kind.as_str());
    let folded = model.folded().iter().map(|node| node.op_type.as_str());
    ops.chain(folded).any(quantises)
}

/// Is this an operator that rounds to integers, or works on such?
fn quantises(kind: &str) -> bool {
    ["Quantize", "QLinear", "Integer", "QGemm", "QAttention"].iter().any(|mark| kind.contains(mark))
}
