//! Element types and their sizes.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// The type of one element of a tensor.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ElementType {
    /// 64-bit IEEE float.
    Float64,
    /// 32-bit IEEE float.
    Float32,
    /// 16-bit IEEE float.
    Float16,
    /// 16-bit brain float.
    BFloat16,
    /// 64-bit signed integer.
    Int64,
    /// 32-bit signed integer.
    Int32,
    /// 16-bit signed integer.
    Int16,
    /// 8-bit signed integer.
    Int8,
    /// 4-bit signed integer, packed two to a byte.
    Int4,
    /// 64-bit unsigned integer.
    UInt64,
    /// 32-bit unsigned integer.
    UInt32,
    /// 16-bit unsigned integer.
    UInt16,
    /// 8-bit unsigned integer.
    UInt8,
    /// One byte that is 0 or 1.
    Bool,
    /// A type whose size we do not know; kept by name.
    Other(String),
}

/// Canonical name, bits an element, other spellings (all compared without case).
const KNOWN: &[(ElementType, &str, u64, &[&str])] = {
    use ElementType as E;
    &[
        (E::Float64, "float64", 64, &["double", "f64"]),
        (E::Float32, "float32", 32, &["float", "f32"]),
        (E::Float16, "float16", 16, &["half", "f16"]),
        (E::BFloat16, "bfloat16", 16, &["bf16"]),
        (E::Int64, "int64", 64, &["i64"]),
        (E::Int32, "int32", 32, &["i32"]),
        (E::Int16, "int16", 16, &["i16"]),
        (E::Int8, "int8", 8, &["i8"]),
        (E::Int4, "int4", 4, &["i4"]),
        (E::UInt64, "uint64", 64, &["u64"]),
        (E::UInt32, "uint32", 32, &["u32"]),
        (E::UInt16, "uint16", 16, &["u16"]),
        (E::UInt8, "uint8", 8, &["u8"]),
        (E::Bool, "bool", 8, &["boolean"]),
    ]
};

impl ElementType {
    /// Reads a type name in any common spelling; an unknown one is kept as [`ElementType::Other`].
    ///
    /// ```
    /// use serenity_ir::ElementType;
    /// assert_eq!(ElementType::parse("FLOAT"), ElementType::Float32);
    /// assert_eq!(ElementType::parse("resource"), ElementType::Other("resource".into()));
    /// ```
    pub fn parse(name: &str) -> Self {
        KNOWN
            .iter()
            .find(|(_, canonical, _, aliases)| {
                canonical.eq_ignore_ascii_case(name) || aliases.iter().any(|a| a.eq_ignore_ascii_case(name))
            })
            .map_or_else(|| Self::Other(name.to_owned()), |known| known.0.clone())
    }

    /// The canonical name.
    pub fn name(&self) -> &str {
        match self {
            Self::Other(name) => name,
            known => KNOWN.iter().find(|k| k.0 == *known).map_or("", |k| k.1),
        }
    }

    /// Bits an element takes, if known.
    pub fn bits(&self) -> Option<u64> {
        KNOWN.iter().find(|k| k.0 == *self).map(|k| k.2)
    }

    /// Bytes of a packed tensor of `shape`; `None` if the type is unknown or the product overflows. A tensor with a
    /// dimension of 0 has no elements, whatever the others are.
    ///
    /// ```
    /// use serenity_ir::ElementType;
    /// assert_eq!(ElementType::Float32.bytes_of(&[1, 28, 28, 48]), Some(150_528));
    /// assert_eq!(ElementType::Int8.bytes_of(&[u64::MAX, 2]), None);
    /// ```
    pub fn bytes_of(&self, shape: &[u64]) -> Option<u64> {
        let bits = self.bits()?;
        if shape.contains(&0) {
            return Some(0);
        }
        let bits = shape.iter().try_fold(bits, |product, &dim| product.checked_mul(dim))?;
        Some(bits.div_ceil(8))
    }
}

impl Serialize for ElementType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for ElementType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|name| Self::parse(&name))
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_type_round_trips_by_name() {
        for (kind, name, bits, aliases) in KNOWN {
            assert_eq!(&ElementType::parse(name), kind);
            assert_eq!(kind.name(), *name);
            assert_eq!(kind.bits(), Some(*bits));
            for alias in *aliases {
                assert_eq!(&ElementType::parse(alias), kind);
            }
        }
    }

    #[test]
    fn a_zero_dimension_makes_a_tensor_empty_wherever_it_stands() {
        for shape in [[0, u64::MAX, 2], [u64::MAX, 2, 0], [u64::MAX, 0, 2]] {
            assert_eq!(ElementType::Int8.bytes_of(&shape), Some(0));
        }
        assert_eq!(ElementType::Other("x".into()).bytes_of(&[0]), None);
    }

    #[test]
    fn sizes_are_rounded_up_to_bytes() {
        assert_eq!(ElementType::Int4.bytes_of(&[3]), Some(2));
        assert_eq!(ElementType::Other("x".into()).bytes_of(&[3]), None);
    }
}
