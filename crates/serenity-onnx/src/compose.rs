//! The messages of ONNX that we write ourselves.

use crate::data_type::DataType;
use crate::declare::NewDim;
use crate::message::Message;

/// The value of a node's attribute that is to be written.
#[derive(Clone, Debug, PartialEq)]
pub enum Attribute {
    /// An integer.
    Int(i64),
    /// A list of integers.
    Ints(Vec<i64>),
    /// A float.
    Float(f32),
    /// Text, such as a mode or a way of padding.
    Text(String),
}

impl Attribute {
    /// `AttributeProto`.
    pub(crate) fn named(&self, name: &str) -> Message {
        const FLOAT: i64 = 1;
        const INT: i64 = 2;
        const STRING: i64 = 3;
        const INTS: i64 = 7;
        let message = Message::new().bytes(1, name);
        match self {
            Self::Int(value) => message.int(3, *value).int(20, INT),
            Self::Ints(values) => {
                values.iter().fold(message, |message, &value| message.int(8, value)).int(20, INTS)
            }
            Self::Float(value) => message.float(2, *value).int(20, FLOAT),
            Self::Text(text) => message.bytes(4, text).int(20, STRING),
        }
    }
}

/// `NodeProto`; a name and a domain that are empty are left out.
pub(crate) fn node<'n>(
    op_type: &str,
    domain: &str,
    name: &str,
    inputs: &[impl AsRef<str>],
    outputs: &[impl AsRef<str>],
    attributes: impl IntoIterator<Item = (&'n str, &'n Attribute)>,
) -> Message {
    let mut node = inputs.iter().fold(Message::new(), |node, input| node.bytes(1, input.as_ref()));
    node = outputs.iter().fold(node, |node, output| node.bytes(2, output.as_ref()));
    if !name.is_empty() {
        node = node.bytes(3, name);
    }
    node = node.bytes(4, op_type);
    for (name, value) in attributes {
        node = node.message(5, &value.named(name));
    }
    if domain.is_empty() { node } else { node.bytes(7, domain) }
}

/// `TensorProto`; the data are packed and little-endian.
pub(crate) fn tensor(name: &str, data_type: DataType, shape: &[u64], data: &[u8]) -> Message {
    let dims = shape.iter().fold(Message::new(), |tensor, &dim| tensor.int(1, dim as i64));
    dims.int(2, data_type.0.into()).bytes(8, name).bytes(9, data)
}

/// `ValueInfoProto` of a tensor.
pub(crate) fn value_info(name: &str, data_type: DataType, shape: &[NewDim]) -> Message {
    let dims = shape.iter().map(|dim| match dim {
        NewDim::Size(size) => Message::new().int(1, *size as i64),
        NewDim::Named(name) => Message::new().bytes(2, name),
    });
    let shape = dims.fold(Message::new(), |shape, dim| shape.message(1, &dim));
    let tensor = Message::new().int(1, data_type.0.into()).message(2, &shape);
    Message::new().bytes(1, name).message(2, &Message::new().message(1, &tensor))
}
