//! Reading flatbuffers that nobody has verified.
//!
//! A flatbuffer is a heap of *tables*. A table begins with the distance back to its *vtable*, which says for every
//! field (a numbered slot) how far into the table it lies; slots that are missing or 0 are absent. Strings, vectors and
//! other tables are fields that hold the distance forward to what they mean. Here each of these steps is checked when
//! it is taken, so no pass ahead of reading is needed, and what is never read can do no harm.

use std::ops::Range;

/// Where the bytes are not what they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each message names its fields")]
pub enum Fault {
    /// Something ends, or begins, outside the file.
    #[error("the {what} at byte {at} does not lie within the file's {length} bytes")]
    Outside { what: &'static str, at: usize, length: usize },
    /// A field that ends outside its table.
    #[error("field {slot} of the table at byte {at} does not lie within the table")]
    Field { slot: usize, at: usize },
}

/// `N` bytes at a place.
fn fixed<const N: usize>(bytes: &[u8], at: usize, what: &'static str) -> Result<[u8; N], Fault> {
    let outside = Fault::Outside { what, at, length: bytes.len() };
    let end = at.checked_add(N).ok_or(outside)?;
    bytes.get(at..end).and_then(|slice| slice.try_into().ok()).ok_or(outside)
}

/// Follows the forward distance that is stored at `at`.
fn follow(bytes: &[u8], at: usize, what: &'static str) -> Result<usize, Fault> {
    let distance = u32::from_le_bytes(fixed(bytes, at, what)?) as usize;
    at.checked_add(distance).ok_or(Fault::Outside { what, at, length: bytes.len() })
}

/// A number that a field or a vector may hold.
pub(crate) trait Number: Sized {
    /// How many bytes it takes.
    const SIZE: usize;
    /// From exactly that many bytes.
    fn read(bytes: &[u8]) -> Option<Self>;
}

macro_rules! numbers {
    ($($type:ty),*) => {$(
        impl Number for $type {
            const SIZE: usize = size_of::<$type>();
            fn read(bytes: &[u8]) -> Option<Self> {
                bytes.try_into().ok().map(<$type>::from_le_bytes)
            }
        }
    )*};
}
numbers!(u8, i8, u16, u32, i32, u64, i64, f32);

impl Number for bool {
    const SIZE: usize = 1;
    fn read(bytes: &[u8]) -> Option<Self> {
        bytes.first().map(|&byte| byte != 0)
    }
}

/// A table whose vtable and extent lie within the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table<'a> {
    bytes: &'a [u8],
    position: usize,
    /// The part of the vtable that lists fields.
    slots: &'a [u8],
    size: usize,
}

impl<'a> Table<'a> {
    /// The table that the file's first four bytes point at.
    pub(crate) fn root(bytes: &'a [u8]) -> Result<Self, Fault> {
        Self::at(bytes, follow(bytes, 0, "root table")?)
    }

    /// The table at a place.
    pub(crate) fn at(bytes: &'a [u8], position: usize) -> Result<Self, Fault> {
        let outside = |what, at| Fault::Outside { what, at, length: bytes.len() };
        let back = i32::from_le_bytes(fixed(bytes, position, "table")?);
        let vtable = i64::try_from(position).ok().map(|p| p - i64::from(back));
        let vtable = vtable
            .and_then(|vtable| usize::try_from(vtable).ok())
            .ok_or_else(|| outside("vtable of the table", position))?;
        let [length, size] =
            [0, 2].map(|part| fixed(bytes, vtable.saturating_add(part), "vtable").map(u16::from_le_bytes));
        let (length, size) = (length? as usize, size? as usize);
        let end = vtable.saturating_add(length);
        let slots = bytes.get(vtable.saturating_add(4)..end).ok_or_else(|| outside("vtable", vtable))?;
        if size < 4 || position.checked_add(size).is_none_or(|end| end > bytes.len()) {
            return Err(outside("table", position));
        }
        Ok(Self { bytes, position, slots, size })
    }

    /// Where it begins.
    pub(crate) fn position(&self) -> usize {
        self.position
    }

    /// The bytes that it takes itself, and those of its vtable.
    pub(crate) fn extents(&self) -> [Range<usize>; 2] {
        // `at` has followed this distance.
        let back = fixed(self.bytes, self.position, "table").map_or(0, i32::from_le_bytes);
        let vtable = (self.position as i64 - i64::from(back)) as usize;
        [self.position..self.position + self.size, vtable..vtable + 4 + self.slots.len()]
    }

