//! Is a file that was written what was asked for? It is read again and compared, part by part, with the model it came from.

use crate::metadata::Metadata;
use crate::operator::FileOperator;
use crate::sub_graph::SubGraph;
use crate::tensor::FileTensor;
use crate::write::edit::{Edit, NewTensor, OperatorSource};
use crate::{Error, Model};
use std::collections::BTreeSet;

/// Compares a written file with the changes that were to be made.
pub(crate) fn check(edit: &Edit, bytes: &[u8]) -> Result<(), Error> {
    let new = Model::parse(bytes.to_vec()).map_err(|error| match error {
        // New operators or tensors that make no sense are the caller's; they are named like those of any file.
        Error::Damaged { .. } => Error::Unfaithful(error.to_string()),
        other => other,
    })?;
    let old = edit.model;
    let same = |what: &str, same: bool| {
        if same { Ok(()) } else { Err(Error::Unfaithful(what.to_owned())) }
    };
    same("the description", new.description == old.description)?;
    same("the signatures", new.signatures == old.signatures)?;
    let codes = old.codes.iter().chain(&edit.codes);
    same("the operator codes", new.codes.iter().eq(codes))?;
    check_buffers(edit, &new)?;
    same("the metadata", metadata(&new, &new.metadata) == expected_metadata(edit))?;
    same("the number of sub-graphs", new.sub_graphs.len() == old.sub_graphs.len())?;
    for (index, sub_graph) in new.sub_graphs.iter().enumerate() {
        check_sub_graph(edit, &new, index, sub_graph)
            .map_err(|what| Error::Unfaithful(format!("sub-graph {index}, {what}")))?;
    }
    Ok(())
}

fn check_buffers(edit: &Edit, new: &Model) -> Result<(), Error> {
    let old = edit.model;
    let kept = (0..old.buffers.len()).map(|index| old.buffer(index));
    let mut expected = kept.chain(edit.buffers.iter().map(Vec::as_slice));
    let least = old.buffers.len() + edit.buffers.len();
    let differs = expected.by_ref().enumerate().find(|&(index, data)| new.buffer(index) != data);
    match differs {
        Some((index, _)) => Err(Error::Unfaithful(format!("buffer {index}"))),
        None if new.buffers.len() < least => Err(Error::Unfaithful("the number of buffers".to_owned())),
        None => Ok(()),
    }
}

/// Names and bytes, in the file's order.
fn metadata<'a>(model: &'a Model, list: &'a [Metadata]) -> Vec<(&'a str, &'a [u8])> {
    list.iter().map(|metadata| (metadata.name.as_str(), model.buffer(metadata.buffer))).collect()
}

fn expected_metadata<'a>(edit: &'a Edit) -> Vec<(&'a str, &'a [u8])> {
    let mut expected: Vec<(&str, &[u8])> = Vec::new();
    let mut done = BTreeSet::new();
    for (name, bytes) in metadata(edit.model, &edit.model.metadata) {
        match edit.metadata.get(name) {
            None => expected.push((name, bytes)),
            Some(Some(bytes)) if done.insert(name) => expected.push((name, bytes)),
            Some(_) => {}
        }
    }
    let added = edit.metadata.iter().filter_map(|(name, bytes)| Some((name.as_str(), bytes.as_deref()?)));
    expected.extend(added.filter(|(name, _)| !done.contains(name)));
    expected
}

fn check_sub_graph(edit: &Edit, new: &Model, index: usize, tables: &SubGraph) -> Result<(), String> {
    let old = &edit.model.sub_graphs[index];
    let changes = &edit.sub_graphs[index];
    if (&tables.name, &tables.inputs, &tables.outputs) != (&old.name, &old.inputs, &old.outputs) {
        return Err("its name, inputs or outputs".to_owned());
    }
    if tables.tensors.len() != old.tensors.len() + changes.new_tensors.len() {
        return Err("the number of tensors".to_owned());
    }
    for (number, tensor) in tables.tensors.iter().enumerate() {
        let wanted = match number.checked_sub(old.tensors.len()) {
            Some(added) => changes.new_tensors.get(added),
            None => changes.replaced_tensors.get(&number),
        };
        let same = match (wanted, old.tensors.get(number)) {
            (Some(wanted), _) => is_new_tensor(tensor, wanted),
            (None, Some(old)) => is_same_tensor(tensor, old),
            (None, None) => false,
        };
        if !same {
            return Err(format!("tensor {number}"));
        }
    }
    let kept = || (0..old.operators.len()).map(OperatorSource::Kept).collect();
    let sources = changes.operators.clone().unwrap_or_else(kept);
    if tables.operators.len() != sources.len() {
        return Err("the number of operators".to_owned());
    }
    let differs =
        |(number, source): (usize, &OperatorSource)| !is_same_operator(edit, new, index, number, source);
    match sources.iter().enumerate().position(differs) {
        Some(number) => Err(format!("operator {number}")),
        None => Ok(()),
    }
}

/// Where the value comes from is a matter of the operators around a tensor, so it may change with them.
fn is_same_tensor(new: &FileTensor, old: &FileTensor) -> bool {
    FileTensor { position: old.position, storage: old.storage, ..new.clone() } == *old
}

fn is_new_tensor(new: &FileTensor, wanted: &NewTensor) -> bool {
    let quantization = wanted.quantization.as_ref();
    new.name == wanted.name
        && new.shape == wanted.shape
        && new.dtype == wanted.dtype
        && new.buffer == wanted.buffer
        && new.quantization.as_ref()
            == quantization.filter(|q| !q.scales.is_empty() || !q.zero_points.is_empty())
}

fn is_same_operator(
    edit: &Edit,
    new: &Model,
    sub_graph: usize,
    number: usize,
    source: &OperatorSource,
) -> bool {
    let operator = &new.sub_graphs[sub_graph].operators[number];
    let old_operators = &edit.model.sub_graphs[sub_graph].operators;
    match source {
        OperatorSource::New { code, inputs, outputs, .. } => {
            operator.code == *code && (&operator.inputs, &operator.outputs) == (inputs, outputs)
        }
        OperatorSource::Rewired { operator: origin, inputs, outputs } => {
            let old = &old_operators[*origin];
            let expected = FileOperator { inputs: inputs.clone(), outputs: outputs.clone(), ..old.clone() };
            is_at_another_place(operator, &expected)
                && new.custom_options(sub_graph, number) == edit.model.custom_options(sub_graph, *origin)
        }
        OperatorSource::Kept(origin) => {
            let attributes = |model: &Model, number: usize| {
                model.graphs[sub_graph].ops().get(number).map(|op| op.attributes.clone())
            };
            let same_operands = old_operators[*origin]
                .present_inputs()
                .all(|tensor| !edit.sub_graphs[sub_graph].replaced_tensors.contains_key(&tensor));
            is_at_another_place(operator, &old_operators[*origin])
                && new.custom_options(sub_graph, number) == edit.model.custom_options(sub_graph, *origin)
                && (!same_operands || attributes(new, number) == attributes(edit.model, *origin))
        }
    }
}

/// The same but for where in the file it lies.
fn is_at_another_place(new: &FileOperator, old: &FileOperator) -> bool {
    let custom_options = old.custom_options.clone();
    FileOperator { position: old.position, custom_options, ..new.clone() } == *old
}
