//! Changes to a model, collected and then made all at once.
//!
//! Only the main graph's list of nodes and its constants change. The new file is the old one with the records of both
//! exchanged; what names tensors that are gone goes too, every other byte stays. Nodes are given as a list in which
//! each says where it comes from, so one old node can become several that keep all its fields, those we do not know
//! included.

mod definitions;
mod finish;
mod folded;
mod gone;
mod names;
mod source;
mod splice;

pub use source::NodeSource;

use crate::data_type::DataType;
use crate::declare::NewDim;
use crate::error::Error;
use crate::proto;
use serenity_ir::ElementType;
use std::collections::{BTreeMap, HashMap, HashSet};

/// A change to a model's main graph; [`Model::edit`](crate::Model::edit) begins one.
///
/// ```
/// use serenity_onnx::{Model, NodeSource, ReadOptions};
/// use std::collections::BTreeMap;
/// # fn main() -> Result<(), serenity_onnx::Error> {
/// # let bytes = b"\x3a\x2e\x0a\x0c\x0a\x01x\x12\x01y\x22\x04Relu\
/// #     \x5a\x13\x0a\x01x\x12\x0e\x0a\x0c\x08\x01\x12\x08\x0a\x02\x08\x02\x0a\x02\x08\x03\x62\x09\x0a\x01y\x12\x04\x0a\x02\x08\x01";
/// // y = Relu(x) becomes t = Neg(x), y = Relu(t).
/// let model = Model::parse(bytes, &ReadOptions::default())?;
/// let mut edit = model.edit()?;
/// let between = edit.fresh_name("x");
/// assert_eq!(between, "x_1");
/// edit.set_nodes(vec![
///     NodeSource::New {
///         op_type: "Neg".to_owned(),
///         domain: String::new(),
///         name: String::new(),
///         inputs: vec!["x".to_owned()],
///         outputs: vec![between.clone()],
///         attributes: BTreeMap::new(),
///     },
///     NodeSource::Changed {
///         node: 0,
///         name: String::new(),
///         inputs: vec![between],
///         outputs: vec!["y".to_owned()],
///         attributes: BTreeMap::new(),
///     },
/// ]);
/// let changed = Model::parse(edit.finish()?, &ReadOptions::default())?;
/// assert_eq!(changed.graph().ops().len(), 2);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Edit<'m> {
    /// The whole file, and what was read from it.
    file: &'m [u8],
    model: proto::Model<'m>,
    /// The nodes that only turn constants into constants, in the file's order.
    folded: &'m [usize],
    /// Every name in the file and every fresh one.
    taken: HashSet<String>,
    /// By wanted name, the number that comes next.
    numbers: HashMap<String, u64>,
    nodes: Option<Vec<NodeSource>>,
    constants: Vec<NewConstant>,
    /// By name: the shapes to be declared.
    declared: BTreeMap<String, (DataType, Vec<NewDim>)>,
    /// Tensors of which the file says a shape that is not theirs any more.
    undeclared: HashSet<String>,
    /// By key: notes on the model.
    notes: BTreeMap<String, String>,
    /// Inputs that nobody reads, to be left out.
    unread: Vec<String>,
}

/// A constant to be written.
#[derive(Debug)]
struct NewConstant {
    name: String,
    data_type: DataType,
    shape: Vec<u64>,
    data: Vec<u8>,
}

impl<'m> Edit<'m> {
    pub(crate) fn begin(file: &'m [u8], folded: &'m [usize]) -> Result<Self, Error> {
        let model = proto::Model::read(file)?;
        let taken = names::all(&model).into_iter().map(str::to_owned).collect();
        let (numbers, constants) = (HashMap::new(), Vec::new());
        let (declared, notes) = (BTreeMap::new(), BTreeMap::new());
        Ok(Self {
            file,
            model,
            folded,
            taken,
            numbers,
            nodes: None,
            constants,
            declared,
            undeclared: HashSet::new(),
            notes,
            unread: Vec::new(),
        })
    }

    /// A name that nothing in the file has, bodies and declarations included, and that was not given out before:
    /// `wanted` itself, or `wanted` with a number.
    pub fn fresh_name(&mut self, wanted: &str) -> String {
        let mut name = wanted.to_owned();
        while name.is_empty() || self.taken.contains(&name) {
            let number = self.numbers.entry(wanted.to_owned()).or_default();
            *number += 1;
            name = format!("{wanted}_{number}");
        }
        self.taken.insert(name.clone());
        name
    }

    /// Gives the main graph a new list of nodes, in the order in which they run.
    ///
    /// A node that is no op of the graph ([`Model::folded`](crate::Model::folded)) may be left out: it comes directly
    /// before the first node that reads what it writes, or goes if there is none. [`finish`](Self::finish) checks the
    /// list.
    pub fn set_nodes(&mut self, nodes: Vec<NodeSource>) {
        self.nodes = Some(nodes);
    }

    /// Declares the shape of a tensor that a node writes, instead of what the file says of it.
    pub(crate) fn declare(&mut self, name: &str, data_type: DataType, dims: Vec<NewDim>) {
        self.declared.insert(name.to_owned(), (data_type, dims));
    }

    /// Leaves out what the file says of the shape of a tensor between nodes: whoever reads it finds out.
    pub fn undeclare(&mut self, name: &str) {
        self.undeclared.insert(name.to_owned());
    }

    /// Leaves out inputs that nobody reads.
    pub(crate) fn leave_out(&mut self, inputs: Vec<String>) {
        self.unread = inputs;
    }

    /// Adds a note on the model to its metadata, unless it is there.
    pub(crate) fn note(&mut self, key: &str, value: &str) {
        if !self.model.metadata.contains(&(key, value)) {
            self.notes.insert(key.to_owned(), value.to_owned());
        }
    }

    /// Adds a constant with the elements `data`, packed and little-endian. Its name is checked by [`finish`](Self::finish).
    ///
    /// # Errors
    /// If the format does not have the type or the shape, or if the data are not as many as they say.
    pub fn add_constant(
        &mut self,
        name: &str,
        dtype: &ElementType,
        shape: &[u64],
        data: Vec<u8>,
    ) -> Result<(), Error> {
        let fault = |what: String| Error::Edit(format!("constant `{name}`: {what}"));
        let data_type =
            DataType::of(dtype).ok_or_else(|| fault(format!("the format has no type {dtype}")))?;
        if shape.iter().any(|&dim| i64::try_from(dim).is_err()) {
            return Err(fault(format!("a dimension of {shape:?} is too large")));
        }
        if data_type.bytes_of(shape) != Some(data.len() as u64) {
            return Err(fault(format!("{} bytes are no {dtype} of shape {shape:?}", data.len())));
        }
        let (name, shape) = (name.to_owned(), shape.to_vec());
        self.constants.push(NewConstant { name, data_type, shape, data });
        Ok(())
    }
}
