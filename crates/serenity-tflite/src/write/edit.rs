//! Changes to a model, collected and then made all at once.

use crate::operator::OperatorCode;
use crate::schema::{builtin, element};
use crate::tensor::FileTensor;
use crate::write::interface::Interface;
use crate::write::sub_graphs::NewSubGraph;
use crate::{Error, Model};
use serenity_ir::{Attributes, ElementType, Quantization};
use std::collections::BTreeMap;

/// Changes to a model. Numbers of tensors, buffers and sub-graphs never change: new ones come behind the old ones, so that
/// whatever else names them (signatures, metadata, control flow) stays right.
///
/// The new file is a new root in front of the old one, which follows unchanged but for distances counted from the
/// file's start, and for constants that nothing names any more: new ones take their place.
#[derive(Clone, Debug)]
pub struct Edit<'a> {
    pub(crate) model: &'a Model,
    /// Added behind the old ones.
    pub(crate) buffers: Vec<Vec<u8>>,
    pub(crate) codes: Vec<OperatorCode>,
    /// By sub-graph, new ones behind the old ones.
    pub(crate) sub_graphs: Vec<SubGraphEdit>,
    pub(crate) new_sub_graphs: Vec<NewSubGraph>,
    /// By name: new bytes, or `None` to remove it.
    pub(crate) metadata: BTreeMap<String, Option<Vec<u8>>>,
    /// Does the file shrink by what is not needed any more?
    pub(crate) shrinks: bool,
    /// Do signatures go?
    pub(crate) drops_signatures: bool,
}

/// Changes to one sub-graph.
#[derive(Clone, Debug, Default)]
pub(crate) struct SubGraphEdit {
    pub(crate) replaced_tensors: BTreeMap<usize, NewTensor>,
    pub(crate) new_tensors: Vec<AddedTensor>,
    pub(crate) operators: Option<Vec<OperatorSource>>,
    /// Those of an old one stay if it is not given.
    pub(crate) interface: Option<Interface>,
}

impl SubGraphEdit {
    pub(crate) fn changes_tensors(&self) -> bool {
        !self.replaced_tensors.is_empty() || !self.new_tensors.is_empty()
    }

    pub(crate) fn changes_nothing(&self) -> bool {
        self.operators.is_none() && !self.changes_tensors() && self.interface.is_none()
    }
}

/// A tensor behind the old ones of a sub-graph.
#[derive(Clone, Debug)]
pub(crate) enum AddedTensor {
    New(NewTensor),
    /// A constant that another sub-graph has as well.
    Old {
        sub_graph: usize,
        tensor: usize,
    },
}

/// A tensor to be written.
#[derive(Clone, Debug, PartialEq)]
pub struct NewTensor {
    /// Its name, for people.
    pub name: String,
    /// The size of each dimension.
    pub shape: Vec<u64>,
    /// Its dimensions, with -1 for those that the model's author left open; `None` if there are none of these.
    pub shape_signature: Option<Vec<i32>>,
    /// The element type.
    pub dtype: ElementType,
    /// The buffer with its value if it is a constant; 0 if it is not.
    pub buffer: usize,
    /// What the stored integers stand for, if it is quantised.
    pub quantization: Option<Quantization>,
}

/// One operator of the new list. That of a new sub-graph takes old operators from the list of the sub-graph that it comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum OperatorSource {
    /// An operator of the old list, as it is.
    Kept(usize),
    /// An operator of the old list that reads and writes other tensors.
    Rewired {
        /// Its number in the old list.
        operator: usize,
        /// What it reads now.
        inputs: Vec<Option<usize>>,
        /// What it writes now.
        outputs: Vec<Option<usize>>,
    },
    /// An operator of the old list that reads and writes other tensors, and does it another way.
    Changed {
        /// Its number in the old list.
        operator: usize,
        /// What it reads now.
        inputs: Vec<Option<usize>>,
        /// What it writes now.
        outputs: Vec<Option<usize>>,
        /// Options that change, by the names and words of the graph's attributes: a padding, an activation or another
        /// choice. The rest stays.
        options: Attributes,
    },
    /// A new operator.
    New {
        /// What it does: a number that [`Edit::operator_code`] gave.
        code: usize,
        /// What it reads.
        inputs: Vec<Option<usize>>,
        /// What it writes.
        outputs: Vec<Option<usize>>,
        /// How it does it.
        options: NewOptions,
    },
}

