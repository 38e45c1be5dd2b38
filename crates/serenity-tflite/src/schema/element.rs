//! Element types.

use serenity_ir::ElementType;

/// By number: the name, and the bits an element takes. Strings and variants have no fixed size: the runtimes
/// keep them outside their arenas, so here they count as nothing. A resource is a 32-bit handle.
const TYPES: &[(&str, u64)] = &[
    ("float32", 32),
    ("float16", 16),
    ("int32", 32),
    ("uint8", 8),
    ("int64", 64),
    ("string", 0),
    ("bool", 8),
    ("int16", 16),
    ("complex64", 64),
    ("int8", 8),
    ("float64", 64),
    ("complex128", 128),
    ("uint64", 64),
    ("resource", 32),
    ("variant", 0),
    ("uint32", 32),
    ("uint16", 16),
    ("int4", 4),
    ("bfloat16", 16),
    ("int2", 2),
    ("uint4", 4),
    ("float8_e4m3fn", 8),
    ("float8_e5m2", 8),
];

/// Text.
pub(crate) const STRING: i8 = 5;
/// Handles to state.
pub(crate) const RESOURCE: i8 = 13;
/// Lists and other values of any kind.
pub(crate) const VARIANT: i8 = 14;

/// The name of a type, if it is one we know.
pub(crate) fn name(code: i8) -> Option<&'static str> {
    usize::try_from(code).ok().and_then(|code| TYPES.get(code)).map(|known| known.0)
}

/// The number of a type.
pub(crate) fn code(dtype: &ElementType) -> Option<i8> {
    TYPES.iter().position(|known| known.0 == dtype.name()).and_then(|code| i8::try_from(code).ok())
}

/// The type; one newer than this list is called by its number.
pub(crate) fn element_type(code: i8) -> ElementType {
    name(code).map_or_else(|| ElementType::Other(format!("TYPE_{code}")), ElementType::parse)
}

/// Packed bytes of a tensor; `None` if the product overflows or the type is unknown.
pub(crate) fn bytes_of(code: i8, shape: &[u64]) -> Option<u64> {
    let (_, bits) = usize::try_from(code).ok().and_then(|code| TYPES.get(code))?;
    if shape.contains(&0) {
        return Some(0);
    }
    let bits = shape.iter().try_fold(*bits, |product, &dim| product.checked_mul(dim))?;
    Some(bits.div_ceil(8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_agree_with_the_graph_where_it_knows_the_type() {
        for (number, (name, bits)) in TYPES.iter().enumerate() {
            let dtype = element_type(number as i8);
            assert_eq!(dtype.name(), *name);
            assert_eq!(code(&dtype), Some(number as i8));
            assert!(dtype.bits().is_none_or(|known| known == *bits), "{name}");
        }
        assert_eq!(element_type(99).name(), "TYPE_99");
        assert_eq!(bytes_of(17, &[3]), Some(2));
        assert_eq!(bytes_of(9, &[u64::MAX, 2]), None);
        assert_eq!((name(RESOURCE), name(VARIANT)), (Some("resource"), Some("variant")));
    }
}
