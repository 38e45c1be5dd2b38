//! Rewriting a model: in its graph and, where it came from a file, in the file.

mod conditions;

use crate::optimize::what_is_left;
use crate::{Error, Input, Options, Plan, Source, optimize_model};
use serde_json::{Value, json};
use serenity_ir::{Graph, OpId};
use serenity_rewrite::{Change, Patch, apply, find};
use serenity_tflite::{Edit, Model, OperatorSource, SubGraph};
use std::time::Instant;

/// A model after all rewrites that its rules allow.
#[derive(Clone, Debug)]
pub struct Rewritten {
    /// The model, read again from its new bytes if it was read from a file.
    pub input: Input,
    /// What was done; nothing if no rule found anything.
    pub applied: Vec<AppliedRewrite>,
}

/// One rewrite that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppliedRewrite {
    /// The rule.
    pub rule: String,
    /// Which of the model's graphs it is in.
    pub graph: usize,
    /// The ops it touched, by their numbers in the model as it came.
    pub ops: Vec<OpId>,
    /// Why it computes the same, for people.
    pub text: String,
    /// Are the results the same bit for bit?
    pub exact: bool,
    /// Bytes of tensors that are gone. What an arena gains may be less.
    pub freed_bytes: u64,
}

impl AppliedRewrite {
    fn new(graph: usize, of: &Graph, patch: &Patch) -> Self {
        Self {
            rule: patch.rule.to_owned(),
            graph,
            ops: patch.ops(),
            text: patch.identity.clone(),
            exact: patch.exact,
            freed_bytes: patch.frees(of),
        }
    }

    /// Do both say that the same was done? What they say about it may differ.
    pub fn is_same(&self, other: &Self) -> bool {
        (&self.rule, self.graph, &self.ops) == (&other.rule, other.graph, &other.ops)
    }

    pub(crate) fn to_json(&self) -> Value {
        json!({
            "rule": self.rule,
            "exact": self.exact,
            "graph": self.graph,
            "ops": self.ops.iter().map(|op| op.0).collect::<Vec<_>>(),
            "freed_bytes": self.freed_bytes,
            "text": self.text,
        })
    }

    /// From what a plan claims; only the rule and the ops must be there.
    pub(crate) fn from_json(value: &Value) -> Option<Self> {
        let number = |key: &str| value.get(key).and_then(Value::as_u64).unwrap_or(0);
        let op = |op: &Value| op.as_u64().and_then(|op| u32::try_from(op).ok()).map(OpId);
        Some(Self {
            rule: value.get("rule")?.as_str()?.to_owned(),
            graph: usize::try_from(number("graph")).ok()?,
            ops: value.get("ops")?.as_array()?.iter().map(op).collect::<Option<_>>()?,
            text: value.get("text").and_then(Value::as_str).unwrap_or_default().to_owned(),
            exact: value.get("exact").and_then(Value::as_bool).unwrap_or(false),
            freed_bytes: number("freed_bytes"),
        })
    }
}

/// Rewrites a model by all rules. A second time there is nothing left to do.
///
/// Only graphs and .tflite files are rewritten. A file read with constants folded cannot be written, so it stays as it is.
///
/// # Errors
/// If the file holds what cannot be carried over. What was rewritten is read again and compared with the rewritten graph before it is
/// given away, so any other error is a bug of ours.
pub fn rewrite(input: &Input) -> Result<Rewritten, Error> {
    let unchanged = || Rewritten { input: input.clone(), applied: Vec::new() };
    let patches: Vec<Vec<Patch>> = match &input.source {
        Source::Graph => input.graphs.iter().map(find).collect(),
        Source::Tflite(model) if !model.folds_constants() => {
            let in_file = |(index, graph)| conditions::find_in_file(model, index, graph);
            input.graphs.iter().enumerate().map(in_file).collect()
        }
        _ => return Ok(unchanged()),
    };
    if patches.iter().all(Vec::is_empty) {
        return Ok(unchanged());
    }
    let wrong = |source| Error::Rewrite { name: input.name.clone(), source };
    let graphs = input.graphs.iter().zip(&patches).map(|(graph, patches)| apply(graph, patches));
    let graphs = graphs.collect::<Result<Vec<Graph>, _>>().map_err(wrong)?;
    let source = match &input.source {
        Source::Tflite(model) => {
            let refused = |source| Error::Tflite { path: input.name.clone(), source };
            Source::Tflite(Box::new(rewritten_file(model, &patches, &graphs).map_err(refused)?))
        }
        other => other.clone(),
    };
    let applied = input.graphs.iter().zip(&patches).enumerate().flat_map(|(index, (graph, patches))| {
        patches.iter().map(move |patch| AppliedRewrite::new(index, graph, patch))
    });
    let applied = applied.collect();
    Ok(Rewritten { input: Input { graphs, source, ..input.clone() }, applied })
}

