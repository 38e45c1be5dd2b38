//! New tables and vectors in front of an old file.
//!
//! Distances in a flatbuffer are unsigned and point forward. What is put in front of a file can therefore name every
//! part of it, and the file itself stays as it is. Parents are laid out before their children, level by level, so all
//! distances come out positive.

use std::collections::{BTreeMap, VecDeque};

/// Weights are aligned to this.
pub(crate) const DATA_ALIGNMENT: usize = 16;

/// The front is padded to a multiple of this, so that whatever was aligned in the old file still is.
const FRONT_ALIGNMENT: usize = DATA_ALIGNMENT;

/// Fields of a table by their numbers.
pub(crate) type Fields = Vec<(usize, Field)>;

/// Something that a field or a slot can point at.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    /// A part of the old file, by where it was.
    Old(usize),
    Table(Fields),
    /// A vector of anything but numbers.
    Vector(Vec<Node>),
    /// A vector of numbers: all their bytes, and the bytes of one.
    Numbers(Vec<u8>, usize),
    /// A vector of bytes that is to be aligned as weights are.
    Data(Vec<u8>),
    Text(String),
}

/// The value of a field.
#[derive(Clone, Debug)]
pub(crate) enum Field {
    U8(u8),
    I8(i8),
    I32(i32),
    U32(u32),
    U64(u64),
    /// A distance from the start of the old file.
    FileOffset(u64),
    Node(Node),
}

impl Node {
    pub(crate) fn i32s(values: impl IntoIterator<Item = i32>) -> Self {
        Self::Numbers(values.into_iter().flat_map(i32::to_le_bytes).collect(), 4)
    }

    pub(crate) fn f32s(values: &[f32]) -> Self {
        Self::Numbers(values.iter().flat_map(|value| value.to_le_bytes()).collect(), 4)
    }

    pub(crate) fn i64s(values: &[i64]) -> Self {
        Self::Numbers(values.iter().flat_map(|value| value.to_le_bytes()).collect(), 8)
    }
}

impl Field {
    fn size(&self) -> usize {
        match self {
            Self::U8(_) | Self::I8(_) => 1,
            Self::I32(_) | Self::U32(_) | Self::Node(_) => 4,
            Self::U64(_) | Self::FileOffset(_) => 8,
        }
    }
}

/// A finished front: its length is how far the old file moves.
pub(crate) struct Front {
    bytes: Vec<u8>,
    /// Slots that point into the old file, and where in it.
    links: Vec<(usize, usize)>,
    /// Numbers that count from the old file's start.
    file_offsets: Vec<usize>,
    /// Where each vtable lies.
    vtables: BTreeMap<Vec<u16>, usize>,
}

