//! Parts of constants: what stays of them when channels go.

use serenity_ir::ElementType;

/// The positions `kept` along a dimension that has `count`; `None` if the constant is not of that shape.
pub(crate) fn along(
    data: &[u8],
    shape: &[u64],
    dtype: &ElementType,
    axis: usize,
    count: usize,
    kept: &[usize],
) -> Option<Vec<u8>> {
    let item = usize::try_from(dtype.bits().filter(|bits| bits.is_multiple_of(8))? / 8).ok()?;
    if *shape.get(axis)? != count as u64 || dtype.bytes_of(shape)? != data.len() as u64 {
        return None;
    }
    let inner = usize::try_from(shape.get(axis + 1..)?.iter().product::<u64>()).ok()?.checked_mul(item)?;
    let outer = usize::try_from(shape.get(..axis)?.iter().product::<u64>()).ok()?;
    let mut part = Vec::with_capacity(outer.checked_mul(inner)?.checked_mul(kept.len())?);
    for block in 0..outer {
        for &channel in kept {
            let start = (block * count + channel) * inner;
            part.extend_from_slice(data.get(start..start + inner)?);
        }
    }
    Some(part)
}

/// A bias of 32 bits with what it takes over; `None` if it is none, or the sums do not fit.
pub(crate) fn with_added(data: &[u8], dtype: &ElementType, added: &[i64]) -> Option<Vec<u8>> {
    let (numbers, rest) = data.as_chunks::<4>();
    if *dtype != ElementType::Int32 || !rest.is_empty() || numbers.len() != added.len() {
        return None;
    }
    let sums = numbers.iter().zip(added).map(|(&bytes, &added)| {
        let sum = i64::from(i32::from_le_bytes(bytes)).checked_add(added)?;
        Some(i32::try_from(sum).ok()?.to_le_bytes())
    });
    Some(sums.collect::<Option<Vec<_>>>()?.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_taken_along_any_dimension() {
        let data: Vec<u8> = (0..12).collect();
        let part =
            |axis, count, kept: &[usize]| along(&data, &[2, 3, 2], &ElementType::Int8, axis, count, kept);
        assert_eq!(part(0, 2, &[1]), Some((6..12).collect()));
        assert_eq!(part(1, 3, &[0, 2]), Some(vec![0, 1, 4, 5, 6, 7, 10, 11]));
        assert_eq!(part(2, 2, &[1]), Some(vec![1, 3, 5, 7, 9, 11]));
        assert_eq!(part(1, 2, &[1]), None);
        assert_eq!(part(3, 2, &[1]), None);
        assert_eq!(part(1, 3, &[3]), None);
        assert_eq!(along(&data, &[6, 1], &ElementType::Int16, 0, 6, &[5]), Some(vec![10, 11]));
        assert_eq!(along(&data, &[24], &ElementType::Int4, 0, 24, &[5]), None);
    }

    #[test]
    fn a_bias_that_would_overflow_is_refused() {
        let bias = [7_i32, i32::MAX].map(i32::to_le_bytes).concat();
        let made = with_added(&bias, &ElementType::Int32, &[-9, 0]).unwrap();
        assert_eq!(made, [-2_i32, i32::MAX].map(i32::to_le_bytes).concat());
        assert_eq!(with_added(&bias, &ElementType::Int32, &[0, 1]), None);
        assert_eq!(with_added(&bias, &ElementType::Int32, &[0]), None);
        assert_eq!(with_added(&bias, &ElementType::Float32, &[0, 0]), None);
    }
}
