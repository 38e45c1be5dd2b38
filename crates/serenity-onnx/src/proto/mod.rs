//! The few messages of ONNX that matter here, read once from the wire, borrowing from the file.
//!
//! Fields that are not named here are stepped over and stay in the file. A known field with a wire type that does not fit
//! it counts as unknown, as protocol buffers want it.

mod annotation;
mod attribute;
mod packed;
mod sort;
mod tensor;
mod value_info;

pub(crate) use annotation::Annotation;
pub(crate) use attribute::{Attribute, AttributeValue};
pub(crate) use tensor::{MOST_VALUES, Tensor};
pub(crate) use value_info::{Dim, ValueInfo};

use crate::Error;
use crate::wire::{Content, Message};
use std::collections::HashSet;
use std::ops::Range;

/// Sub-graphs nest at most this deep: three messages a level, and Google's reader allows one hundred.
const MOST_NESTED_GRAPHS: usize = 32;

/// `ModelProto`.
#[derive(Debug, Default)]
pub(crate) struct Model<'a> {
    /// The version of the format; 0 if the file does not say.
    pub(crate) ir_version: i64,
    pub(crate) graph: Graph<'a>,
    /// The main graph's tag, length and content, as a range of the file.
    pub(crate) graph_record: Range<usize>,
    /// The main graph's content, as a range of the file.
    pub(crate) graph_content: Range<usize>,
    /// The version of the standard operators.
    pub(crate) opset: i64,
    /// The domains whose operators the model may use.
    pub(crate) domains: HashSet<&'a str>,
    /// Domain and name of the functions that the model itself defines.
    pub(crate) functions: HashSet<(&'a str, &'a str)>,
    /// The bodies of those functions.
    pub(crate) function_bodies: Vec<Graph<'a>>,
    pub(crate) training: Training<'a>,
    /// Notes on the model, by key.
    pub(crate) metadata: Vec<(&'a str, &'a str)>,
}

/// All `TrainingInfoProto` of a model: how to begin, and what to repeat.
#[derive(Debug, Default)]
pub(crate) struct Training<'a> {
    /// They run together with the main graph, and may read whatever it defines.
    pub(crate) graphs: Vec<Graph<'a>>,
    /// The tensors that take new values, and those that hold them.
    pub(crate) bindings: Vec<&'a str>,
}

/// `GraphProto`.
#[derive(Debug, Default)]
pub(crate) struct Graph<'a> {
    pub(crate) name: &'a str,
    /// In an order in which they can run, if there is one.
    pub(crate) nodes: Vec<Node<'a>>,
    /// Dense and sparse, the latter with the shape they stand for.
    pub(crate) initializers: Vec<Tensor<'a>>,
    pub(crate) inputs: Vec<ValueInfo<'a>>,
    pub(crate) outputs: Vec<ValueInfo<'a>>,
    pub(crate) value_info: Vec<ValueInfo<'a>>,
    pub(crate) annotations: Vec<Annotation<'a>>,
}

/// `NodeProto`.
#[derive(Debug, Default)]
pub(crate) struct Node<'a> {
    pub(crate) name: &'a str,
    pub(crate) op_type: &'a str,
    pub(crate) domain: &'a str,
    /// An empty name stands for an optional input that is not given.
    pub(crate) inputs: Vec<&'a str>,
    pub(crate) outputs: Vec<&'a str>,
    pub(crate) attributes: Vec<Attribute<'a>>,
    /// Tag, length and content, as a range of the file.
    pub(crate) record: Range<usize>,
}

impl<'a> Model<'a> {
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, Error> {
        // Files older than versions mean the first.
        let mut model = Self { opset: 1, ..Self::default() };
        let mut graph = None;
        for field in Message::file(bytes).fields() {
            let field = field?;
            match (field.number, field.content) {
                (1, Content::Varint(version)) => model.ir_version = version as i64,
                (7, Content::Bytes(content)) => {
                    once(&mut graph, content, "graph")?;
                    model.graph_content = content.offset..field.record.end;
                    model.graph_record = field.record;
                }
                (8, Content::Bytes(content)) => {
                    let (domain, version) = read_opset(content)?;
                    model.domains.insert(domain);
                    if is_standard(domain) {
                        model.opset = version;
                    }
                }
                (14, Content::Bytes(entry)) => {
                    // Notes that are no text are nobody's here.
                    let (key, value) = read_entry(entry)?;
                    model.metadata.extend(key.text().ok().zip(value.text().ok()));
                }
                (20, Content::Bytes(content)) => model.training.read(content)?,
                (25, Content::Bytes(content)) => {
                    let (name, body) = read_function(content)?;
                    model.functions.insert(name);
                    model.function_bodies.push(body);
                }
                _ => {}
            }
        }
        model.graph = Graph::read(graph.ok_or(Error::NoGraph)?, 0)?;
        Ok(model)
    }
}

/// Is this the domain whose operators the ONNX standard defines?
pub(crate) fn is_standard(domain: &str) -> bool {
    matches!(domain, "" | "ai.onnx")
}

fn read_opset(message: Message<'_>) -> Result<(&str, i64), Error> {
    let mut opset = ("", 1);
    for field in message.fields() {
        let field = field?;
        match (field.number, field.content) {
            (1, Content::Bytes(text)) => opset.0 = text.text()?,
            (2, Content::Varint(version)) => opset.1 = version as i64,
            _ => {}
        }
    }
    Ok(opset)
}