    /// The bytes of a vector of elements of `size` bytes, its length included; `None` if the field is absent.
    pub(crate) fn vector_extent(&self, slot: usize, size: usize) -> Result<Option<Range<usize>>, Fault> {
        if self.field(slot, 4)?.is_none() {
            return Ok(None);
        }
        let (first, elements) = self.elements(slot, size)?;
        Ok(Some(first - 4..first + elements.len()))
    }

    /// How many fields its vtable lists, absent ones included.
    pub(crate) fn slot_count(&self) -> usize {
        self.slots.len() / 2
    }

    /// Where a field of `size` bytes lies; `None` if it is absent.
    pub(crate) fn field(&self, slot: usize, size: usize) -> Result<Option<usize>, Fault> {
        let offset = match self.slots.get(2 * slot..2 * slot + 2) {
            Some(&[low, high]) => usize::from(u16::from_le_bytes([low, high])),
            _ => 0,
        };
        if offset == 0 {
            return Ok(None);
        }
        if offset + size > self.size {
            return Err(Fault::Field { slot, at: self.position });
        }
        Ok(Some(self.position + offset))
    }

    /// A number, or its default if the field is absent.
    pub(crate) fn number<T: Number>(&self, slot: usize, default: T) -> Result<T, Fault> {
        let Some(at) = self.field(slot, T::SIZE)? else {
            return Ok(default);
        };
        // `field` has seen that these bytes lie within the table, and `at` that the table lies within the file.
        Ok(self.bytes.get(at..at + T::SIZE).and_then(T::read).unwrap_or(default))
    }

    /// The table that a field points at.
    pub(crate) fn table(&self, slot: usize) -> Result<Option<Self>, Fault> {
        let Some(at) = self.field(slot, 4)? else {
            return Ok(None);
        };
        Self::at(self.bytes, follow(self.bytes, at, "table")?).map(Some)
    }

    /// The elements of a vector, `size` bytes each; none if the field is absent.
    fn elements(&self, slot: usize, size: usize) -> Result<(usize, &'a [u8]), Fault> {
        let Some(at) = self.field(slot, 4)? else {
            return Ok((self.position, &[]));
        };
        let start = follow(self.bytes, at, "vector")?;
        let outside = Fault::Outside { what: "vector", at: start, length: self.bytes.len() };
        let count = u32::from_le_bytes(fixed(self.bytes, start, "vector")?) as usize;
        let first = start + 4;
        let end = count.checked_mul(size).and_then(|length| first.checked_add(length)).ok_or(outside)?;
        Ok((first, self.bytes.get(first..end).ok_or(outside)?))
    }

    /// A vector of numbers; an absent one is empty.
    pub(crate) fn numbers<T: Number + Default>(
        &self,
        slot: usize,
    ) -> Result<impl ExactSizeIterator<Item = T> + use<'a, T>, Fault> {
        let (_, elements) = self.elements(slot, T::SIZE)?;
        Ok(elements.chunks_exact(T::SIZE).map(|element| T::read(element).unwrap_or_default()))
    }

    /// The bytes of a byte vector or a string, and where they begin; an absent one is empty.
    pub(crate) fn blob(&self, slot: usize) -> Result<(usize, &'a [u8]), Fault> {
        self.elements(slot, 1)
    }

    /// The bytes of a string; an absent one is empty.
    pub(crate) fn text(&self, slot: usize) -> Result<&'a [u8], Fault> {
        Ok(self.blob(slot)?.1)
    }

    /// A vector of tables; an absent one is empty.
    pub(crate) fn tables(&self, slot: usize) -> Result<Tables<'a>, Fault> {
        let (first, elements) = self.elements(slot, 4)?;
        Ok(Tables { bytes: self.bytes, first, count: elements.len() / 4 })
    }

    /// The place that a field points at, whatever it is.
    pub(crate) fn target(&self, slot: usize) -> Result<Option<usize>, Fault> {
        self.field(slot, 4)?.map(|at| follow(self.bytes, at, "field")).transpose()
    }
}

/// A vector of tables that lies within the file; the tables are checked one by one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tables<'a> {
    bytes: &'a [u8],
    first: usize,
    count: usize,
}

impl<'a> Tables<'a> {
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Where the slot of an element lies.
    pub(crate) fn slot(&self, index: usize) -> usize {
        self.first + 4 * index
    }

    /// Each table, or what is wrong with it.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = Result<Table<'a>, Fault>> + use<'a> {
        let tables = *self;
        (0..tables.count)
            .map(move |index| Table::at(tables.bytes, follow(tables.bytes, tables.slot(index), "table")?))
    }
}
