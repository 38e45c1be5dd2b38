//! Custom options: most writers make a `FlexBuffers` map of them, numbers by name.
//!
//! Such a buffer is read from its end: the width of its root in bytes, the type of the root, the root. A map is a list
//! of values, each of the same width, with a list of their types behind it and, in front, its length, the width of its
//! keys, and where these are. Places are told by how far back they are.

use serde_json::Value;
use serenity_ir::Attributes;

/// No map has more entries than that.
const MOST: u64 = 4096;

/// The kinds of values that are numbers, and maps.
mod kind {
    pub(super) const INT: u8 = 1;
    pub(super) const UINT: u8 = 2;
    pub(super) const FLOAT: u8 = 3;
    pub(super) const MAP: u8 = 9;
    pub(super) const BOOL: u8 = 26;
}

/// The numbers of a map, by name; other values are left out. `None` if the bytes are no such map.
pub(crate) fn numbers(bytes: &[u8]) -> Option<Attributes> {
    let &[.., packed, width] = bytes else { return None };
    let width = Width::of(width.into())?;
    let root = bytes.len().checked_sub(2)?.checked_sub(width.bytes())?;
    if packed >> 2 != kind::MAP {
        return None;
    }
    let (values, width) = (back(bytes, root, width)?, Width::of(1 << (packed & 3))?);
    let before = |places: usize| values.checked_sub(places * width.bytes());
    let count = usize::try_from(width.uint(bytes, before(1)?).filter(|&count| count <= MOST)?).ok()?;
    let key_width = Width::of(width.uint(bytes, before(2)?)?)?;
    let keys = back(bytes, before(3)?, width)?;
    let kinds = values + count * width.bytes();
    let mut all = Attributes::new();
    for number in 0..count {
        let key = back(bytes, keys + number * key_width.bytes(), key_width)?;
        let name = bytes.get(key..)?.split(|&byte| byte == 0).next()?;
        let value = width.value(bytes, values + number * width.bytes(), bytes.get(kinds + number)? >> 2);
        if let (Ok(name), Some(value)) = (std::str::from_utf8(name), value) {
            all.insert(name.to_owned(), value);
        }
    }
    Some(all)
}

/// Where what is told at a place lies.
fn back(bytes: &[u8], place: usize, width: Width) -> Option<usize> {
    place.checked_sub(usize::try_from(width.uint(bytes, place)?).ok()?)
}

/// 1, 2, 4 or 8 bytes.
#[derive(Clone, Copy)]
struct Width(usize);

impl Width {
    fn of(bytes: u64) -> Option<Self> {
        matches!(bytes, 1 | 2 | 4 | 8).then_some(Self(bytes as usize))
    }

    fn bytes(self) -> usize {
        self.0
    }

    fn uint(self, bytes: &[u8], place: usize) -> Option<u64> {
        let own = bytes.get(place..place.checked_add(self.0)?)?;
        Some(own.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
    }

    fn value(self, bytes: &[u8], place: usize, kind: u8) -> Option<Value> {
        let bits = self.uint(bytes, place)?;
        let unused = 64 - 8 * self.0 as u32;
        match kind {
            kind::INT => Some(((bits << unused).cast_signed() >> unused).into()),
            kind::UINT => Some(bits.into()),
            kind::BOOL => Some((bits != 0).into()),
            kind::FLOAT if self.0 == 4 => Some(f32::from_bits(bits as u32).into()),
            kind::FLOAT if self.0 == 8 => Some(f64::from_bits(bits).into()),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `{"ab": -2, "on": true, "x": 300}` as the writer of the format makes it.
    const MAP: &[u8] =
        b"ab\x00on\x00x\x00\x03\x09\x07\x05\x03\x00\x01\x00\x03\x00\xfe\xff\x01\x00,\x01\x05i\x05\x09%\x01";

    #[test]
    fn numbers_are_found_by_name() {
        let found = Value::Object(numbers(MAP).unwrap().into_iter().collect());
        assert_eq!(found, serde_json::json!({"ab": -2, "on": true, "x": 300}));
    }

    #[test]
    fn no_bytes_do_harm() {
        for end in 0..MAP.len() {
            assert!(numbers(&MAP[..end]).is_none_or(|found| found.len() <= 3));
        }
        for place in 0..MAP.len() {
            for byte in 0..=255 {
                let mut bytes = MAP.to_vec();
                bytes[place] = byte;
                let _ = numbers(&bytes);
            }
        }
    }
}