impl<'a> Training<'a> {
    fn read(&mut self, message: Message<'a>) -> Result<(), Error> {
        for field in message.fields() {
            let field = field?;
            match (field.number, field.content) {
                (1 | 2, Content::Bytes(graph)) => self.graphs.push(Graph::read(graph, 0)?),
                (3 | 4, Content::Bytes(entry)) => {
                    let (key, value) = read_entry(entry)?;
                    self.bindings.extend([key.text()?, value.text()?]);
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// `StringStringEntryProto`: a key and its value.
fn read_entry(entry: Message<'_>) -> Result<(Message<'_>, Message<'_>), Error> {
    let (mut key, mut value) = (Message::default(), Message::default());
    for field in entry.fields() {
        let field = field?;
        match (field.number, field.content) {
            (1, Content::Bytes(text)) => key = text,
            (2, Content::Bytes(text)) => value = text,
            _ => {}
        }
    }
    Ok((key, value))
}

/// `FunctionProto`: domain and name, and its nodes.
fn read_function(message: Message<'_>) -> Result<((&str, &str), Graph<'_>), Error> {
    let (mut domain, mut name, mut body) = ("", "", Graph::default());
    for field in message.fields() {
        let field = field?;
        let Content::Bytes(content) = field.content else { continue };
        match field.number {
            1 => name = content.text()?,
            7 => body.nodes.push(Node::read(content, 0)?),
            10 => domain = content.text()?,
            _ => {}
        }
    }
    Ok(((domain, name), body))
}

impl<'a> Graph<'a> {
    /// `depth`: how many graphs this one lies in.
    fn read(message: Message<'a>, depth: usize) -> Result<Self, Error> {
        if depth > MOST_NESTED_GRAPHS {
            return Err(Error::TooDeep { offset: message.offset, most: MOST_NESTED_GRAPHS });
        }
        let mut graph = Self::default();
        for field in message.fields() {
            let field = field?;
            let Content::Bytes(content) = field.content else { continue };
            let record = field.record;
            match field.number {
                1 => {
                    let node = Node { record, ..Node::read(content, depth)? };
                    if node.op_type.is_empty() {
                        return Err(Error::NoOperator { node: graph.nodes.len() });
                    }
                    graph.nodes.push(node);
                }
                2 => graph.name = content.text()?,
                5 => graph.initializers.push(Tensor { record, ..Tensor::read(content)? }),
                11 => graph.inputs.push(ValueInfo { record, ..ValueInfo::read(content)? }),
                12 => graph.outputs.push(ValueInfo { record, ..ValueInfo::read(content)? }),
                13 => graph.value_info.push(ValueInfo { record, ..ValueInfo::read(content)? }),
                14 => graph.annotations.push(Annotation { record, ..Annotation::read(content)? }),
                15 => graph.initializers.push(Tensor { record, ..Tensor::read_sparse(content)? }),
                _ => {}
            }
        }
        sort::sort(&mut graph.nodes);
        Ok(graph)
    }

    /// The places in the file where its nodes stand, from the first to the last.
    pub(crate) fn slots(&self) -> Vec<Range<usize>> {
        let mut slots: Vec<Range<usize>> = self.nodes.iter().map(|node| node.record.clone()).collect();
        slots.sort_unstable_by_key(|slot| slot.start);
        slots
    }
}

impl<'a> Node<'a> {
    pub(crate) fn read(message: Message<'a>, depth: usize) -> Result<Self, Error> {
        let mut node = Self::default();
        for field in message.fields() {
            let field = field?;
            let Content::Bytes(content) = field.content else { continue };
            match field.number {
                1 => node.inputs.push(content.text()?),
                2 => node.outputs.push(content.text()?),
                3 => node.name = content.text()?,
                4 => node.op_type = content.text()?,
                5 => node.attributes.push(Attribute::read(content, depth)?),
                7 => node.domain = content.text()?,
                _ => {}
            }
        }
        Ok(node)
    }

    /// A name to show: its own, or that of its first output, which ONNX guarantees to be unique.
    pub(crate) fn label(&self) -> &'a str {
        if self.name.is_empty() { self.outputs.first().copied().unwrap_or(self.op_type) } else { self.name }
    }

    pub(crate) fn attribute(&self, name: &str) -> Option<&AttributeValue<'a>> {
        self.attributes.iter().find(|a| a.name == name).map(|a| &a.value)
    }

    /// An attribute that is a whole number.
    pub(crate) fn int(&self, name: &str) -> Option<i64> {
        match self.attribute(name)? {
            AttributeValue::Int(value) => Some(*value),
            _ => None,
        }
    }

    /// The graphs among its attributes: branches and loop bodies.
    pub(crate) fn bodies(&self) -> impl Iterator<Item = &Graph<'a>> {
        self.attributes.iter().flat_map(|a| match &a.value {
            AttributeValue::Graphs(graphs) => graphs.as_slice(),
            _ => &[],
        })
    }
}

/// Keeps the only occurrence of a message that may occur once. Google's reader would merge a second one into the first.
fn once<'a>(slot: &mut Option<Message<'a>>, message: Message<'a>, field: &'static str) -> Result<(), Error> {
    match slot.replace(message) {
        None => Ok(()),
        Some(_) => Err(Error::Split { offset: message.offset, field }),
    }
}
