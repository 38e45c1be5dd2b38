//! Gives regions another layout, without the transpositions around them.

use super::describe::set_constant;
use super::writer::Writer;
use super::{NewConstant, Origin, Rewriting};
use crate::transposes::{Relayout, relaid_constant};
use crate::{Action, Patch, PatchError, Settings};
use serde_json::json;
use serenity_ir::{Graph, Op, OpId, Operator, TensorId, from_front};
use std::collections::{BTreeMap, BTreeSet};

/// The graph with these patches, all of which give a region another layout.
pub(super) fn relaid(graph: &Graph, patches: &[Patch], settings: Settings) -> Result<Rewriting, PatchError> {
    let no_sums = BTreeSet::new();
    let mut writer = Writer::new(graph, &settings, &no_sums);
    let mut gone: BTreeSet<OpId> = BTreeSet::new();
    let mut moved: BTreeMap<OpId, &Relayout> = BTreeMap::new();
    let mut instead: BTreeMap<TensorId, TensorId> = BTreeMap::new();
    for patch in patches {
        let Action::Relayout(region) = &patch.action else {
            return Err(PatchError::Conflict { op: patch.op() });
        };
        let ops = graph.ops().len();
        if let Some(&op) = region.transposes.iter().chain(&region.ops).find(|op| op.index() >= ops) {
            return Err(PatchError::UnknownOp { op, ops });
        }
        if let Some(&op) = region.transposes.iter().find(|&&op| !gone.insert(op)) {
            return Err(PatchError::Conflict { op });
        }
        if let Some(&op) = region.ops.iter().find(|&&op| moved.insert(op, region).is_some()) {
            return Err(PatchError::Conflict { op });
        }
        for &tensor in &region.tensors {
            let from = graph.producer(tensor).filter(|writer| region.transposes.contains(writer));
            match from {
                Some(transpose) => drop(instead.insert(tensor, graph.op(transpose).inputs[0])),
                None => writer.permute(tensor, &region.permutation),
            }
        }
        let leaving =
            region.transposes.iter().filter(|op| region.tensors.contains(&graph.op(**op).inputs[0]));
        for &op in leaving {
            instead.insert(graph.op(op).outputs[0], graph.op(op).inputs[0]);
        }
    }
    let resolve = |mut tensor: TensorId| {
        while let Some(&other) = instead.get(&tensor) {
            tensor = other;
        }
        tensor
    };
    for id in graph.file_order().into_iter().filter(|id| !gone.contains(id)) {
        let (mut op, mut origin) = (graph.op(id).clone(), Origin::of(id));
        for tensor in op.inputs.iter_mut().chain(&mut op.outputs) {
            *tensor = resolve(*tensor);
        }
        if let Some(region) = moved.get(&id) {
            describe_anew(&mut op, &mut origin, region).ok_or(PatchError::Misfit { op: id })?;
        }
        writer.push(op, origin);
    }
    writer.finish()
}

/// What an op says of axes, in the new layout.
fn describe_anew(op: &mut Op, origin: &mut Origin, region: &Relayout) -> Option<()> {
    match op.kind.operator() {
        Operator::CONCATENATION => {
            let axis = from_front(op.number("axis")?, region.permutation.len())?;
            op.attributes.insert("axis".to_owned(), json!(region.axis(axis)?));
        }
        Operator::PAD => {
            let old = op.paddings()?;
            let paddings: Option<Vec<&[u64; 2]>> =
                region.permutation.iter().map(|&axis| old.get(axis)).collect();
            op.attributes.insert("paddings".to_owned(), json!(paddings?));
            let rows = NewConstant::Rows(region.permutation.clone());
            set_constant(&mut op.attributes, 1, &rows, "permuted");
            origin.constants.insert(1, rows);
        }
        _ => {
            if let Some(position) = relaid_constant(op, region.permutation.len()) {
                let new = NewConstant::Permuted(region.permutation.clone());
                set_constant(&mut op.attributes, position, &new, "permuted");
                origin.constants.insert(position, new);
            }
        }
    }
    Some(())
}
