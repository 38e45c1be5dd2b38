//! What was rewritten, as a plan says it.

use serde_json::{Value, json};
use serenity_ir::Operator::*;
use serenity_ir::{Graph, OpId};
use serenity_rewrite::{Choice, NewConstant, Patch, Rewriting};
use serenity_search::{Proof, StopReason};
use std::collections::BTreeSet;

/// One rewrite that was made.
#[derive(Clone, Debug, PartialEq)]
pub struct AppliedRewrite {
    /// The rule.
    pub rule: String,
    /// Rewritten models are looked at again: in which round it was made, from 0.
    pub round: usize,
    /// The ops it is about, by their numbers in the model as it was then: in round 0, as it came.
    pub ops: Vec<OpId>,
    /// In which order partial results are added up, if they are.
    pub order: Vec<usize>,
    /// Why it computes the same, for people.
    pub text: String,
    /// Are the results the same bit for bit?
    pub exact: bool,
    /// If they are: engines with which they are not ([`Engine`](crate::Engine), by name).
    pub rounds_in: Vec<String>,
    /// If whole numbers are rounded more than once: its result is off by at most so many steps of its scale, from the same inputs.
    pub error: Option<f64>,
    /// How many bytes more would be needed without this one, as far as that is known.
    pub gain: Option<u64>,
    /// What it costs.
    pub cost: RewriteCost,
}

/// How rewrites were chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RewriteChoice {
    /// Sets of rewrites whose best order was looked for.
    pub sets: usize,
    /// Bytes that the model needs in its best order without rewrites: in the runtime's arena or, where there is none, at its peak.
    pub without: u64,
    /// The same with the rewrites chosen.
    pub with: u64,
    /// Why the search for a set ended, if there may be a better one.
    pub stopped: Option<StopReason>,
    /// No set of rewrites needs less.
    pub floor: u64,
}

impl RewriteChoice {
    /// What was chosen, for a model that needs so much without rewrites and with them. The search itself may have counted otherwise: peaks only, or with less effort.
    pub(super) fn of(choice: &Choice, without: u64, with: u64) -> Self {
        let Choice { floor, stopped, sets, .. } = *choice;
        Self { sets, without, with, stopped, floor }
    }

    /// The same choice among more sets, of which another search has looked at some: what is proved about all of them, that one has proved.
    pub(crate) fn among(self, more: &Self) -> Self {
        Self { sets: self.sets + more.sets, floor: self.floor.min(more.floor), stopped: more.stopped, ..self }
    }

    /// The same set for kernels with which the model needs so much without it, and with it. What was proved, was proved for others.
    pub(crate) fn for_other_kernels(self, without: u64, with: u64) -> Self {
        let stopped = Some(self.stopped.unwrap_or(StopReason::Heuristic));
        Self { without, with, floor: 0, stopped, ..self }
    }

    /// Is there no better set among all that can be made of the rewrites which the rules propose?
    pub fn is_proved(&self) -> bool {
        self.proof().is_optimal()
    }

    /// What is proved about the set.
    pub fn proof(&self) -> Proof {
        Proof::of(self.with, self.floor, self.stopped)
    }

    /// As a JSON object.
    pub fn to_json(self) -> Value {
        let Self { sets, without, with, floor, .. } = self;
        json!({
            "sets": sets,
            "proved": self.is_proved(),
            "stopped": self.proof().stopped().map(StopReason::name),
            "without": without,
            "with": with,
            "floor": floor,
        })
    }
}

/// What a rewrite adds to a model. None of the rules adds multiplications: they are divided among more ops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RewriteCost {
    /// Ops.
    pub ops: i64,
    /// Bytes of constants.
    pub weight_bytes: i64,
    /// Additions of elements.
    pub additions: i64,
}

impl RewriteCost {
    /// What `with` has more than `without`, both made of `graph`.
    pub(super) fn between(graph: &Graph, without: &Rewriting, with: &Rewriting) -> Self {
        let difference = |measure: &dyn Fn(&Rewriting) -> u64| measure(with) as i64 - measure(without) as i64;
        Self {
            ops: difference(&|rewriting| rewriting.graph.ops().len() as u64),
            weight_bytes: difference(&|rewriting| zero_bytes(graph, rewriting)),
            additions: difference(&additions),
        }
    }
}

/// Bytes of constants that did not exist: parts of those that did are no more than the whole.
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

    /// As a JSON object.
    pub fn to_json(&self) -> Value {
        let mut object = json!({
            "rule": self.rule,
            "exact": self.exact,
            "round": self.round,
            "ops": self.ops.iter().map(|op| op.0).collect::<Vec<_>>(),
            "order": self.order,
            "gain": self.gain,
            "extra_ops": self.cost.ops,
            "extra_weight_bytes": self.cost.weight_bytes,
            "extra_macs": 0,
            "extra_additions": self.cost.additions,
            "text": self.text,
        });
        if let Some(error) = self.error {
            object["error_steps"] = error.into();
        }
        if !self.rounds_in.is_empty() {
            object["rounds_in"] = self.rounds_in.clone().into();
        }
        object
    }
}