/// Plans a model as it is and rewritten, and takes what needs less; as it is if that makes no difference. Returns the rewritten model if it is
/// that which was planned; what the plan says of `before` is said of the model as it came.
///
/// # Errors
/// As [`optimize_model`], and if the rewriting itself went wrong. A file that cannot be changed without loss is no error: it is planned as it is.
pub fn optimize_input(input: &Input, options: &Options) -> Result<(Option<Input>, Plan), Error> {
    let started = Instant::now();
    let plan = optimize_model(&input.graphs, options)?;
    let rewritten = match rewrite(input) {
        Ok(rewritten) if rewritten.applied.is_empty() => return Ok((None, plan)),
        Ok(rewritten) => rewritten,
        Err(Error::Tflite { source: serenity_tflite::Error::Edit(_), .. }) => return Ok((None, plan)),
        Err(error) => return Err(error),
    };
    // A plan of the arena that the model came with speaks of tensors that are gone.
    let limits = what_is_left(&options.limits, started);
    let options = Options { given_plan: None, limits, ..options.clone() };
    let smaller = optimize_model(&rewritten.input.graphs, &options)?;
    if smaller.after.needs() >= plan.after.needs() {
        return Ok((None, plan));
    }
    let plan = Plan { before: plan.before, rewrites: rewritten.applied, ..smaller };
    Ok((Some(rewritten.input), plan))
}

/// The file with the patches of each of its graphs, read again; it must give just these graphs.
fn rewritten_file(
    model: &Model,
    patches: &[Vec<Patch>],
    graphs: &[Graph],
) -> Result<Model, serenity_tflite::Error> {
    let mut edit = model.edit();
    for (index, patches) in patches.iter().enumerate().filter(|(_, patches)| !patches.is_empty()) {
        change_sub_graph(&mut edit, model, index, patches)?;
    }
    let new = Model::parse(edit.finish()?.bytes)?;
    if new.graphs() != graphs {
        return Err(serenity_tflite::Error::Unfaithful("the rewritten graph".to_owned()));
    }
    Ok(new)
}

fn change_sub_graph(
    edit: &mut Edit,
    model: &Model,
    index: usize,
    patches: &[Patch],
) -> Result<(), serenity_tflite::Error> {
    let (graph, sub_graph) = (&model.graphs()[index], &model.sub_graphs()[index]);
    // Without folded constants, ops and operators are the same, one by one.
    let mut operators: Vec<Option<OperatorSource>> =
        (0..sub_graph.operators().len()).map(|operator| Some(OperatorSource::Kept(operator))).collect();
    for patch in patches {
        for op in &patch.removes {
            operators[op.index()] = None;
        }
        for change in &patch.changes {
            operators[change.op.index()] = Some(changed_operator(sub_graph, change));
        }
        for tensor in patch.retires(graph).into_iter().filter_map(|tensor| sub_graph.file_tensor(tensor)) {
            edit.retire_tensor(index, tensor)?;
        }
    }
    edit.set_operators(index, operators.into_iter().flatten().collect())
}

/// The activations among the operands change, in their order; constants and absent operands stay.
fn changed_operator(sub_graph: &SubGraph, change: &Change) -> OperatorSource {
    let old = &sub_graph.operators()[change.op.index()];
    let mut activations = change.inputs.iter().map(|&tensor| sub_graph.file_tensor(tensor));
    let operand = |&operand: &Option<usize>| match operand.and_then(|tensor| sub_graph.graph_tensor(tensor)) {
        Some(_) => activations.next().flatten(),
        None => operand,
    };
    OperatorSource::Changed {
        operator: change.op.index(),
        inputs: old.inputs.iter().map(operand).collect(),
        outputs: old.outputs.clone(),
        options: change.attributes.clone(),
    }
}
