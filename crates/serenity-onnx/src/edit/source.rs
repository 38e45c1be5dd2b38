//! One node of a new list, and where it comes from.

use super::names;
use super::splice::Patches;
use crate::compose::{self, Attribute};
use crate::error::Error;
use crate::message::Message;
use crate::proto::{Graph, Model, is_standard};
use crate::wire;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// One node of the new list.
///
/// An empty name among inputs or outputs stands for one that is left out.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeSource {
    /// A node of the file, by its position, as it is.
    Kept(usize),
    /// A node of the file that reads and writes other tensors. Several new nodes may come from one.
    Changed {
        /// Its position in the file.
        node: usize,
        /// What it is called now; may be empty.
        name: String,
        /// What it reads now.
        inputs: Vec<String>,
        /// What it writes now.
        outputs: Vec<String>,
        /// Attributes that change or are added, by name. The rest of the node stays as it is.
        attributes: BTreeMap<String, Attribute>,
    },
    /// A new node.
    New {
        /// What it computes.
        op_type: String,
        /// Whose operator that is: empty for the standard's, otherwise a domain that the model imports.
        domain: String,
        /// What it is called; may be empty.
        name: String,
        /// What it reads.
        inputs: Vec<String>,
        /// What it writes.
        outputs: Vec<String>,
        /// How it does it.
        attributes: BTreeMap<String, Attribute>,
    },
}

impl NodeSource {
    /// The node of the file that it comes from.
    pub(super) fn origin(&self) -> Option<usize> {
        match self {
            Self::Kept(node) | Self::Changed { node, .. } => Some(*node),
            Self::New { .. } => None,
        }
    }

    /// What it reads: the operands that are given, and what the graphs that it runs take from around them.
    pub(super) fn reads<'n>(&'n self, graph: &Graph<'n>) -> Vec<&'n str> {
        let (inputs, captured) = match self {
            Self::Kept(node) => return names::reads(&graph.nodes[*node]),
            Self::Changed { node, inputs, .. } => (inputs, crate::effects::captures(&graph.nodes[*node])),
            Self::New { inputs, .. } => (inputs, Vec::new()),
        };
        let given = inputs.iter().map(String::as_str).filter(|name| !name.is_empty());
        given.chain(captured).collect()
    }

    pub(super) fn writes<'n>(&'n self, graph: &Graph<'n>) -> Vec<&'n str> {
        let mut written: Vec<&str> = match self {
            Self::Kept(node) => graph.nodes[*node].outputs.clone(),
            Self::Changed { outputs, .. } | Self::New { outputs, .. } => {
                outputs.iter().map(String::as_str).collect()
            }
        };
        written.retain(|name| !name.is_empty());
        written
    }

    /// What to call it in a message.
    pub(super) fn label<'n>(&'n self, graph: &Graph<'n>) -> &'n str {
        match self {
            Self::Kept(node) => graph.nodes[*node].label(),
            Self::Changed { name, outputs, .. } | Self::New { name, outputs, .. } => {
                if name.is_empty() {
                    outputs.first().map_or("", String::as_str)
                } else {
                    name
                }
            }
        }
    }

    /// Does it come from a node that is there, or is it of an operator that the model may use?
    pub(super) fn check(&self, model: &Model<'_>) -> Result<(), Error> {
        let fault = |what: String| Err(Error::Edit(what));
        match self {
            Self::Kept(node) | Self::Changed { node, .. } if *node >= model.graph.nodes.len() => {
                fault(format!("node {node} of {}", model.graph.nodes.len()))
            }
            Self::New { op_type, .. } if op_type.is_empty() => {
                fault("a new node without an operator type".to_owned())
            }
            Self::New { op_type, domain, .. } if model.functions.contains(&(domain, op_type)) => {
                fault(format!("the model defines a function `{op_type}` that hides the operator"))
            }
            Self::New { op_type, domain, .. } => {
                let is_imported = if is_standard(domain) {
                    // The oldest files do not say what they use.
                    model.domains.is_empty() || model.domains.iter().any(|domain| is_standard(domain))
                } else {
                    model.domains.contains(domain.as_str())
                };
                let owner = if domain.is_empty() { "ai.onnx" } else { domain };
                if is_imported {
                    Ok(())
                } else {
                    fault(format!("the model does not import `{owner}`, to which `{op_type}` belongs"))
                }
            }
            _ => Ok(()),
        }
    }

    /// Its record in the new file.
    pub(super) fn record<'n>(&self, file: &'n [u8], graph: &Graph<'n>) -> Result<Cow<'n, [u8]>, Error> {
        let content = match self {
            Self::Kept(node) => return Ok(Cow::Borrowed(&file[graph.nodes[*node].record.clone()])),
            Self::Changed { node, name, inputs, outputs, attributes } => {
                let record = wire::Message::part(file, graph.nodes[*node].record.clone());
                changed(file, record.only_content().unwrap_or_default(), name, inputs, outputs, attributes)?
            }
            Self::New { op_type, domain, name, inputs, outputs, attributes } => {
                let attributes = attributes.iter().map(|(name, value)| (name.as_str(), value));
                compose::node(op_type, domain, name, inputs, outputs, attributes).into_bytes()
            }
        };
        Ok(Cow::Owned(Message::new().bytes(1, content).into_bytes()))
    }
}

/// The content of a node with other names and attributes, each where the old ones are.
fn changed(
    file: &[u8],
    node: wire::Message<'_>,
    name: &str,
    inputs: &[String],
    outputs: &[String],
    attributes: &BTreeMap<String, Attribute>,
) -> Result<Vec<u8>, Error> {
    let (mut input_slots, mut output_slots, mut name_slots) = (Vec::new(), Vec::new(), Vec::new());
    let mut attribute_slots: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for field in node.fields() {
        let field = field?;
        let wire::Content::Bytes(content) = field.content else { continue };
        match field.number {
            1 => input_slots.push(field.record),
            2 => output_slots.push(field.record),
            3 => name_slots.push(field.record),
            5 => attribute_slots.entry(attribute_name(content)?).or_default().push(field.record),
            _ => {}
        }
    }
    let texts = |field: u64, texts: &[String]| -> Vec<Cow<'static, [u8]>> {
        texts.iter().map(|text| Cow::Owned(Message::new().bytes(field, text).into_bytes())).collect()
    };
    let whole = node.offset..node.offset + node.bytes.len();
    let mut patches = Patches::default();
    patches.fill(&input_slots, texts(1, inputs), whole.start);
    patches.fill(&output_slots, texts(2, outputs), whole.start);
    let name = if name.is_empty() { Vec::new() } else { texts(3, &[name.to_owned()]) };
    patches.fill(&name_slots, name, whole.start);
    for (name, value) in attributes {
        let record = Message::new().message(5, &value.named(name)).into_bytes();
        let slots = attribute_slots.get(name.as_str()).map_or(&[][..], Vec::as_slice);
        patches.fill(slots, vec![Cow::Owned(record)], whole.end);
    }
    Ok(patches.apply(file, whole))
}

fn attribute_name(attribute: wire::Message<'_>) -> Result<&str, Error> {
    let mut name = "";
    for field in attribute.fields() {
        let field = field?;
        if let (1, wire::Content::Bytes(text)) = (field.number, field.content) {
            name = text.text()?;
        }
    }
    Ok(name)
}
