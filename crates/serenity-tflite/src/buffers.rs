//! Where the bytes of constants and metadata lie.

use crate::Error;
use crate::error::At;
use crate::flat::Table;
use crate::schema::{buffer, model};
use std::ops::Range;

/// The place of each buffer's bytes in the file. Bytes are inline or, in models of more than 2 GB, behind the flatbuffer.
#[derive(Clone, Debug)]
pub(crate) struct Buffers {
    places: Vec<Range<usize>>,
}

impl Buffers {
    pub(crate) fn read(root: &Table, bytes: &[u8]) -> Result<Self, Error> {
        let tables = root.tables(model::BUFFERS).at(|| "buffers".to_owned())?;
        let mut places = Vec::new();
        for (index, table) in tables.iter().enumerate() {
            let place = || format!("buffer {index}");
            let table = table.at(place)?;
            let (start, data) = table.blob(buffer::DATA).at(place)?;
            places.push(match outside(&table, place)? {
                Some((start, size)) if data.is_empty() => {
                    let end = start.checked_add(size).filter(|&end| end <= bytes.len() as u64);
                    let end = end.ok_or_else(|| Error::Invalid {
                        place: place(),
                        problem: format!(
                            "its {size} bytes at byte {start} do not lie within the file's {} bytes",
                            bytes.len()
                        ),
                    })?;
                    start as usize..end as usize
                }
                _ => start..start + data.len(),
            });
        }
        Ok(Self { places })
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// Where the bytes of a buffer lie.
    pub(crate) fn place(&self, index: usize) -> Range<usize> {
        self.places.get(index).cloned().unwrap_or_default()
    }

    /// The bytes of a buffer; empty if there is no such buffer.
    pub(crate) fn get<'a>(&self, bytes: &'a [u8], index: usize) -> &'a [u8] {
        self.places.get(index).and_then(|place| bytes.get(place.clone())).unwrap_or_default()
    }
}

/// Start and size of bytes behind the flatbuffer. The runtimes take a start of 0 or 1 for none, since converters write
/// 1 as a placeholder.
fn outside(table: &Table, place: impl Fn() -> String) -> Result<Option<(u64, u64)>, Error> {
    let start: u64 = table.number(buffer::OFFSET, 0).at(&place)?;
    let size: u64 = table.number(buffer::SIZE, 0).at(&place)?;
    Ok((start > 1).then_some((start, size)))
}