impl OperatorSource {
    /// The operator of the old list that it comes from.
    pub(crate) fn origin(&self) -> Option<usize> {
        match self {
            Self::Kept(operator) | Self::Rewired { operator, .. } | Self::Changed { operator, .. } => {
                Some(*operator)
            }
            Self::New { .. } => None,
        }
    }
}

/// The options of a new operator.
#[derive(Clone, Debug, PartialEq)]
pub enum NewOptions {
    /// None at all.
    None,
    /// A table of its own, of a type of the schema's union `BuiltinOptions`.
    Table {
        /// The type's number in the union.
        kind: u8,
        /// Its fields by number. Those left out have their defaults.
        fields: Vec<(usize, OptionValue)>,
    },
}

/// The value of one field of an operator's options.
#[derive(Clone, Debug, PartialEq)]
pub enum OptionValue {
    /// A small enumeration, such as a padding or an activation.
    Byte(i8),
    /// A whole number.
    Int(i32),
    /// A list of whole numbers.
    Ints(Vec<i32>),
}

/// A file that was written, and what could not be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edited {
    /// The bytes of the file.
    pub bytes: Vec<u8>,
    /// Names of metadata that the change made wrong, and that was therefore removed.
    pub dropped_metadata: Vec<String>,
}

impl Model {
    /// Begins a change.
    pub fn edit(&self) -> Edit<'_> {
        Edit {
            model: self,
            // Buffer 0 must be the empty one, also in a file that has none yet.
            buffers: if self.buffers.len() == 0 { vec![Vec::new()] } else { Vec::new() },
            codes: Vec::new(),
            sub_graphs: vec![SubGraphEdit::default(); self.sub_graphs.len()],
            new_sub_graphs: Vec::new(),
            metadata: BTreeMap::new(),
            shrinks: false,
            drops_signatures: false,
        }
    }
}

