//! From a set of changes to a new file.

use crate::flat::{Fault, Table};
use crate::schema::{buffer, metadata, model as slot, operator, sub_graph};
use crate::write::compact::compacted;
use crate::write::compare::{self, Written};
use crate::write::edit::{Edit, Edited, NewOptions, OperatorSource};
use crate::write::in_place;
use crate::write::interface::Interface;
use crate::write::node::{Field, Fields, Front, Node, add_to_u64};
use crate::write::parts::{
    code_node, extended, kept_operator_fields, option_field, refusal, tensors, unknown_field,
};
use crate::write::reuse::Reuse;
use crate::{Error, Model};
use std::collections::BTreeSet;

impl Edit<'_> {
    /// Makes the changes.
    ///
    /// # Errors
    /// If the changes contradict each other or the model, if the file has fields that cannot be carried, or if the result read
    /// again is not what was asked for.
    pub fn finish(mut self) -> Result<Edited, Error> {
        if self.model.options.fold_constants {
            return Err(Error::Edit("it was read with constants folded; read it without".to_owned()));
        }
        self.check_operators()?;
        self.check_moved_operators()?;
        self.check_state_order()?;
        let dropped_metadata = self.carry_metadata();
        let (metadata, metadata_buffers) = self.metadata_nodes(&Table::root(&self.model.bytes)?)?;
        let buffers: Vec<Vec<u8>> = self.buffers.iter().cloned().chain(metadata_buffers).collect();
        let reuse = if self.shrinks { Reuse::nothing(&self)? } else { Reuse::plan(&self, &buffers)? };
        let root = self.root(metadata, &buffers, &reuse)?;
        let too_large =
            || Error::Edit("the new file would exceed what its 32-bit distances can span".to_owned());
        let front = Front::new(root, *b"TFL3").ok_or_else(too_large)?;
        let shift = front.len();
        let mut old = self.model.bytes.clone();
        reuse.write(&buffers, &mut old).ok_or_else(too_large)?;
        let offsets = file_offsets(self.model)?;
        for &at in &offsets {
            add_to_u64(&mut old, at, shift as u64).ok_or_else(too_large)?;
        }
        let bytes = front.before(&old).ok_or_else(too_large)?;
        let changed = offsets.into_iter().map(|at| at..at + 8).chain(reuse.ranges.iter().cloned()).collect();
        compare::check(&self, &Written { bytes: &bytes, shift, changed, reuse })?;
        let smaller = if self.shrinks { compacted(&Model::parse(bytes.clone())?)? } else { None };
        Ok(Edited { bytes: smaller.unwrap_or(bytes), dropped_metadata })
    }

    /// As [`finish`](Self::finish), but where only the order of operators changes, and the file's layout allows it, in place.
    pub(crate) fn finish_in_place_if_possible(self, orders: &[Vec<usize>]) -> Result<Edited, Error> {
        let mut carried = self.clone();
        let dropped_metadata = carried.carry_metadata();
        if carried.metadata.is_empty()
            && let Some((bytes, vectors)) = in_place::permuted(self.model, orders)?
        {
            let changed = vectors.into_iter().collect();
            let written = Written { bytes: &bytes, shift: 0, changed, reuse: Reuse::default() };
            if compare::check(&self, &written).is_ok() {
                return Ok(Edited { bytes, dropped_metadata });
            }
        }
        self.finish()
    }

    /// Every operator of the old list that is named must be there. As it is it goes to one place only; changed, it may
    /// be divided among several.
    fn check_operators(&self) -> Result<(), Error> {
        for (index, edit) in self.sub_graphs.iter().enumerate() {
            let count = self.model.sub_graphs[self.origin(index)].operators.len();
            let mut used = vec![false; count];
            for source in edit.operators.iter().flatten() {
                if let Some(missing) = source.origin().filter(|&operator| operator >= count) {
                    return Err(Error::Edit(format!("sub-graph {index}: operator {missing} of {count}")));
                }
                let OperatorSource::Kept(kept) = *source else { continue };
                if std::mem::replace(&mut used[kept], true) {
                    let twice = kept;
                    return Err(Error::Edit(format!("sub-graph {index}: operator {twice} is listed twice")));
                }
            }
        }
        Ok(())
    }

    /// The new `Model`, with its list of metadata and its new buffers.
    fn root(&self, metadata: Fields, buffers: &[Vec<u8>], reuse: &Reuse) -> Result<Node, Error> {
        let old = Table::root(&self.model.bytes)?;
        if let Some(field) = unknown_field(&old, slot::EXTERNAL_BUFFERS)? {
            return Err(refusal("the model", field));
        }
        let mut fields = vec![(slot::VERSION, Field::U32(3))];
        for kept in
            [slot::DESCRIPTION, slot::METADATA_BUFFER, slot::EXTERNAL_BUFFER_GROUPS, slot::EXTERNAL_BUFFERS]
        {
            fields.extend(old.target(kept)?.map(|target| (kept, Field::Node(Node::Old(target)))));
        }
        fields.extend(self.signature_list(&old)?);
        let codes = self.codes.iter().map(code_node).collect();
        fields.extend(extended(&old, slot::OPERATOR_CODES, codes)?);
        let mut sub_graphs = Vec::new();
        for (index, table) in old.tables(slot::SUB_GRAPHS)?.iter().enumerate() {
            sub_graphs.push(self.sub_graph(index, &table?)?);
        }
        for new in &self.new_sub_graphs {
            sub_graphs.push(self.new_sub_graph_node(sub_graphs.len(), new)?);
        }
        fields.push((slot::SUB_GRAPHS, Field::Node(Node::Vector(sub_graphs))));
        fields.extend(metadata);
        fields.extend(buffer_list(&old, buffers, reuse)?);
        Ok(Node::Table(fields))
    }

    /// The list of metadata, if it changes, and the buffers that it needs behind those that were added.
    fn metadata_nodes(&self, root: &Table) -> Result<(Fields, Vec<Vec<u8>>), Fault> {
        if self.metadata.is_empty() {
            let old = root.target(slot::METADATA)?;
            let kept = old.map(|target| (slot::METADATA, Field::Node(Node::Old(target))));
            return Ok((kept.into_iter().collect(), Vec::new()));
        }
        let mut buffers = Vec::new();
        let mut node = |name: &str, bytes: &[u8]| {
            let number = self.model.buffers.len() + self.buffers.len() + buffers.len();
            buffers.push(bytes.to_vec());
            Node::Table(vec![
                (metadata::NAME, Field::Node(Node::Text(name.to_owned()))),
                (metadata::BUFFER, Field::U32(number as u32)),
            ])
        };
        let mut nodes = Vec::new();
        let mut done = BTreeSet::new();
        for (old, table) in self.model.metadata.iter().zip(root.tables(slot::METADATA)?.iter()) {
            match self.metadata.get(&old.name) {
                None => nodes.push(Node::Old(table?.position())),
                Some(None) => {}
                // If several have the name, the new bytes take the place of all.
                Some(Some(bytes)) => {
                    if done.insert(&old.name) {
                        nodes.push(node(&old.name, bytes));
                    }
                }
            }
        }
        for (name, bytes) in &self.metadata {
            if let Some(bytes) = bytes
                && !done.contains(name)
            {
                nodes.push(node(name, bytes));
            }
        }
        Ok((vec![(slot::METADATA, Field::Node(Node::Vector(nodes)))], buffers))
    }

    fn sub_graph(&self, index: usize, old: &Table) -> Result<Node, Error> {
        let edit = &self.sub_graphs[index];
        if edit.changes_nothing() {
            return Ok(Node::Old(old.position()));
        }
        if let Some(field) = unknown_field(old, sub_graph::DEBUG_METADATA_INDEX)? {
            return Err(refusal(&format!("sub-graph {index}"), field));
        }
        let mut fields: Fields = edit.interface.iter().flat_map(Interface::fields).collect();
        let stays: &[usize] =
            if edit.interface.is_some() { &[] } else { &[sub_graph::INPUTS, sub_graph::OUTPUTS] };
        for &kept in stays.iter().chain(&[sub_graph::NAME]) {
            fields.extend(old.target(kept)?.map(|target| (kept, Field::Node(Node::Old(target)))));
        }
        if old.field(sub_graph::DEBUG_METADATA_INDEX, 4)?.is_some() {
            let number = old.number(sub_graph::DEBUG_METADATA_INDEX, -1)?;
            fields.push((sub_graph::DEBUG_METADATA_INDEX, Field::I32(number)));
        }
        fields.extend(tensors(self.model, old, edit)?);
        match &edit.operators {
            None => fields.extend(
                old.target(sub_graph::OPERATORS)?
                    .map(|target| (sub_graph::OPERATORS, Field::Node(Node::Old(target)))),
            ),
            Some(sources) => {
                let nodes = sources.iter().map(|source| self.operator(index, source));
                let nodes = nodes.collect::<Result<Vec<_>, _>>()?;
                fields.push((sub_graph::OPERATORS, Field::Node(Node::Vector(nodes))));
            }
        }
        Ok(Node::Table(fields))
    }

    pub(crate) fn operator(&self, sub_graph: usize, source: &OperatorSource) -> Result<Node, Error> {
        let sub_graph = self.origin(sub_graph);
        let position = |operator: usize| self.model.sub_graphs[sub_graph].operators[operator].position;
        let (inputs, outputs, mut fields) = match source {
            OperatorSource::Kept(operator) => return Ok(Node::Old(position(*operator))),
            OperatorSource::Rewired { operator: origin, inputs, outputs } => {
                (inputs, outputs, self.kept_fields(sub_graph, *origin, inputs.len())?)
            }
            OperatorSource::Changed { operator: origin, inputs, outputs, options } => {
                let mut fields = self.kept_fields(sub_graph, *origin, inputs.len())?;
                let (slot, table) = self.changed_options(sub_graph, *origin, options)?;
                fields.retain(|(kept, _)| *kept != slot);
                fields.push((slot, Field::Node(table)));
                (inputs, outputs, fields)
            }
            OperatorSource::New { code, inputs, outputs, options } => {
                let mut fields = vec![(operator::OPCODE_INDEX, Field::U32(*code as u32))];
                if let NewOptions::Table { kind, fields: values } = options {
                    let values = values.iter().map(|(slot, value)| (*slot, option_field(value))).collect();
                    fields.push((operator::OPTIONS_TYPE, Field::U8(*kind)));
                    fields.push((operator::OPTIONS, Field::Node(Node::Table(values))));
                }
                (inputs, outputs, fields)
            }
        };
        let numbers = |operands: &[Option<usize>]| {
            Node::i32s(operands.iter().map(|operand| operand.map_or(-1, |number| number as i32)))
        };
        fields.push((operator::INPUTS, Field::Node(numbers(inputs))));
        fields.push((operator::OUTPUTS, Field::Node(numbers(outputs))));
        Ok(Node::Table(fields))
    }

    /// Everything of an old operator but its operands.
    fn kept_fields(&self, sub_graph: usize, origin: usize, inputs: usize) -> Result<Fields, Error> {
        let position = self.model.sub_graphs[sub_graph].operators[origin].position;
        let old = Table::at(&self.model.bytes, position)?;
        if let Some(field) = unknown_field(&old, operator::DEBUG_METADATA_INDEX)? {
            return Err(refusal(&format!("sub-graph {sub_graph}, operator {origin}"), field));
        }
        Ok(kept_operator_fields(&old, inputs)?)
    }
}

