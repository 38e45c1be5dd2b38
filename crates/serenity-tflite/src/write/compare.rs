//! Is a file that was written what was asked for? It is read again and compared, part by part, with the model it came from.

use crate::operator::FileOperator;
use crate::sub_graph::SubGraph;
use crate::tensor::FileTensor;
use crate::write::edit::{AddedTensor, Edit, NewTensor, OperatorSource};
use crate::write::extents::extents;
use crate::write::options;
use crate::write::ranges::Ranges;
use crate::write::reuse::Reuse;
use crate::{Error, Model};
use std::collections::BTreeSet;
use std::ops::Range;

/// A file that was written, and how the old one is part of it.
pub(crate) struct Written<'a> {
    pub(crate) bytes: &'a [u8],
    /// How far the old file has moved.
    pub(crate) shift: usize,
    /// Where in the old file bytes were to change.
    pub(crate) changed: Ranges,
    /// Which of them belong to new buffers.
    pub(crate) reuse: Reuse,
}

/// Compares a written file with the changes that were to be made.
///
/// All bytes that were not to change are compared once. After that it is enough that each part is found where it was:
/// parts may share bytes, so comparing them one by one could take the square of the file's length.
pub(crate) fn check(edit: &Edit, written: &Written) -> Result<(), Error> {
    let old = edit.model;
    let same = |what: &str, same: bool| {
        if same { Ok(()) } else { Err(Error::Unfaithful(what.to_owned())) }
    };
    same("bytes that were not to change", written.keeps_bytes(&old.bytes))?;
    let new = Model::parse(written.bytes.to_vec()).map_err(|error| match error {
        // New operators or tensors that make no sense are the caller's; they are named like those of any file.
        Error::Damaged { .. } => Error::Unfaithful(error.to_string()),
        other => other,
    })?;
    same("the description", new.description == old.description)?;
    same("the signatures", new.signatures == edit.signatures())?;
    same("the operator codes", new.codes.iter().eq(old.codes.iter().chain(&edit.codes)))?;
    for index in 0..old.buffers.len() {
        let (place, new_place) = (old.buffers.place(index), new.buffers.place(index));
        let is_as_it_was = written.keeps(&place) && new_place == written.moved(&place);
        let is_emptied = written.reuse.emptied.contains(&index) && new_place.is_empty();
        same("the buffers", is_as_it_was || is_emptied)?;
    }
    for (index, bytes) in edit.buffers.iter().enumerate() {
        same("the new buffers", new.buffer(old.buffers.len() + index) == bytes)?;
    }
    same("bytes that got another use", written.reuses_only_what_is_free(old.buffers.len(), &new)?)?;
    same("the metadata", has_metadata(edit, &new))?;
    same("the number of sub-graphs", new.sub_graphs.len() == edit.sub_graphs.len())?;
    for (index, sub_graph) in new.sub_graphs.iter().enumerate() {
        check_sub_graph(edit, &new, written, index, sub_graph)
            .map_err(|what| Error::Unfaithful(format!("sub-graph {index}, {what}")))?;
    }
    Ok(())
}

impl Written<'_> {
    /// Is everything as it was, but for what was to change?
    fn keeps_bytes(&self, old: &[u8]) -> bool {
        let Some(new) = self.bytes.get(self.shift..).filter(|new| new.len() == old.len()) else {
            return false;
        };
        let starts = std::iter::once(0).chain(self.changed.iter().map(|changed| changed.end));
        let ends = self.changed.iter().map(|changed| changed.start).chain([old.len()]);
        starts.zip(ends).all(|(start, end)| old.get(start..end) == new.get(start..end))
    }

    /// Were none of these bytes of the old file to change?
    fn keeps(&self, place: &Range<usize>) -> bool {
        !self.changed.overlap(place)
    }

    /// Is there nothing but new buffers where old ones were, and does nothing name those that are gone?
    fn reuses_only_what_is_free(&self, old_buffers: usize, new: &Model) -> Result<bool, Error> {
        if self.reuse.vectors.is_empty() {
            return Ok(true);
        }
        let tensors = new.sub_graphs.iter().flat_map(|sub_graph| &sub_graph.tensors);
        let mut named = tensors.map(|tensor| tensor.buffer).chain(new.metadata.iter().map(|m| m.buffer));
        if named.any(|buffer| self.reuse.emptied.contains(&buffer)) {
            return Ok(false);
        }
        let is_new = |buffer: usize| buffer >= old_buffers;
        let Some(others) = extents(new, &is_new)? else { return Ok(false) };
        Ok(!self.reuse.ranges.iter().any(|range| others.overlap(&self.moved(range))))
    }

    fn moved(&self, place: &Range<usize>) -> Range<usize> {
        place.start + self.shift..place.end + self.shift
    }
}

/// Kept metadata names the same buffer as before, new metadata one with the new bytes.
fn has_metadata(edit: &Edit, new: &Model) -> bool {
    let mut expected: Vec<(&str, Result<usize, &[u8]>)> = Vec::new();
    let mut done = BTreeSet::new();
    for old in &edit.model.metadata {
        match edit.metadata.get(&old.name) {
            None => expected.push((&old.name, Ok(old.buffer))),
            Some(Some(bytes)) if done.insert(&old.name) => expected.push((&old.name, Err(bytes))),
            Some(_) => {}
        }
    }
    let added = edit.metadata.iter().filter_map(|(name, bytes)| Some((name, bytes.as_deref()?)));
    expected.extend(
        added.filter(|(name, _)| !done.contains(name)).map(|(name, bytes)| (name.as_str(), Err(bytes))),
    );
    new.metadata.len() == expected.len()
        && new.metadata.iter().zip(expected).all(|(found, (name, wanted))| {
            found.name == name
                && match wanted {
                    Ok(buffer) => found.buffer == buffer,
                    Err(bytes) => new.buffer(found.buffer) == bytes,
                }
        })
}