impl Front {
    /// Lays out a root table and all that it needs.
    pub(crate) fn new(root: Node, identifier: [u8; 4]) -> Option<Self> {
        let mut front =
            Self { bytes: vec![0; 4], links: Vec::new(), file_offsets: Vec::new(), vtables: BTreeMap::new() };
        front.bytes.extend(identifier);
        let mut waiting = VecDeque::from([(0, root)]);
        while let Some((slot, node)) = waiting.pop_front() {
            let position = match node {
                Node::Old(old) => {
                    front.links.push((slot, old));
                    continue;
                }
                Node::Table(fields) => front.table(fields, &mut waiting)?,
                Node::Vector(items) => front.vector(items, &mut waiting)?,
                Node::Numbers(bytes, size) => front.numbers(&bytes, size, size.max(4))?,
                Node::Data(bytes) => front.numbers(&bytes, 1, DATA_ALIGNMENT)?,
                Node::Text(text) => {
                    let position = front.numbers(text.as_bytes(), 1, 4)?;
                    front.bytes.push(0);
                    position
                }
            };
            front.put_u32(slot, position - slot)?;
        }
        front.pad_to(FRONT_ALIGNMENT, 0);
        Some(front)
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The front with the old file behind it; `None` if a distance does not fit.
    pub(crate) fn before(mut self, old: &[u8]) -> Option<Vec<u8>> {
        let length = self.len();
        for (slot, target) in std::mem::take(&mut self.links) {
            self.put_u32(slot, length.checked_add(target)? - slot)?;
        }
        for at in std::mem::take(&mut self.file_offsets) {
            add_to_u64(&mut self.bytes, at, length as u64)?;
        }
        self.bytes.extend_from_slice(old);
        Some(self.bytes)
    }

    fn put_u32(&mut self, at: usize, value: usize) -> Option<()> {
        let value = u32::try_from(value).ok()?;
        self.bytes.get_mut(at..at + 4)?.copy_from_slice(&value.to_le_bytes());
        Some(())
    }

    /// Pads until the length leaves `remainder` when divided by `alignment`.
    fn pad_to(&mut self, alignment: usize, remainder: usize) {
        while self.bytes.len() % alignment != remainder {
            self.bytes.push(0);
        }
    }

    /// Larger fields come first, so all are aligned if the first is. Tables with the same fields share a vtable.
    fn table(&mut self, mut fields: Fields, waiting: &mut VecDeque<(usize, Node)>) -> Option<usize> {
        fields.sort_by_key(|(slot, field)| (std::cmp::Reverse(field.size()), *slot));
        let vtable = self.vtable(&fields)?;
        match fields.first() {
            Some((_, field)) if field.size() == 8 => self.pad_to(8, 4),
            _ => self.pad_to(4, 0),
        }
        let table = self.bytes.len();
        self.bytes.extend(i32::try_from(table - vtable).ok()?.to_le_bytes());
        for (_, field) in fields {
            let at = self.bytes.len();
            match field {
                Field::U8(value) => self.bytes.push(value),
                Field::I8(value) => self.bytes.push(value.cast_unsigned()),
                Field::I32(value) => self.bytes.extend(value.to_le_bytes()),
                Field::U32(value) => self.bytes.extend(value.to_le_bytes()),
                Field::U64(value) => self.bytes.extend(value.to_le_bytes()),
                Field::FileOffset(value) => {
                    self.file_offsets.push(at);
                    self.bytes.extend(value.to_le_bytes());
                }
                Field::Node(node) => {
                    self.bytes.extend([0; 4]);
                    waiting.push_back((at, node));
                }
            }
        }
        Some(table)
    }

    /// Where the vtable of a table with these fields, in this order, lies.
    fn vtable(&mut self, fields: &Fields) -> Option<usize> {
        let slots = fields.iter().map(|(slot, _)| slot + 1).max().unwrap_or(0);
        let mut offsets = vec![0; slots];
        let mut size = 4;
        for (slot, field) in fields {
            offsets[*slot] = size;
            size += field.size();
        }
        let words = [4 + 2 * slots, size].into_iter().chain(offsets);
        let vtable: Vec<u16> = words.map(u16::try_from).collect::<Result<_, _>>().ok()?;
        if let Some(&known) = self.vtables.get(&vtable) {
            return Some(known);
        }
        self.pad_to(2, 0);
        let position = self.bytes.len();
        self.bytes.extend(vtable.iter().flat_map(|word| word.to_le_bytes()));
        self.vtables.insert(vtable, position);
        Some(position)
    }

    fn vector(&mut self, items: Vec<Node>, waiting: &mut VecDeque<(usize, Node)>) -> Option<usize> {
        self.pad_to(4, 0);
        let position = self.bytes.len();
        self.bytes.extend(u32::try_from(items.len()).ok()?.to_le_bytes());
        for item in items {
            waiting.push_back((self.bytes.len(), item));
            self.bytes.extend([0; 4]);
        }
        Some(position)
    }

    /// The elements, not their count, are aligned.
    fn numbers(&mut self, bytes: &[u8], size: usize, alignment: usize) -> Option<usize> {
        self.pad_to(alignment, alignment - 4);
        let position = self.bytes.len();
        self.bytes.extend(u32::try_from(bytes.len() / size).ok()?.to_le_bytes());
        self.bytes.extend_from_slice(bytes);
        Some(position)
    }
}

/// Adds to a number of 8 bytes; `None` if it is not there, or overflows.
pub(crate) fn add_to_u64(bytes: &mut [u8], at: usize, amount: u64) -> Option<()> {
    let number = bytes.get_mut(at..at + 8)?;
    let value = u64::from_le_bytes(number.try_into().ok()?).checked_add(amount)?;
    number.copy_from_slice(&value.to_le_bytes());
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flat::Table;

    #[test]
    fn what_is_laid_out_can_be_read_and_is_aligned() {
        let root = Node::Table(vec![
            (0, Field::U8(7)),
            (2, Field::U64(1 << 40)),
            (5, Field::Node(Node::Text("name".to_owned()))),
            (6, Field::Node(Node::i64s(&[-1, 2]))),
            (
                7,
                Field::Node(Node::Vector(vec![
                    Node::Table(vec![(0, Field::I32(-5)), (1, Field::Node(Node::Data(vec![1, 2, 3])))]),
                    Node::Table(vec![]),
                ])),
            ),
            (8, Field::FileOffset(5)),
        ]);
        let front = Front::new(root, *b"TEST").unwrap();
        let length = front.len();
        assert_eq!(length % FRONT_ALIGNMENT, 0);
        let bytes = front.before(b"old").unwrap();
        assert_eq!((&bytes[4..8], &bytes[length..]), (b"TEST".as_slice(), b"old".as_slice()));
        let root = Table::root(&bytes).unwrap();
        assert_eq!(root.number::<u8>(0, 0), Ok(7));
        assert_eq!(root.number::<u8>(1, 9), Ok(9));
        assert_eq!(root.number::<u64>(2, 0), Ok(1 << 40));
        assert_eq!(root.field(2, 8).unwrap().unwrap() % 8, 0);
        assert_eq!(root.text(5), Ok(b"name".as_slice()));
        assert_eq!(root.numbers::<i64>(6).unwrap().collect::<Vec<_>>(), [-1, 2]);
        assert_eq!(root.number::<u64>(8, 0), Ok(5 + length as u64));
        let items: Vec<Table> = root.tables(7).unwrap().iter().map(Result::unwrap).collect();
        assert_eq!(items[0].number::<i32>(0, 0), Ok(-5));
        let (at, data) = items[0].blob(1).unwrap();
        assert_eq!((at % 16, data), (0, [1, 2, 3].as_slice()));
        assert_eq!(items[1].number::<i32>(0, 4), Ok(4));
    }
}
