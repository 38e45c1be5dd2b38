//! A model file, read.

use crate::constant::{self, Constant};
use crate::data_type::DataType;
use crate::declare;
use crate::edit::{Edit, NodeSource};
use crate::error::{Error, OpenInput};
use crate::infer::{Open, Scope, Settings};
use crate::lower::{Lowered, lower};
use crate::proto::{self, AttributeValue, Dim, ValueInfo};
use crate::wire::Message;
use crate::write;
use serenity_ir::{ElementType, Graph, KnownShape, OpId, TensorId};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;

/// How to read a model.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// Shapes of dynamic inputs, and of other tensors whose shape cannot be inferred, by name.
    pub shapes: BTreeMap<String, Vec<u64>>,
    /// Element types of tensors whose type cannot be inferred, by name.
    pub types: BTreeMap<String, ElementType>,
    /// Take nodes that read constants only for operators like all others, as a runtime does that computes them in every
    /// run. `Constant` itself stays a constant.
    pub keep_constant_nodes: bool,
}

/// A node that computes a constant from constants: no operator of the graph, but still a node of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FoldedNode {
    /// Its position in the file.
    pub node: usize,
    /// Its name, or that of its first output.
    pub name: String,
    /// What it computes.
    pub op_type: String,
    /// Bytes of its outputs, as far as they are known. A runtime that does not fold constants spends them.
    pub bytes: u64,
}

/// An ONNX model: its bytes, untouched, and the graph they describe.
#[derive(Clone, Debug)]
pub struct Model {
    bytes: Vec<u8>,
    /// For each node, its record in the file.
    records: Vec<Range<usize>>,
    /// For each constant that the file defines once, the content of its tensor.
    constants: HashMap<String, Range<usize>>,
    opset: i64,
    lowered: Lowered,
    folded: Vec<FoldedNode>,
    side_files: Vec<String>,
    overridable: HashSet<String>,
    redefines_operators: bool,
    is_open: bool,
    notes: BTreeMap<String, String>,
    options: ReadOptions,
}

impl Model {
    /// Reads a model. The data of constants are not looked at, and files beside the model are not opened.
    ///
    /// # Errors
    /// If the bytes are no model, if its nodes form no graph, or if an input's size is left to the caller and
    /// [`ReadOptions::shapes`] does not give it.
    pub fn parse(bytes: impl Into<Vec<u8>>, options: &ReadOptions) -> Result<Self, Error> {
        let bytes = bytes.into();
        let model = proto::Model::read(&bytes)?;
        check_inputs(&model.graph, options)?;
        let types = given_types(options)?;
        let settings = Settings {
            opset: model.opset,
            functions: &model.functions,
            shapes: &options.shapes,
            types: &types,
            open: None,
        };
        let scope = Scope::infer(&model.graph, &[], None, &settings);
        check_given_shapes(&model.graph, &scope, options)?;
        let overridable = constant::overridable(&model);
        let open = Open::of(&model.graph, &overridable);
        let loaded = Scope::infer(&model.graph, &[], None, &Settings { open: Some(&open), ..settings });
        let known = |name: &str, shape: Option<&[u64]>| match loaded.get(name).and_then(|f| f.shape.as_ref())
        {
            Some(sizes) => KnownShape::of(open.dims(sizes), shape),
            None => KnownShape::Nothing,
        };
        let lowered = lower(&model, &scope, &known, options.keep_constant_nodes)?;
        let folded = lowered.folded.iter().map(|&index| {
            let node = &model.graph.nodes[index];
            let sizes = node.outputs.iter().filter_map(|name| scope.get(name)?.bytes());
            FoldedNode {
                node: index,
                name: node.label().to_owned(),
                op_type: node.op_type.to_owned(),
                bytes: sizes.fold(0, u64::saturating_add),
            }
        });
        let folded: Vec<FoldedNode> = folded.collect();
        let mut side_files = BTreeSet::new();
        for graph in std::iter::once(&model.graph).chain(&model.function_bodies).chain(&model.training.graphs)
        {
            add_side_files(graph, &mut side_files);
        }
        let records: Vec<_> = model.graph.nodes.iter().map(|node| node.record.clone()).collect();
        let side_files: Vec<String> = side_files.into_iter().map(str::to_owned).collect();
        let (constants, opset) = (constant::index(&model), model.opset);
        let redefines_operators = model.functions.iter().any(|(domain, _)| proto::is_standard(domain));
        let constant_names: HashSet<&str> = model.graph.initializers.iter().map(|t| t.name).collect();
        let mut inputs = model.graph.inputs.iter().filter(|input| !constant_names.contains(input.name));
        let is_open = inputs.any(|input| input.fact().shape.is_none());
        let notes = model.metadata.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
        let options = options.clone();
        Ok(Self {
            bytes,
            records,
            constants,
            opset,
            lowered,
            folded,
            side_files,
            overridable,
            redefines_operators,
            is_open,
            notes,
            options,
        })
    }

