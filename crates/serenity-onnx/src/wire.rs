//! The wire format of protocol buffers: a message is a list of records, each a tag (field number and wire type) and a content.
//!
//! Everything borrows from the file. A length is compared with the bytes that are there before anything is done with
//! it, so a record that claims two gigabytes is an error, not an allocation. Groups, a wire type that ONNX never uses,
//! are stepped over as one record.

use crate::Error;
use std::ops::Range;

/// Groups nest at most this deep, as in Google's own reader.
const MOST_GROUPS: usize = 100;

/// The bytes of one message, and where they begin in the file.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Message<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) offset: usize,
}

/// What a record holds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Content<'a> {
    Varint(u64),
    Fixed32([u8; 4]),
    Fixed64([u8; 8]),
    /// Text, bytes, packed numbers or a message: the wire does not say which.
    Bytes(Message<'a>),
    Group,
}

/// One record.
#[derive(Clone, Debug)]
pub(crate) struct Field<'a> {
    pub(crate) number: u32,
    pub(crate) content: Content<'a>,
    /// Tag, length and content, as a range of the file.
    pub(crate) record: Range<usize>,
}

/// The records of a message, in their order; ends after the first error.
pub(crate) struct Fields<'a> {
    message: Message<'a>,
    at: usize,
}

impl<'a> Message<'a> {
    /// A whole file.
    pub(crate) fn file(bytes: &'a [u8]) -> Self {
        Self { bytes, offset: 0 }
    }

    pub(crate) fn part(file: &'a [u8], part: Range<usize>) -> Self {
        Self { bytes: file.get(part.clone()).unwrap_or_default(), offset: part.start }
    }

    /// The content of a single record that holds bytes.
    pub(crate) fn only_content(self) -> Option<Self> {
        match self.fields().next()?.ok()?.content {
            Content::Bytes(content) => Some(content),
            _ => None,
        }
    }

    pub(crate) fn fields(self) -> Fields<'a> {
        Fields { message: self, at: 0 }
    }

    /// The content as text.
    pub(crate) fn text(self) -> Result<&'a str, Error> {
        std::str::from_utf8(self.bytes).map_err(|e| Error::Malformed {
            offset: self.offset + e.valid_up_to(),
            what: "text that is no UTF-8",
        })
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Field<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.message.bytes.len() {
            return None;
        }
        let start = self.at;
        let field = self.record().map(|(number, content)| Field {
            number,
            content,
            record: self.message.offset + start..self.message.offset + self.at,
        });
        Some(field.map_err(|what| {
            self.at = self.message.bytes.len();
            Error::Malformed { offset: self.message.offset + start, what }
        }))
    }
}

impl<'a> Fields<'a> {
    fn record(&mut self) -> Result<(u32, Content<'a>), &'static str> {
        let (number, wire_type) = self.tag()?;
        let content = match wire_type {
            3 => self.skip_group(number)?,
            4 => return Err("the end of a group that never began"),
            other => self.content(other)?,
        };
        Ok((number, content))
    }

    fn tag(&mut self) -> Result<(u32, u8), &'static str> {
        let tag = self.varint()?;
        let number = u32::try_from(tag >> 3).ok().filter(|n| (1..1 << 29).contains(n));
        Ok((number.ok_or("a field number out of range")?, (tag & 7) as u8))
    }

    /// The content of any wire type but groups.
    fn content(&mut self, wire_type: u8) -> Result<Content<'a>, &'static str> {
        match wire_type {
            0 => self.varint().map(Content::Varint),
            1 => self.fixed().map(Content::Fixed64),
            2 => {
                let length = self.varint()?;
                let length = usize::try_from(length).map_err(|_| "a length past the end of its message")?;
                let offset = self.message.offset + self.at;
                let bytes = self.take(length).ok_or("a length past the end of its message")?;
                Ok(Content::Bytes(Message { bytes, offset }))
            }
            5 => self.fixed().map(Content::Fixed32),
            _ => Err("an unknown wire type"),
        }
    }

    /// Steps over a group, with all groups in it.
    fn skip_group(&mut self, number: u32) -> Result<Content<'a>, &'static str> {
        let mut open = vec![number];
        while let Some(&innermost) = open.last() {
            let (number, wire_type) = self.tag()?;
            match wire_type {
                3 if open.len() == MOST_GROUPS => return Err("groups nested too deep"),
                3 => open.push(number),
                4 if number == innermost => drop(open.pop()),
                4 => return Err("the end of another group than the one that began"),
                other => drop(self.content(other)?),
            }
        }
        Ok(Content::Group)
    }

    fn varint(&mut self) -> Result<u64, &'static str> {
        read_varint(self.message.bytes, &mut self.at)
    }

    fn fixed<const N: usize>(&mut self) -> Result<[u8; N], &'static str> {
        self.take(N).and_then(|b| b.try_into().ok()).ok_or("a number past the end of its message")
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(length)?;
        let bytes = self.message.bytes.get(self.at..end)?;
        self.at = end;
        Some(bytes)
    }
}

fn read_varint(bytes: &[u8], at: &mut usize) -> Result<u64, &'static str> {
    let mut value = 0_u64;
    for shift in (0..70).step_by(7) {
        let &byte = bytes.get(*at).ok_or("a number past the end of its message")?;
        *at += 1;
        // The tenth byte has room for one bit; readers drop the others, as we do.
        value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err("a number of more than ten bytes")
}

