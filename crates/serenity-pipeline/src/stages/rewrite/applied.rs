//! The rewrites that were made, as a plan lists them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serenity_ir::Operator::*;
use serenity_ir::{Graph, OpId};
use serenity_rewrite::{Choice, NewConstant, Patch, Rewriting};
use serenity_search::{Proof, StopReason};
use std::collections::BTreeSet;

/// One rewrite that was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AppliedRewrite {
    /// The name of the rule.
    pub rule: String,
    /// Are the results the same bit for bit?
    pub exact: bool,
    /// The round in which it was made, from 0: rewritten models are searched again.
    pub round: usize,
    /// The ops that it replaces, by their numbers in the model before that round (in round 0, the original model).
    pub ops: Vec<OpId>,
    /// The order in which partial results are summed, if there are any.
    pub order: Vec<usize>,
    /// How many bytes more the model would need without this rewrite, if known.
    #[serde(deserialize_with = "Option::deserialize")]
    pub gain: Option<u64>,
    /// The ops, constants and additions that the rewrite adds.
    #[serde(flatten)]
    pub cost: RewriteCost,
    /// Why the rewrite keeps the results, for people.
    pub text: String,
    /// If integers are rounded more than once: the largest error of the result, in steps of its scale, from the same
    /// inputs.
    #[serde(rename = "error_steps", default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64")]
    pub error: Option<f64>,
    /// If exact: the engines of `serenity verify` with which results are not the same bit for bit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1))]
    pub rounds_in: Vec<String>,
}

/// How rewrites were chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct RewriteChoice {
    /// How many sets of rewrites were scheduled.
    pub sets: usize,
    /// Bytes that the model needs in its best order without rewrites: in the runtime's arena or, where there is none,
    /// at its peak.
    pub without: u64,
    /// Bytes that the model needs in its best order with the chosen rewrites.
    pub with: u64,
    /// Why the search for a set ended, if there may be a better one.
    #[serde(deserialize_with = "Option::deserialize")]
    pub stopped: Option<StopReason>,
    /// A lower bound on the need with any set of rewrites.
    pub floor: u64,
}

impl RewriteChoice {
    /// The record of a choice, for a model that needs `without` bytes without rewrites and `with` bytes with them. The
    /// search itself may have counted in another way: peaks only, or with less effort.
    pub(super) fn of(choice: &Choice, without: u64, with: u64) -> Self {
        let Choice { floor, stopped, sets, .. } = *choice;
        Self { sets, without, with, stopped, floor }
    }

    /// This choice, among the additional sets of another search: what that search proved holds for all of them.
    pub(crate) fn among(self, more: &Self) -> Self {
        Self { sets: self.sets + more.sets, floor: self.floor.min(more.floor), stopped: more.stopped, ..self }
    }

    /// This choice for other kernels, with which the model needs `without` bytes without the rewrites and `with` bytes
    /// with them. Nothing is proved for these kernels.
    pub(crate) fn for_other_kernels(self, without: u64, with: u64) -> Self {
        let stopped = Some(self.stopped.unwrap_or(StopReason::Heuristic));
        Self { without, with, floor: 0, stopped, ..self }
    }

    /// Is it proved that no set of the proposed rewrites is better?
    pub fn is_proved(&self) -> bool {
        self.proof().is_optimal()
    }

    /// The proof for the chosen set.
    pub fn proof(&self) -> Proof {
        Proof::of(self.with, self.floor, self.stopped)
    }
}

/// What a rewrite adds to a model. No rule adds multiplications: they are divided among more ops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RewriteCost {
    /// Ops added; negative if there are fewer.
    #[serde(rename = "extra_ops")]
    pub ops: i64,
    /// Bytes of constants added.
    #[serde(rename = "extra_weight_bytes")]
    pub weight_bytes: i64,
    /// Multiplications added: always 0.
    #[serde(rename = "extra_macs")]
    pub macs: i64,
    /// Additions of elements added.
    #[serde(rename = "extra_additions")]
    pub additions: i64,
}

impl RewriteCost {
    /// The difference between two rewritings of `graph`: `with` minus `without`.
    pub(super) fn between(graph: &Graph, without: &Rewriting, with: &Rewriting) -> Self {
        let difference = |measure: &dyn Fn(&Rewriting) -> u64| measure(with) as i64 - measure(without) as i64;
        Self {
            ops: difference(&|rewriting| rewriting.graph.ops().len() as u64),
            weight_bytes: difference(&|rewriting| zero_bytes(graph, rewriting)),
            macs: 0,
            additions: difference(&additions),
        }
    }
}

/// Bytes of new constants; parts of existing ones are together no larger than the whole.
fn zero_bytes(graph: &Graph, rewriting: &Rewriting) -> u64 {
    let bytes = |op: OpId, position: usize| {
        let constant = graph.op(op).constant(position)?;
        constant.dtype()?.bytes_of(&constant.shape()?)
    };
    // The parts of one op share their zeros.
    let zeros: BTreeSet<(OpId, usize)> = rewriting
        .origins
        .iter()
        .filter_map(|origin| Some((origin.op?, &origin.constants)))
        .flat_map(|(op, constants)| {
            constants.iter().map(move |(&position, constant)| (op, position, constant))
        })
        .filter(|(.., constant)| **constant == NewConstant::Zeros)
        .map(|(op, position, _)| (op, position))
        .collect();
    zeros.into_iter().filter_map(|(op, position)| bytes(op, position)).sum()
}

fn additions(rewriting: &Rewriting) -> u64 {
    let graph = &rewriting.graph;
    let elements = |op: &serenity_ir::Op| {
        let shape = graph.tensor(*op.outputs.first()?).shape.as_ref()?;
        Some(shape.iter().product::<u64>() * (op.inputs.len() as u64).saturating_sub(1))
    };
    let is_sum = |op: &&serenity_ir::Op| matches!(op.kind.operator(), ADD | ADD_N | Add | Sum | ACCUMULATE);
    graph.ops().iter().filter(is_sum).filter_map(elements).sum()
}

impl AppliedRewrite {
    pub(super) fn new(patch: &Patch, round: usize, gain: Option<u64>, cost: RewriteCost) -> Self {
        Self {
            rule: patch.rule.to_owned(),
            round,
            ops: patch.ops(),
            order: patch.order().to_vec(),
            text: patch.identity.clone(),
            exact: patch.exact,
            rounds_in: patch.rounds_in.iter().map(|&name| name.to_owned()).collect(),
            error: None,
            gain,
            cost,
        }
    }
}
