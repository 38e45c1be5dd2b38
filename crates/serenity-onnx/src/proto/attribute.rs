//! `AttributeProto`: what an operator is told besides its inputs.

use super::{Graph, Tensor, once};
use crate::Error;
use crate::wire::{Content, Message};

/// A named value.
#[derive(Debug)]
pub(crate) struct Attribute<'a> {
    pub(crate) name: &'a str,
    pub(crate) value: AttributeValue<'a>,
}

#[derive(Debug)]
pub(crate) enum AttributeValue<'a> {
    Float(f32),
    Int(i64),
    Text(&'a [u8]),
    Tensor(Tensor<'a>),
    Floats(Vec<f32>),
    Ints(Vec<i64>),
    Texts(Vec<&'a [u8]>),
    /// One graph or several.
    Graphs(Vec<Graph<'a>>),
    Tensors(Vec<Tensor<'a>>),
    /// Sparse tensors, types, and whatever comes next.
    Other,
}

/// The fields of the message, before its type says which of them counts.
#[derive(Default)]
struct Fields<'a> {
    name: &'a str,
    kind: u64,
    float: Option<f32>,
    int: Option<i64>,
    text: Option<&'a [u8]>,
    tensor: Option<Message<'a>>,
    graph: Option<Message<'a>>,
    floats: Vec<f32>,
    ints: Vec<i64>,
    texts: Vec<&'a [u8]>,
    tensors: Vec<Message<'a>>,
    graphs: Vec<Message<'a>>,
}

impl<'a> Attribute<'a> {
    /// `depth`: how many graphs the node's graph lies in.
    pub(super) fn read(message: Message<'a>, depth: usize) -> Result<Self, Error> {
        let mut fields = Fields::default();
        for field in message.fields() {
            let field = field?;
            match (field.number, field.content) {
                (1, Content::Bytes(text)) => fields.name = text.text()?,
                (2, Content::Fixed32(bytes)) => fields.float = Some(f32::from_le_bytes(bytes)),
                (3, Content::Varint(value)) => fields.int = Some(value as i64),
                (4, Content::Bytes(text)) => fields.text = Some(text.bytes),
                (5, Content::Bytes(tensor)) => once(&mut fields.tensor, tensor, "t")?,
                (6, Content::Bytes(graph)) => once(&mut fields.graph, graph, "g")?,
                (7, content) => content.floats(&mut fields.floats)?,
                (8, content) => content.varints(&mut fields.ints)?,
                (9, Content::Bytes(text)) => fields.texts.push(text.bytes),
                (10, Content::Bytes(tensor)) => fields.tensors.push(tensor),
                (11, Content::Bytes(graph)) => fields.graphs.push(graph),
                (20, Content::Varint(kind)) => fields.kind = kind,
                _ => {}
            }
        }
        Ok(Self { name: fields.name, value: fields.value(depth)? })
    }
}

impl<'a> Fields<'a> {
    fn value(self, depth: usize) -> Result<AttributeValue<'a>, Error> {
        let kind = if self.kind == 0 { self.guess() } else { self.kind };
        Ok(match kind {
            1 => AttributeValue::Float(self.float.unwrap_or_default()),
            2 => AttributeValue::Int(self.int.unwrap_or_default()),
            3 => AttributeValue::Text(self.text.unwrap_or_default()),
            4 => AttributeValue::Tensor(Tensor::read(self.tensor.unwrap_or_default())?),
            5 | 10 => {
                let graphs = self.graph.iter().chain(&self.graphs);
                AttributeValue::Graphs(graphs.map(|&g| Graph::read(g, depth + 1)).collect::<Result<_, _>>()?)
            }
            6 => AttributeValue::Floats(self.floats),
            7 => AttributeValue::Ints(self.ints),
            8 => AttributeValue::Texts(self.texts),
            9 => {
                AttributeValue::Tensors(self.tensors.into_iter().map(Tensor::read).collect::<Result<_, _>>()?)
            }
            _ => AttributeValue::Other,
        })
    }

    /// The oldest files do not say the type: it is that of the field that is there.
    fn guess(&self) -> u64 {
        let present = [
            (1, self.float.is_some()),
            (2, self.int.is_some()),
            (3, self.text.is_some()),
            (4, self.tensor.is_some()),
            (5, self.graph.is_some() || !self.graphs.is_empty()),
            (6, !self.floats.is_empty()),
            (7, !self.ints.is_empty()),
            (8, !self.texts.is_empty()),
            (9, !self.tensors.is_empty()),
        ];
        present.iter().find(|(_, is_there)| *is_there).map_or(0, |&(kind, _)| kind)
    }
}
