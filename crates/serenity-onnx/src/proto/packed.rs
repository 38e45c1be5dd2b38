//! The data of a `TensorProto`, whichever of its fields they are in, as packed little-endian bytes.

use super::Tensor;
use crate::data_type::DataType;
use crate::wire::Content;
use std::borrow::Cow;

impl<'a> Tensor<'a> {
    /// The data; `None` if they are elsewhere or in pieces, if they are not as many as the shape says, or if the type
    /// is neither a float of 16 bits or more nor an integer that models compute with.
    ///
    /// At most eight bytes for every byte of the message.
    pub(crate) fn packed(&self) -> Option<Cow<'a, [u8]>> {
        if self.side_file.is_some() || !is_plain(self.data_type) {
            return None;
        }
        let (mut raw, mut listed) = (None, Vec::new());
        for field in self.message.fields() {
            let field = field.ok()?;
            match (field.number, field.content) {
                // A segment: one piece of several.
                (3, _) => return None,
                (9, Content::Bytes(data)) => raw = Some(data.bytes),
                (4 | 5 | 7 | 10, content) => append(field.number, content, self.data_type, &mut listed)?,
                _ => {}
            }
        }
        let data = raw.map_or(Cow::Owned(listed), Cow::Borrowed);
        (Some(data.len() as u64) == self.data_type.bytes_of(&self.shape)).then_some(data)
    }
}

/// The types whose data are handed out.
fn is_plain(data_type: DataType) -> bool {
    matches!(
        data_type,
        DataType::FLOAT
            | DataType::FLOAT16
            | DataType::BFLOAT16
            | DataType::DOUBLE
            | DataType::INT8
            | DataType::UINT8
            | DataType::INT32
            | DataType::INT64
    )
}

/// One record of numbers. Each type has its field; in another field they count for nothing.
fn append(field: u32, content: Content<'_>, data_type: DataType, into: &mut Vec<u8>) -> Option<()> {
    match (field, data_type, content) {
        (4, DataType::FLOAT, Content::Fixed32(bytes)) => into.extend(bytes),
        (10, DataType::DOUBLE, Content::Fixed64(bytes)) => into.extend(bytes),
        (4, DataType::FLOAT, Content::Bytes(packed)) | (10, DataType::DOUBLE, Content::Bytes(packed)) => {
            into.extend_from_slice(packed.bytes);
        }
        (5, DataType::FLOAT | DataType::DOUBLE | DataType::INT64, _) => {}
        (5, _, content) | (7, DataType::INT64, content) => {
            let mut numbers = Vec::new();
            content.varints(&mut numbers).ok()?;
            for number in numbers {
                match data_type {
                    DataType::INT64 => into.extend(number.to_le_bytes()),
                    // A reader of 32-bit numbers drops what is above.
                    DataType::INT32 => into.extend((number as i32).to_le_bytes()),
                    DataType::INT8 => into.extend(i8::try_from(number).ok()?.to_le_bytes()),
                    DataType::UINT8 => into.push(u8::try_from(number).ok()?),
                    // Floats of 16 bits come as the number that their bits are.
                    DataType::FLOAT16 | DataType::BFLOAT16 => {
                        into.extend(u16::try_from(number).ok()?.to_le_bytes());
                    }
                    _ => return None,
                }
            }
        }
        _ => {}
    }
    Some(())
}
