//! `ValueInfoProto`: the name, type and shape that the file declares for a tensor.

use super::once;
use crate::Error;
use crate::data_type::DataType;
use crate::fact::Fact;
use crate::wire::{Content, Message};
use std::fmt;
use std::ops::Range;

/// A declaration.
#[derive(Debug, Default)]
pub(crate) struct ValueInfo<'a> {
    pub(crate) name: &'a str,
    pub(crate) data_type: Option<DataType>,
    /// `None`: not even the number of dimensions is known, or this is no tensor.
    pub(crate) dims: Option<Vec<Dim<'a>>>,
    /// Tag, length and content, as a range of the file.
    pub(crate) record: Range<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dim<'a> {
    Known(u64),
    /// Whatever the caller gives; the name may be empty.
    Named(&'a str),
}

impl fmt::Display for Dim<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(size) => write!(f, "{size}"),
            Self::Named("") => f.write_str("?"),
            Self::Named(name) => f.write_str(name),
        }
    }
}

impl<'a> ValueInfo<'a> {
    pub(super) fn read(message: Message<'a>) -> Result<Self, Error> {
        let mut info = Self::default();
        let (mut kind, mut tensor, mut shape) = (None, None, None);
        for field in message.fields() {
            let field = field?;
            match (field.number, field.content) {
                (1, Content::Bytes(name)) => info.name = name.text()?,
                (2, Content::Bytes(content)) => once(&mut kind, content, "type")?,
                _ => {}
            }
        }
        // Sequences, maps, optional and sparse tensors have other field numbers: their size is unknown.
        for field in kind.unwrap_or_default().fields() {
            let field = field?;
            if let (1, Content::Bytes(content)) = (field.number, field.content) {
                once(&mut tensor, content, "tensor_type")?;
            }
        }
        for field in tensor.unwrap_or_default().fields() {
            let field = field?;
            match (field.number, field.content) {
                (1, Content::Varint(number)) => info.data_type = DataType::from_number(number as i64),
                (2, Content::Bytes(content)) => once(&mut shape, content, "shape")?,
                _ => {}
            }
        }
        if let Some(shape) = shape {
            info.dims = Some(read_dims(shape)?);
        }
        Ok(info)
    }

    /// What the declaration says; a shape with an open dimension says nothing.
    pub(crate) fn fact(&self) -> Fact {
        let size = |dim: &Dim<'_>| match dim {
            Dim::Known(size) => Some(*size),
            Dim::Named(_) => None,
        };
        let shape = self.dims.as_ref().and_then(|dims| dims.iter().map(size).collect());
        Fact::of(self.data_type, shape)
    }
}

fn read_dims(shape: Message<'_>) -> Result<Vec<Dim<'_>>, Error> {
    let mut dims = Vec::new();
    for field in shape.fields() {
        let field = field?;
        if let (1, Content::Bytes(content)) = (field.number, field.content) {
            dims.push(read_dim(content)?);
        }
    }
    Ok(dims)
}

fn read_dim(message: Message<'_>) -> Result<Dim<'_>, Error> {
    let mut dim = Dim::Named("");
    for field in message.fields() {
        let field = field?;
        match (field.number, field.content) {
            // Some exporters write -1 for an open dimension.
            (1, Content::Varint(size)) if i64::try_from(size).is_ok() => dim = Dim::Known(size),
            (2, Content::Bytes(name)) => dim = Dim::Named(name.text()?),
            _ => {}
        }
    }
    Ok(dim)
}
