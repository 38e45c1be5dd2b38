//! `TensorProto`: constants. Their data stay in the file; only the values of small ones are ever looked at.

use super::{once, read_entry};
use crate::Error;
use crate::data_type::DataType;
use crate::fact::{Fact, Values, element_count};
use crate::wire::{Content, Message};
use std::ops::Range;

/// The values of larger tensors are never looked at: what decides shapes is short.
pub(crate) const MOST_VALUES: u64 = 64;

/// A constant.
#[derive(Debug)]
pub(crate) struct Tensor<'a> {
    pub(crate) name: &'a str,
    pub(crate) data_type: DataType,
    pub(crate) shape: Vec<u64>,
    /// The file beside the model that holds the data, if it is there.
    pub(crate) side_file: Option<&'a str>,
    /// The file's own record of it, if it is one of a graph's constants: tag, length and content, as a range of the file.
    pub(crate) record: Range<usize>,
    /// Its content; empty if it is a sparse one.
    pub(super) message: Message<'a>,
}

impl<'a> Tensor<'a> {
    pub(crate) fn read(message: Message<'a>) -> Result<Self, Error> {
        let mut tensor = Self {
            name: "",
            data_type: DataType(0),
            shape: Vec::new(),
            side_file: None,
            record: 0..0,
            message,
        };
        let (mut dims, mut location, mut is_external) = (Vec::new(), None, false);
        for field in message.fields() {
            let field = field?;
            match (field.number, field.content) {
                (1, content) => content.varints(&mut dims)?,
                (2, Content::Varint(number)) => tensor.data_type = DataType(number as i32),
                (8, Content::Bytes(name)) => tensor.name = name.text()?,
                (13, Content::Bytes(entry)) => match read_entry(entry)? {
                    (key, value) if key.bytes == b"location" => location = Some(value.text()?),
                    _ => {}
                },
                (14, Content::Varint(place)) => is_external = place == 1,
                _ => {}
            }
        }
        tensor.shape = shape(&dims, message.offset)?;
        tensor.side_file = is_external.then(|| location.unwrap_or_default());
        Ok(tensor)
    }

    /// `SparseTensorProto`: the dense tensor it stands for. Its values are not looked at.
    pub(super) fn read_sparse(message: Message<'a>) -> Result<Self, Error> {
        let (mut values, mut dims) = (None, Vec::new());
        for field in message.fields() {
            let field = field?;
            match (field.number, field.content) {
                (1, Content::Bytes(tensor)) => once(&mut values, tensor, "values")?,
                (3, content) => content.varints(&mut dims)?,
                _ => {}
            }
        }
        let values = Self::read(values.unwrap_or_default())?;
        Ok(Self { shape: shape(&dims, message.offset)?, message: Message::default(), ..values })
    }

    /// Its content, as a range of the file; empty for a sparse one.
    pub(crate) fn content(&self) -> Range<usize> {
        self.message.offset..self.message.offset + self.message.bytes.len()
    }

    /// What is known of it: everything, if it is small.
    pub(crate) fn fact(&self) -> Fact {
        Fact::of(Some(self.data_type), Some(self.shape.clone())).with_values(self.values())
    }

    fn values(&self) -> Option<Values> {
        let count = element_count(&self.shape)?;
        if count > MOST_VALUES || self.side_file.is_some() {
            return None;
        }
        let (mut ints, mut floats, mut doubles, mut raw) = (Vec::new(), Vec::new(), Vec::new(), None);
        for field in self.message.fields() {
            let field = field.ok()?;
            match (field.number, field.content) {
                (4, content) => content.floats(&mut floats).ok()?,
                (5 | 7 | 11, content) => content.varints(&mut ints).ok()?,
                (9, Content::Bytes(bytes)) => raw = Some(bytes.bytes),
                (10, content) => content.doubles(&mut doubles),
                _ => {}
            }
        }
        let values = match (raw, self.data_type) {
            (Some(raw), data_type) => read_raw(raw, data_type)?,
            (None, DataType::FLOAT) => Values::Floats(floats.into_iter().map(f64::from).collect()),
            (None, DataType::DOUBLE) => Values::Floats(doubles),
            (None, data_type) if data_type.is_integer() => Values::Ints(ints),
            _ => return None,
        };
        (values.len() as u64 == count).then_some(values)
    }
}

fn shape(dims: &[i64], offset: usize) -> Result<Vec<u64>, Error> {
    dims.iter()
        .map(|&dim| {
            u64::try_from(dim).map_err(|_| Error::Malformed { offset, what: "a constant of negative size" })
        })
        .collect()
}

/// Little-endian numbers, one after the other.
fn read_raw(raw: &[u8], data_type: DataType) -> Option<Values> {
    fn each<const N: usize>(raw: &[u8], convert: fn([u8; N]) -> i64) -> Values {
        Values::Ints(raw.as_chunks::<N>().0.iter().map(|&n| convert(n)).collect())
    }
    Some(match data_type {
        DataType::INT64 | DataType::UINT64 => each(raw, i64::from_le_bytes),
        DataType::INT32 => each(raw, |n| i64::from(i32::from_le_bytes(n))),
        DataType::UINT32 => each(raw, |n| i64::from(u32::from_le_bytes(n))),
        DataType::INT16 => each(raw, |n| i64::from(i16::from_le_bytes(n))),
        DataType::UINT16 => each(raw, |n| i64::from(u16::from_le_bytes(n))),
        DataType::INT8 => each(raw, |n| i64::from(i8::from_le_bytes(n))),
        DataType::UINT8 | DataType::BOOL => each(raw, |[n]| i64::from(n)),
        DataType::FLOAT => {
            Values::Floats(raw.as_chunks().0.iter().map(|&n| f32::from_le_bytes(n).into()).collect())
        }
        DataType::DOUBLE => {
            Values::Floats(raw.as_chunks().0.iter().map(|&n| f64::from_le_bytes(n)).collect())
        }
        _ => return None,
    })
}
