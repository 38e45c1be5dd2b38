//! Element types as ONNX numbers them.

use serenity_ir::ElementType;

/// `TensorProto.DataType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DataType(pub(crate) i32);

/// Name and bits an element, by number. Text has no fixed size.
const KNOWN: [(&str, Option<u64>); 27] = [
    ("undefined", None),
    ("float32", Some(32)),
    ("uint8", Some(8)),
    ("int8", Some(8)),
    ("uint16", Some(16)),
    ("int16", Some(16)),
    ("int32", Some(32)),
    ("int64", Some(64)),
    ("string", None),
    ("bool", Some(8)),
    ("float16", Some(16)),
    ("float64", Some(64)),
    ("uint32", Some(32)),
    ("uint64", Some(64)),
    ("complex64", Some(64)),
    ("complex128", Some(128)),
    ("bfloat16", Some(16)),
    ("float8e4m3fn", Some(8)),
    ("float8e4m3fnuz", Some(8)),
    ("float8e5m2", Some(8)),
    ("float8e5m2fnuz", Some(8)),
    ("uint4", Some(4)),
    ("int4", Some(4)),
    ("float4e2m1", Some(4)),
    ("float8e8m0", Some(8)),
    ("uint2", Some(2)),
    ("int2", Some(2)),
];

impl DataType {
    pub(crate) const FLOAT: Self = Self(1);
    pub(crate) const UINT8: Self = Self(2);
    pub(crate) const INT8: Self = Self(3);
    pub(crate) const UINT16: Self = Self(4);
    pub(crate) const INT16: Self = Self(5);
    pub(crate) const INT32: Self = Self(6);
    pub(crate) const INT64: Self = Self(7);
    pub(crate) const BOOL: Self = Self(9);
    pub(crate) const FLOAT16: Self = Self(10);
    pub(crate) const DOUBLE: Self = Self(11);
    pub(crate) const UINT32: Self = Self(12);
    pub(crate) const UINT64: Self = Self(13);
    pub(crate) const BFLOAT16: Self = Self(16);

    /// The type an attribute or a field numbers.
    pub(crate) fn from_number(number: i64) -> Option<Self> {
        i32::try_from(number).ok().filter(|n| (1..KNOWN.len() as i32).contains(n)).map(Self)
    }

    /// The number of a type that has one.
    pub(crate) fn of(element: &ElementType) -> Option<Self> {
        let number =
            KNOWN.iter().position(|(name, bits)| bits.is_some() && ElementType::parse(name) == *element);
        number.map(|number| Self(number as i32))
    }

    fn known(self) -> (&'static str, Option<u64>) {
        usize::try_from(self.0).ok().and_then(|n| KNOWN.get(n)).copied().unwrap_or(("undefined", None))
    }

    pub(crate) fn element_type(self) -> ElementType {
        ElementType::parse(self.known().0)
    }

    /// Whole numbers of one byte or more: those whose values may decide a shape.
    pub(crate) fn is_integer(self) -> bool {
        [
            Self::UINT8,
            Self::INT8,
            Self::UINT16,
            Self::INT16,
            Self::INT32,
            Self::INT64,
            Self::BOOL,
            Self::UINT32,
            Self::UINT64,
        ]
        .contains(&self)
    }

    /// Bytes of a packed tensor; `None` if an element has no fixed size or the product overflows.
    pub(crate) fn bytes_of(self, shape: &[u64]) -> Option<u64> {
        let bits = self.known().1?;
        if shape.contains(&0) {
            return Some(0);
        }
        shape.iter().try_fold(bits, |product, &dim| product.checked_mul(dim)).map(|bits| bits.div_ceil(8))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_types_are_packed_and_text_has_no_size() {
        assert_eq!(DataType(22).bytes_of(&[3]), Some(2));
        assert_eq!(DataType(25).bytes_of(&[5]), Some(2));
        assert_eq!(DataType(17).bytes_of(&[5]), Some(5));
        assert_eq!(DataType(8).bytes_of(&[5]), None);
        assert_eq!(DataType::FLOAT.bytes_of(&[u64::MAX, 2]), None);
        assert_eq!(DataType::FLOAT.bytes_of(&[u64::MAX, 0, 2]), Some(0));
    }

    #[test]
    fn numbers_outside_the_table_are_no_types() {
        assert_eq!(DataType::from_number(0), None);
        assert_eq!(DataType::from_number(27), None);
        assert_eq!(DataType::from_number(i64::MIN), None);
        assert_eq!(DataType(-1).bytes_of(&[1]), None);
        assert_eq!(DataType(1).element_type(), ElementType::Float32);
        assert_eq!(DataType::of(&ElementType::Float16), Some(DataType::FLOAT16));
        assert_eq!(DataType::of(&ElementType::parse("string")), None);
        assert_eq!(DataType::of(&ElementType::parse("future")), None);
    }
}