impl Content<'_> {
    /// Reads a repeated integer field, with one number per record or all packed into one record.
    pub(crate) fn varints(self, into: &mut Vec<i64>) -> Result<(), Error> {
        match self {
            Self::Varint(value) => into.push(value as i64),
            Self::Bytes(packed) => {
                let mut at = 0;
                while at < packed.bytes.len() {
                    let offset = packed.offset + at;
                    let value = read_varint(packed.bytes, &mut at)
                        .map_err(|what| Error::Malformed { offset, what })?;
                    into.push(value as i64);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Reads a repeated float field, with one number per record or all packed into one record.
    pub(crate) fn floats(self, into: &mut Vec<f32>) -> Result<(), Error> {
        match self {
            Self::Fixed32(bytes) => into.push(f32::from_le_bytes(bytes)),
            Self::Bytes(packed) => {
                let (numbers, rest) = packed.bytes.as_chunks::<4>();
                if !rest.is_empty() {
                    return Err(Error::Malformed {
                        offset: packed.offset,
                        what: "packed floats of odd length",
                    });
                }
                into.extend(numbers.iter().map(|&n| f32::from_le_bytes(n)));
            }
            _ => {}
        }
        Ok(())
    }

    /// Reads a repeated double field, with one number per record or all packed into one record.
    pub(crate) fn doubles(self, into: &mut Vec<f64>) {
        match self {
            Self::Fixed64(bytes) => into.push(f64::from_le_bytes(bytes)),
            Self::Bytes(packed) => {
                into.extend(packed.bytes.as_chunks::<8>().0.iter().map(|&n| f64::from_le_bytes(n)));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(bytes: &[u8]) -> Result<Vec<u32>, Error> {
        Message::file(bytes).fields().map(|f| f.map(|f| f.number)).collect()
    }

    fn fault(bytes: &[u8]) -> String {
        numbers(bytes).unwrap_err().to_string()
    }

    #[test]
    fn every_wire_type_is_one_record() {
        let bytes = [
            0x08, 0x96, 0x01, // 1: varint 150
            0x11, 1, 2, 3, 4, 5, 6, 7, 8, // 2: 64 bits
            0x1a, 2, 0xff, 0xff, // 3: two bytes
            0x23, 0x08, 0x01, 0x2b, 0x2c, 0x24, // 4: a group with a number and an empty group in it
            0x35, 1, 2, 3, 4, // 6: 32 bits
        ];
        let fields: Vec<_> = Message::file(&bytes).fields().map(Result::unwrap).collect();
        assert_eq!(fields.iter().map(|f| f.number).collect::<Vec<_>>(), [1, 2, 3, 4, 6]);
        assert!(matches!(fields[0].content, Content::Varint(150)));
        assert!(matches!(fields[3].content, Content::Group));
        // Together the records are the message.
        assert!(fields.windows(2).all(|w| w[0].record.end == w[1].record.start));
        assert_eq!(fields[4].record.end, bytes.len());
    }

    #[test]
    fn a_length_past_the_end_names_its_place() {
        assert_eq!(
            fault(&[0x08, 0x01, 0x1a, 0xff, 0xff, 0xff, 0xff, 0x07, 0]),
            "byte 2 of the file: a length past the end of its message; the file is damaged or no ONNX model"
        );
        assert!(
            fault(&[0x1a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01])
                .contains("past the end")
        );
    }

    #[test]
    fn damaged_tags_and_numbers_are_refused() {
        assert!(fault(&[0x00]).contains("field number"));
        assert!(fault(&[0x0e]).contains("unknown wire type"));
        assert!(fault(&[0x0c]).contains("never began"));
        assert!(fault(&[0x0b, 0x14]).contains("another group"));
        assert!(fault(&[0x0b]).contains("past the end"));
        assert!(fault(&[0x08, 0x80]).contains("past the end"));
        assert!(fault(&[0xff; 12]).contains("more than ten bytes"));
        assert!(fault(&[0x0b; 200]).contains("too deep"));
        assert!(fault(&[0x0d, 1, 2]).contains("past the end"));
    }

    #[test]
    fn repeated_numbers_come_packed_or_one_by_one() {
        let bytes = [
            0x08, 0x05, 0x0a, 0x02, 0x06, 0x07, 0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
            0x01,
        ];
        let mut values = Vec::new();
        for field in Message::file(&bytes).fields() {
            field.unwrap().content.varints(&mut values).unwrap();
        }
        assert_eq!(values, [5, 6, 7, -1]);
        let mut floats = Vec::new();
        Content::Fixed32(1.5_f32.to_le_bytes()).floats(&mut floats).unwrap();
        Content::Bytes(Message::file(&2.5_f32.to_le_bytes())).floats(&mut floats).unwrap();
        assert_eq!(floats, [1.5, 2.5]);
        assert!(Content::Bytes(Message::file(&[0; 5])).floats(&mut floats).is_err());
    }

    #[test]
    fn long_spellings_of_a_number_are_read() {
        // 1 in three bytes.
        let bytes = [0x88, 0x80, 0x00, 0x81, 0x80, 0x00];
        let field = Message::file(&bytes).fields().next().unwrap().unwrap();
        assert!(matches!((field.number, field.content), (1, Content::Varint(1))));
    }
}
