//! Sub-graphs that are added to a file.
//!
//! They come behind the old ones. What they compute may have been computed by an old one: operators then keep their
//! options, and constants are the very tables of the old file, so that nothing is said twice.

use crate::flat::Table;
use crate::schema::{operator, sub_graph};
use crate::tensor::Storage;
use crate::write::edit::{AddedTensor, Edit, OperatorSource, SubGraphEdit};
use crate::write::interface::Interface;
use crate::write::node::{Field, Node};
use crate::write::parts::tensor_node;
use crate::{Error, Model};
use serenity_ir::{OpId, TensorId};

/// What a new sub-graph is besides its tensors and operators.
#[derive(Clone, Debug)]
pub(crate) struct NewSubGraph {
    pub(crate) name: String,
    /// The old sub-graph that its operators and constants may come from.
    pub(crate) origin: usize,
}

impl Edit<'_> {
    /// Adds an empty sub-graph; returns its number. Its operators and constants may come from the old sub-graph `origin`.
    ///
    /// # Errors
    /// If there is no such sub-graph.
    pub fn add_sub_graph(&mut self, name: &str, origin: usize) -> Result<usize, Error> {
        if origin >= self.model.sub_graphs.len() {
            return Err(self.no_sub_graph(origin));
        }
        self.new_sub_graphs.push(NewSubGraph { name: name.to_owned(), origin });
        self.sub_graphs
            .push(SubGraphEdit { interface: Some(Interface::default()), ..SubGraphEdit::default() });
        Ok(self.sub_graphs.len() - 1)
    }

    /// Adds a constant of the old sub-graph that a new one comes from, with all that the file says of it; returns its
    /// number there.
    ///
    /// # Errors
    /// If there is no such new sub-graph, or no such constant.
    pub fn copy_constant(&mut self, sub_graph: usize, tensor: usize) -> Result<usize, Error> {
        let Some(&NewSubGraph { origin, .. }) = self.new_sub_graph(sub_graph) else {
            return Err(Error::Edit(format!("sub-graph {sub_graph} is not a new one")));
        };
        let old = self.old_tensor(origin, tensor)?;
        if old.storage != Storage::Constant {
            return Err(Error::Edit(format!("tensor `{}` is not a constant", old.name)));
        }
        let tensors = &mut self.sub_graphs[sub_graph].new_tensors;
        tensors.push(AddedTensor::Old { sub_graph: origin, tensor });
        Ok(tensors.len() - 1)
    }

    /// The new sub-graph of this number, if it is one.
    pub(crate) fn new_sub_graph(&self, index: usize) -> Option<&NewSubGraph> {
        self.new_sub_graphs.get(index.checked_sub(self.model.sub_graphs.len())?)
    }

    /// The old sub-graph whose operators the list of this one names: itself, unless it is new.
    pub(crate) fn origin(&self, sub_graph: usize) -> usize {
        self.new_sub_graph(sub_graph).map_or(sub_graph, |new| new.origin)
    }

    pub(crate) fn new_sub_graph_node(&self, index: usize, new: &NewSubGraph) -> Result<Node, Error> {
        let edit = &self.sub_graphs[index];
        let tensors = edit.new_tensors.iter().map(|tensor| added_tensor_node(self.model, tensor)).collect();
        let sources = edit.operators.iter().flatten();
        let operators =
            sources.map(|source| self.operator(index, source)).collect::<Result<Vec<_>, Error>>()?;
        let mut fields = vec![
            (sub_graph::TENSORS, Field::Node(Node::Vector(tensors))),
            (sub_graph::OPERATORS, Field::Node(Node::Vector(operators))),
            (sub_graph::NAME, Field::Node(Node::Text(new.name.clone()))),
        ];
        fields.extend(edit.interface.iter().flat_map(Interface::fields));
        Ok(Node::Table(fields))
    }

    /// Operators go to a new sub-graph only if they need nothing of the old one but what they are handed.
    pub(crate) fn check_moved_operators(&self) -> Result<(), Error> {
        for index in self.model.sub_graphs.len()..self.sub_graphs.len() {
            let origin = self.origin(index);
            for source in self.sub_graphs[index].operators.iter().flatten() {
                let Some(number) = source.origin() else { continue };
                let refused = |why: &str| {
                    let place = format!("sub-graph {origin}, operator {number}");
                    Err(Error::Edit(format!("{place} cannot go to sub-graph {index}: {why}")))
                };
                if let OperatorSource::Kept(_) = source {
                    return refused("the tensors that it names are not there");
                }
                let sub_graph = &self.model.sub_graphs[origin];
                let table = Table::at(&self.model.bytes, sub_graph.operators[number].position)?;
                if table.numbers::<i32>(operator::INTERMEDIATES)?.len() > 0 {
                    return refused("its intermediate tensors are not there");
                }
                // Tensors behind those of the file are made up, to keep operators in order.
                let op = self.model.graphs[origin].op(OpId(number as u32));
                let is_made_up = |id: &TensorId| id.index() >= sub_graph.file_tensors.len();
                if op.inputs.iter().chain(&op.outputs).any(is_made_up) {
                    return refused("it must keep its place among others");
                }
            }
        }
        Ok(())
    }
}

/// A tensor that was added, or the table of an old one.
pub(crate) fn added_tensor_node(model: &Model, tensor: &AddedTensor) -> Node {
    match tensor {
        AddedTensor::New(new) => tensor_node(new, None),
        AddedTensor::Old { sub_graph, tensor } => {
            Node::Old(model.sub_graphs[*sub_graph].tensors[*tensor].position)
        }
    }
}