    /// How it was read.
    pub fn options(&self) -> &ReadOptions {
        &self.options
    }

    /// The file as it was read.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The main graph: activations only, ops in the file's order.
    ///
    /// Tensors come in this order: the inputs that are no constants, the outputs of the ops, then tensors of 0 bytes that keep
    /// ops with random or unknown effects in order. Ops that run graphs themselves read what those capture, after their own
    /// operands; `bodies` numbers their graphs through the file, from 1.
    pub fn graph(&self) -> &Graph {
        &self.lowered.graph
    }

    /// The position in the file of the node that is this op.
    ///
    /// # Panics
    /// If `op` is none of this model's graph.
    pub fn node_of(&self, op: OpId) -> usize {
        self.lowered.node_of_op[op.index()]
    }

    /// The names that a node reads, by its position in the file; an empty one stands for an operand left out. None if
    /// there is no such node.
    pub fn node_inputs(&self, node: usize) -> Vec<String> {
        self.node(node).map_or_else(Vec::new, |node| node.inputs.into_iter().map(str::to_owned).collect())
    }

    /// The names that a node writes, by its position in the file.
    pub fn node_outputs(&self, node: usize) -> Vec<String> {
        self.node(node).map_or_else(Vec::new, |node| node.outputs.into_iter().map(str::to_owned).collect())
    }

