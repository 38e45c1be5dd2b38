//! From height, width, channels to channels, height, width.

/// For each axis of a feature map in ONNX, the axis it has here.
pub(super) const NCHW: [usize; 4] = [0, 3, 1, 2];

/// The shape that a tensor has in ONNX: feature maps change, everything else stays.
pub(super) fn shape(shape: &[u64]) -> Vec<u64> {
    match shape {
        [_, _, _, _] => NCHW.iter().map(|&axis| shape[axis]).collect(),
        _ => shape.to_vec(),
    }
}

/// One value an axis, of a tensor that has these many axes, in the order of ONNX.
pub(super) fn by_axis<T: Copy>(values: &[T]) -> Vec<T> {
    match values {
        [_, _, _, _] => NCHW.iter().map(|&axis| values[axis]).collect(),
        _ => values.to_vec(),
    }
}

/// The axis in ONNX of a tensor of `rank`; negative ones count from the end. `None` if there is no such axis.
pub(super) fn axis(axis: i64, rank: usize) -> Option<i64> {
    let from_start = if axis < 0 { axis + rank as i64 } else { axis };
    let here = usize::try_from(from_start).ok().filter(|&axis| axis < rank)?;
    let there = if rank == 4 { NCHW.iter().position(|&axis| axis == here)? } else { here };
    Some(there as i64)
}

/// Elements of 4 bytes in another order of axes: axis `i` of the result is axis `order[i]` of `shape`.
pub(super) fn transposed(data: &[u8], shape: &[u64; 4], order: [usize; 4]) -> Vec<u8> {
    let dims = shape.map(|dim| dim as usize);
    let strides = [dims[1] * dims[2] * dims[3], dims[2] * dims[3], dims[3], 1];
    let [a, b, c, d] = order.map(|axis| (dims[axis], strides[axis]));
    let (elements, _) = data.as_chunks::<4>();
    let mut result = Vec::with_capacity(data.len());
    for w in 0..a.0 {
        for x in 0..b.0 {
            for y in 0..c.0 {
                for z in 0..d.0 {
                    result.extend_from_slice(&elements[w * a.1 + x * b.1 + y * c.1 + z * d.1]);
                }
            }
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_come_to_the_front() {
        assert_eq!(shape(&[1, 5, 7, 3]), [1, 3, 5, 7]);
        assert_eq!(shape(&[1, 10]), [1, 10]);
        assert_eq!(
            [0, 1, 2, 3, -1, 4].map(|a| axis(a, 4)),
            [0, 2, 3, 1, 1, -1].map(|a| (a >= 0).then_some(a))
        );
        assert_eq!(axis(-1, 2), Some(1));
    }

    #[test]
    fn elements_follow_their_axes() {
        let data: Vec<u8> = (0_u32..12).flat_map(u32::to_le_bytes).collect();
        let moved = transposed(&data, &[1, 2, 2, 3], NCHW);
        let values: Vec<u32> = moved.as_chunks::<4>().0.iter().map(|&b| u32::from_le_bytes(b)).collect();
        assert_eq!(values, [0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11]);
    }
}