/// The old buffers, those empty whose bytes are gone, and the new ones.
fn buffer_list(root: &Table, new: &[Vec<u8>], reuse: &Reuse) -> Result<Option<(usize, Field)>, Fault> {
    let vector = |(index, data): (usize, &Vec<u8>)| match reuse.vectors.get(&index) {
        _ if data.is_empty() => Node::Table(Vec::new()),
        Some(&vector) => Node::Table(vec![(buffer::DATA, Field::Node(Node::Old(vector)))]),
        None => Node::Table(vec![(buffer::DATA, Field::Node(Node::Data(data.clone())))]),
    };
    let mut field = extended(root, slot::BUFFERS, new.iter().enumerate().map(vector).collect())?;
    if let Some((_, Field::Node(Node::Vector(list)))) = &mut field {
        for &emptied in &reuse.emptied {
            list[emptied] = Node::Table(Vec::new());
        }
    }
    Ok(field)
}

/// Where the file counts from its own start: each place once, even if tables are shared.
fn file_offsets(model: &Model) -> Result<BTreeSet<usize>, Fault> {
    let root = Table::root(&model.bytes)?;
    let mut places = BTreeSet::new();
    let mut add = |table: &Table, slot| {
        if table.number::<u64>(slot, 0)? > 1 {
            places.extend(table.field(slot, 8)?);
        }
        Ok(())
    };
    for table in root.tables(slot::BUFFERS)?.iter() {
        add(&table?, buffer::OFFSET)?;
    }
    for operator in model.sub_graphs.iter().flat_map(|sub_graph| &sub_graph.operators) {
        add(&Table::at(&model.bytes, operator.position)?, operator::LARGE_CUSTOM_OPTIONS_OFFSET)?;
    }
    Ok(places)
}