    fn node(&self, node: usize) -> Option<proto::Node<'_>> {
        proto::Node::read(Message::part(&self.bytes, self.records.get(node)?.clone()).only_content()?, 0).ok()
    }

    /// The version of the standard's operators that the file is written for.
    pub fn opset(&self) -> i64 {
        self.opset
    }

    /// A constant that the file holds as data, by name: an initializer, or the tensor of a `Constant` node.
    ///
    /// `None` if there is no such constant, if its data lie in another file or are not as many as its shape says, and
    /// for types other than float16, bfloat16, float32, float64, int8, uint8, int32 and int64.
    pub fn constant(&self, name: &str) -> Option<Constant<'_>> {
        Constant::read(Message::part(&self.bytes, self.constants.get(name)?.clone()))
    }

    /// May whoever runs the model give this constant another value? So it is if it is listed among the inputs too, but for the
    /// first versions of the format, in which every constant had to be.
    pub fn is_overridable(&self, constant: &str) -> bool {
        self.overridable.contains(constant)
    }

    /// Does the file define functions under names of the standard's operators, so that these may mean something else?
    pub fn redefines_operators(&self) -> bool {
        self.redefines_operators
    }

    /// Begins a change: a file with other nodes and other constants.
    ///
    /// # Errors
    /// None for a model that was read: the file is read once more.
    pub fn edit(&self) -> Result<Edit<'_>, Error> {
        Edit::begin(&self.bytes, &self.lowered.folded)
    }

    /// The nodes that are no ops of the graph because they only turn constants into constants, in the file's order.
    pub fn folded(&self) -> &[FoldedNode] {
        &self.folded
    }

    /// The activations whose size nobody knows before the model runs (data-dependent shapes, sequences, text, operators
    /// that the standard does not define). They count 0 bytes, and the [graph](Self::graph) says so (`Graph::unknown`);
    /// [`ReadOptions::shapes`] can give a shape to those that have one, and [`ReadOptions::types`] a type.
    pub fn unsized_tensors(&self) -> &[TensorId] {
        &self.lowered.unsized_tensors
    }

    /// The files that hold the data of constants outside the model, as the model names them: relative to its own folder. They are
    /// not opened, and a model written elsewhere finds them only if they go with it.
    pub fn side_files(&self) -> &[String] {
        &self.side_files
    }

    /// The file with its nodes in another order; every byte outside the list of nodes, and of every node, stays as it is.
    ///
    /// A node that is no op ([`folded`](Self::folded)) comes directly before the first node that needs it, so that a
    /// runtime that does compute it holds the result no longer than need be; those that nothing needs come last. The
    /// order that the file has already gives back the file.
    ///
    /// # Errors
    /// If the graph cannot run in this order.
    pub fn reordered(&self, order: &[OpId]) -> Result<Vec<u8>, Error> {
        self.lowered.graph.check_order(order)?;
        let is_own = order.is_sorted() && self.records.is_sorted_by_key(|record| record.start);
        if is_own {
            return Ok(self.bytes.clone());
        }
        Ok(write::permuted(&self.bytes, &self.records, &write::node_order(&self.lowered, order)))
    }

    /// The file with its nodes in another order and the shapes of tensors between nodes written down (`value_info`), so
    /// that a runtime knows as much of them as we do.
    ///
    /// Where the file leaves a size open, shapes are only what [`ReadOptions`] makes of it, and other runs may have
    /// others. Then nothing is said but that the two tensors of each pair in `alike` have one shape, whatever it is:
    /// their dimensions get names in common. `notes` are keys and values for the model's metadata.
    ///
    /// # Errors
    /// If the graph cannot run in this order, or the file would be larger than the format allows.
    pub fn declared(
        &self,
        order: &[OpId],
        alike: &[(TensorId, TensorId)],
        notes: &[(&str, &str)],
    ) -> Result<Vec<u8>, Error> {
        self.lowered.graph.check_order(order)?;
        let mut edit = self.edit()?;
        edit.set_nodes(write::node_order(&self.lowered, order).into_iter().map(NodeSource::Kept).collect());
        for (name, data_type, dims) in declare::all(&self.lowered.graph, alike, self.is_open) {
            edit.declare(name, data_type, dims);
        }
        for (key, value) in notes {
            edit.note(key, value);
        }
        edit.finish()
    }

    /// A note on the model (`metadata_props`), by its key.
    pub fn note(&self, key: &str) -> Option<&str> {
        self.notes.get(key).map(String::as_str)
    }

    /// What another program made of this model, read as this one was. Shapes and types given for tensors that are no
    /// longer there are left out, and so are inputs that were constants here, are no more and are read by nobody:
    /// whoever runs it would have to give them.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn successor(&self, bytes: impl Into<Vec<u8>>) -> Result<Self, Error> {
        let mut bytes = bytes.into();
        let mut options = self.options.clone();
        let model = proto::Model::read(&bytes)?;
        let graph = &model.graph;
        let inputs = || graph.inputs.iter().map(|input| input.name);
        let written = graph.nodes.iter().flat_map(|node| node.outputs.iter().copied());
        let there: HashSet<&str> = inputs().chain(written).collect();
        options.shapes.retain(|name, _| there.contains(name.as_str()));
        options.types.retain(|name, _| there.contains(name.as_str()));
        let own = |name: &str| self.graph().inputs().iter().any(|&t| self.graph().tensor(t).name == name);
        let mut used: HashSet<&str> = graph.initializers.iter().map(|tensor| tensor.name).collect();
        used.extend(graph.nodes.iter().flat_map(names_read));
        used.extend(graph.outputs.iter().map(|output| output.name));
        let unread: Vec<String> =
            inputs().filter(|name| !used.contains(name) && !own(name)).map(str::to_owned).collect();
        if !unread.is_empty() {
            let mut edit = Edit::begin(&bytes, &[])?;
            edit.leave_out(unread);
            bytes = edit.finish()?;
        }
        Self::parse(bytes, &options)
    }

    /// Does the file leave the size of an input to whoever runs it?
    pub fn is_open(&self) -> bool {
        self.is_open
    }
}

/// What a node reads, by itself and in its graphs.
fn names_read<'a>(node: &proto::Node<'a>) -> Vec<&'a str> {
    node.inputs.iter().copied().chain(crate::effects::captures(node)).collect()
}