fn check_sub_graph(
    edit: &Edit,
    new: &Model,
    written: &Written,
    index: usize,
    tables: &SubGraph,
) -> Result<(), String> {
    let changes = &edit.sub_graphs[index];
    let (old_tensors, old_operators, name) = if let Some(new) = edit.new_sub_graph(index) {
        ([].as_slice(), 0, &new.name)
    } else {
        let old = &edit.model.sub_graphs[index];
        (old.tensors.as_slice(), old.operators.len(), &old.name)
    };
    let (inputs, outputs) = match (&changes.interface, edit.model.sub_graphs.get(index)) {
        (Some(new), _) => (new.inputs.as_slice(), new.outputs.as_slice()),
        (None, Some(old)) => (old.inputs(), old.outputs()),
        (None, None) => (&[][..], &[][..]),
    };
    if (&tables.name, tables.inputs(), tables.outputs()) != (name, inputs, outputs) {
        return Err("its name, inputs or outputs".to_owned());
    }
    if tables.tensors.len() != old_tensors.len() + changes.new_tensors.len() {
        return Err("the number of tensors".to_owned());
    }
    for (number, tensor) in tables.tensors.iter().enumerate() {
        let added = number.checked_sub(old_tensors.len()).and_then(|added| changes.new_tensors.get(added));
        let same = match (added, changes.replaced_tensors.get(&number), old_tensors.get(number)) {
            (Some(AddedTensor::New(wanted)), ..) | (None, Some(wanted), _) => is_new_tensor(tensor, wanted),
            (Some(AddedTensor::Old { sub_graph, tensor: copied }), ..) => {
                is_same_tensor(tensor, &edit.model.sub_graphs[*sub_graph].tensors[*copied])
            }
            (None, None, Some(old)) => is_same_tensor(tensor, old),
            (None, None, None) => false,
        };
        if !same {
            return Err(format!("tensor {number}"));
        }
    }
    let kept = || (0..old_operators).map(OperatorSource::Kept).collect();
    let sources = changes.operators.clone().unwrap_or_else(kept);
    if tables.operators.len() != sources.len() {
        return Err("the number of operators".to_owned());
    }
    let differs = |(number, source): (usize, &OperatorSource)| {
        !is_same_operator(edit, new, written, index, number, source)
    };
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
        && new.shape_signature == wanted.shape_signature
        && new.dtype == wanted.dtype
        && new.buffer == wanted.buffer
        && new.quantization.as_ref()
            == quantization.filter(|q| !q.scales.is_empty() || !q.zero_points.is_empty())
}

fn is_same_operator(
    edit: &Edit,
    new: &Model,
    written: &Written,
    sub_graph: usize,
    number: usize,
    source: &OperatorSource,
) -> bool {
    let operator = &new.sub_graphs[sub_graph].operators[number];
    let old_operators = &edit.model.sub_graphs[edit.origin(sub_graph)].operators;
    match source {
        OperatorSource::New { code, inputs, outputs, options } => {
            operator.code == *code
                && (&operator.inputs, &operator.outputs) == (inputs, outputs)
                && options::are_as_given(new, operator, options)
        }
        OperatorSource::Rewired { operator: origin, inputs, outputs } => {
            let (inputs, outputs) = (inputs.clone(), outputs.clone());
            let expected = FileOperator { inputs, outputs, ..old_operators[*origin].clone() };
            is_moved_operator(operator, &expected, written)
        }
        OperatorSource::Changed { operator: origin, inputs, outputs, options } => {
            let origin = &old_operators[*origin];
            let (inputs, outputs) = (inputs.clone(), outputs.clone());
            let expected = FileOperator { inputs, outputs, ..origin.clone() };
            is_moved_operator(operator, &expected, written)
                && options::are_changed((new, operator), (edit.model, origin), options)
        }
        OperatorSource::Kept(origin) => {
            let attributes = |model: &Model, number: usize| {
                model.graphs[sub_graph].ops().get(number).map(|op| op.attributes.clone())
            };
            // What an operator says of its constants changes with them.
            let replaced = &edit.sub_graphs[sub_graph].replaced_tensors;
            let has_new_operands = operator.present_inputs().any(|tensor| replaced.contains_key(&tensor));
            is_moved_operator(operator, &old_operators[*origin], written)
                && (has_new_operands || attributes(new, number) == attributes(edit.model, *origin))
        }
    }
}

/// Are both operators the same, apart from where they lie in the file?
fn is_moved_operator(new: &FileOperator, old: &FileOperator, written: &Written) -> bool {
    let options = &old.custom_options;
    let same_options = if options.is_empty() {
        new.custom_options.is_empty()
    } else {
        written.keeps(options) && new.custom_options == written.moved(options)
    };
    let custom_options = options.clone();
    same_options && FileOperator { position: old.position, custom_options, ..new.clone() } == *old
}