impl Edit<'_> {
    /// Adds a buffer; returns its number.
    pub fn add_buffer(&mut self, bytes: Vec<u8>) -> usize {
        self.buffers.push(bytes);
        self.model.buffers.len() + self.buffers.len() - 1
    }

    /// Leaves out the bytes of constants that nothing names any more, and whatever else nothing refers to, if every
    /// part of the file is understood. What stays is the same, but parts move.
    pub fn shrink(&mut self) {
        self.shrinks = true;
    }

    /// Adds a tensor to a sub-graph; returns its number.
    ///
    /// # Errors
    /// If there is no such sub-graph or buffer, or the format cannot express the tensor.
    pub fn add_tensor(&mut self, sub_graph: usize, tensor: NewTensor) -> Result<usize, Error> {
        self.check_tensor(&tensor)?;
        let old = self.model.sub_graphs.get(sub_graph).map_or(0, |tables| tables.tensors.len());
        let Some(edit) = self.sub_graphs.get_mut(sub_graph) else {
            return Err(self.no_sub_graph(sub_graph));
        };
        edit.new_tensors.push(AddedTensor::New(tensor));
        Ok(old + edit.new_tensors.len() - 1)
    }

    /// Puts another tensor in the place of an old one.
    ///
    /// # Errors
    /// If there is no such sub-graph, tensor or buffer, or the format cannot express the tensor.
    pub fn replace_tensor(&mut self, sub_graph: usize, index: usize, tensor: NewTensor) -> Result<(), Error> {
        self.check_tensor(&tensor)?;
        self.old_tensor(sub_graph, index)?;
        self.sub_graphs[sub_graph].replaced_tensors.insert(index, tensor);
        Ok(())
    }

    /// Leaves nothing of a tensor but its name and type, for one that no operator touches any more: the runtimes give
    /// every tensor of the list its place in memory, used or not, and removing it would renumber the others.
    ///
    /// # Errors
    /// If there is no such sub-graph or tensor.
    pub fn retire_tensor(&mut self, sub_graph: usize, index: usize) -> Result<(), Error> {
        let old = self.old_tensor(sub_graph, index)?;
        let tensor = NewTensor {
            name: old.name.clone(),
            shape: vec![0],
            shape_signature: None,
            dtype: old.dtype.clone(),
            buffer: 0,
            quantization: None,
        };
        self.sub_graphs[sub_graph].replaced_tensors.insert(index, tensor);
        Ok(())
    }

    /// The number of a built-in operator in the file's list of operator codes, where it is added if need be.
    /// `version` is the least version of the runtimes' kernel that it needs.
    ///
    /// # Errors
    /// If the schema has no operator of this name.
    pub fn operator_code(&mut self, name: &str, version: i32) -> Result<usize, Error> {
        let builtin =
            builtin::code(name).ok_or_else(|| Error::Edit(format!("there is no operator `{name}`")))?;
        let code = OperatorCode { kind: name.to_owned(), builtin, version };
        let known = self.model.codes.iter().chain(&self.codes).position(|known| *known == code);
        Ok(known.unwrap_or_else(|| {
            self.codes.push(code);
            self.model.codes.len() + self.codes.len() - 1
        }))
    }

    /// Gives a sub-graph a new list of operators.
    ///
    /// # Errors
    /// If there is no such sub-graph. The list itself is checked by [`finish`](Self::finish).
    pub fn set_operators(&mut self, sub_graph: usize, operators: Vec<OperatorSource>) -> Result<(), Error> {
        match self.sub_graphs.get_mut(sub_graph) {
            Some(edit) => {
                edit.operators = Some(operators);
                Ok(())
            }
            None => Err(self.no_sub_graph(sub_graph)),
        }
    }

    /// Removes all signatures, for a model that is part of another one: its sub-graphs may take and give more or fewer
    /// tensors.
    pub fn remove_signatures(&mut self) {
        self.drops_signatures = true;
    }

    /// Adds metadata, or puts new bytes in the place of what has this name.
    pub fn set_metadata(&mut self, name: &str, bytes: Vec<u8>) {
        self.metadata.insert(name.to_owned(), Some(bytes));
    }

    /// Removes the metadata of this name, if there is any.
    pub fn remove_metadata(&mut self, name: &str) {
        self.metadata.insert(name.to_owned(), None);
    }

    pub(crate) fn old_tensor(&self, sub_graph: usize, index: usize) -> Result<&FileTensor, Error> {
        let tables = self.model.sub_graphs.get(sub_graph).ok_or_else(|| self.no_sub_graph(sub_graph))?;
        tables.tensors.get(index).ok_or_else(|| {
            Error::Edit(format!("sub-graph {sub_graph}: tensor {index} of {}", tables.tensors.len()))
        })
    }

    pub(crate) fn no_sub_graph(&self, index: usize) -> Error {
        Error::Edit(format!("sub-graph {index} of {}", self.sub_graphs.len()))
    }

    fn check_tensor(&self, tensor: &NewTensor) -> Result<(), Error> {
        let name = &tensor.name;
        let buffers = self.model.buffers.len() + self.buffers.len();
        if tensor.buffer >= buffers.max(1) {
            return Err(Error::Edit(format!("tensor `{name}`: buffer {} of {buffers}", tensor.buffer)));
        }
        if element::code(&tensor.dtype).is_none() {
            return Err(Error::Edit(format!("tensor `{name}`: the format has no type {}", tensor.dtype)));
        }
        if tensor.shape.iter().any(|&dim| i32::try_from(dim).is_err()) {
            return Err(Error::Edit(format!(
                "tensor `{name}`: a dimension of {:?} is too large",
                tensor.shape
            )));
        }
        Ok(())
    }
}