/// Every input must have a size, given by the file or by the caller, and the two must agree.
fn check_inputs(graph: &proto::Graph<'_>, options: &ReadOptions) -> Result<(), Error> {
    let constants: HashSet<&str> = graph.initializers.iter().map(|t| t.name).collect();
    let mut open = Vec::new();
    for input in graph.inputs.iter().filter(|input| !constants.contains(input.name)) {
        let is_open = |dims: &[Dim<'_>]| dims.iter().any(|dim| matches!(dim, Dim::Named(_)));
        match (options.shapes.get(input.name), input.dims.as_deref()) {
            (Some(given), Some(declared)) if !agrees(given, declared) => {
                let (tensor, given, declared) = (input.name.to_owned(), join(given), join(declared));
                return Err(Error::ShapeConflict { tensor, given, declared });
            }
            (None, Some(dims)) if is_open(dims) => open.push((input, dims)),
            (None, None) if input.data_type.is_some() => open.push((input, &[])),
            _ => {}
        }
    }
    if open.is_empty() { Ok(()) } else { Err(open_inputs(&open)) }
}

fn agrees(given: &[u64], declared: &[Dim<'_>]) -> bool {
    let fits = |(&given, dim): (&u64, &Dim<'_>)| matches!(dim, Dim::Named(_)) || *dim == Dim::Known(given);
    given.len() == declared.len() && given.iter().zip(declared).all(fits)
}

/// Names them and shows how to give them all. Without dimensions, not even their number is known.
fn open_inputs(open: &[(&ValueInfo<'_>, &[Dim<'_>])]) -> Error {
    let size = |dim: &Dim<'_>| if let Dim::Known(size) = dim { *size } else { 1 };
    let input = |&(input, dims): &(&ValueInfo<'_>, &[Dim<'_>])| {
        let sizes: Vec<u64> = dims.iter().map(size).collect();
        let [shape, example] = if dims.is_empty() {
            ["…".to_owned(), "1,3,224,224".to_owned()]
        } else {
            [join(dims), join(&sizes)]
        };
        OpenInput { name: input.name.to_owned(), shape, example }
    };
    Error::OpenInputs { inputs: open.iter().map(input).collect() }
}

/// The element types that the caller gave, by number.
fn given_types(options: &ReadOptions) -> Result<BTreeMap<String, DataType>, Error> {
    let number = |(name, element): (&String, &ElementType)| match DataType::of(element) {
        Some(data_type) => Ok((name.clone(), data_type)),
        None => Err(Error::UnknownType { tensor: name.clone(), name: element.name().to_owned() }),
    };
    options.types.iter().map(number).collect()
}

/// Every shape the caller gave must name an activation, and not one that turned out otherwise.
fn check_given_shapes(
    graph: &proto::Graph<'_>,
    scope: &Scope<'_, '_>,
    options: &ReadOptions,
) -> Result<(), Error> {
    if options.shapes.is_empty() && options.types.is_empty() {
        return Ok(());
    }
    let constants: HashSet<&str> = graph.initializers.iter().map(|t| t.name).collect();
    let inputs = graph.inputs.iter().map(|i| i.name).filter(|name| !constants.contains(name));
    let outputs = graph.nodes.iter().flat_map(|node| node.outputs.iter().copied());
    let activations: HashSet<&str> = inputs.clone().chain(outputs).collect();
    for (name, given) in &options.shapes {
        if !activations.contains(name.as_str()) {
            let inputs: Vec<String> = inputs.map(|name| format!("`{name}`")).collect();
            return Err(Error::UnknownName { tensor: name.clone(), inputs: inputs.join(", ") });
        }
        if let Some(shape) = scope.get(name).and_then(|fact| fact.shape.as_ref())
            && shape != given
        {
            let (given, declared) = (join(given), join(shape));
            return Err(Error::ShapeConflict { tensor: name.clone(), given, declared });
        }
    }
    for (name, given) in &options.types {
        let declared = scope.get(name).and_then(|fact| fact.data_type).map(DataType::element_type);
        if let Some(declared) = declared.filter(|declared| declared != given) {
            let (given, declared) = (given.name().to_owned(), declared.name().to_owned());
            return Err(Error::TypeConflict { tensor: name.clone(), given, declared });
        }
    }
    Ok(())
}

fn join<T: ToString>(dims: &[T]) -> String {
    dims.iter().map(T::to_string).collect::<Vec<_>>().join(",")
}

fn add_side_files<'a>(graph: &proto::Graph<'a>, into: &mut BTreeSet<&'a str>) {
    into.extend(graph.initializers.iter().filter_map(|tensor| tensor.side_file));
    for node in &graph.nodes {
        for attribute in &node.attributes {
            match &attribute.value {
                AttributeValue::Tensor(tensor) => into.extend(tensor.side_file),
                AttributeValue::Tensors(tensors) => into.extend(tensors.iter().filter_map(|t| t.side_file)),
                _ => {}
            }
        }
        for body in node.bodies() {
            add_side_files(body, into);
        }
    }
}
