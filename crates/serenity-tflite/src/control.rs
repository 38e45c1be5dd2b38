//! The metadata `model_control_dependencies`: pairs of operators of which one must run before the other.
//!
//! The format is a version (1), then for each sub-graph the number of pairs and the pairs. Counts are varints of seven
//! bits a byte, operator numbers are signed and zigzag-encoded.

/// The metadata's name.
pub(crate) const CONTROL_DEPENDENCIES: &str = "model_control_dependencies";

/// For each sub-graph: pairs of operators, the first before the second.
pub(crate) type ControlDependencies = Vec<Vec<(usize, usize)>>;

/// Reads the pairs; `None` if the bytes are not of this format, or name an operator that is not there, or a pair that
/// the file's own order does not obey. `operators`: how many operators each sub-graph has.
pub(crate) fn parse(mut bytes: &[u8], operators: &[usize]) -> Option<ControlDependencies> {
    let bytes = &mut bytes;
    if varint(bytes)? != 1 {
        return None;
    }
    let sub_graphs = varint(bytes)? as usize;
    if sub_graphs > operators.len() {
        return None;
    }
    let mut result = vec![Vec::new(); operators.len()];
    for (pairs, &count) in result.iter_mut().zip(operators).take(sub_graphs) {
        for _ in 0..varint(bytes)? {
            let (first, second) = (operator(bytes)?, operator(bytes)?);
            if first >= second || second >= count {
                return None;
            }
            pairs.push((first, second));
        }
    }
    bytes.is_empty().then_some(result)
}

/// Writes what [`parse`] reads.
pub(crate) fn write(dependencies: &ControlDependencies) -> Vec<u8> {
    let mut bytes = Vec::new();
    push_varint(&mut bytes, 1);
    push_varint(&mut bytes, dependencies.len() as u32);
    for pairs in dependencies {
        push_varint(&mut bytes, pairs.len() as u32);
        for &(first, second) in pairs {
            push_varint(&mut bytes, 2 * first as u32);
            push_varint(&mut bytes, 2 * second as u32);
        }
    }
    bytes
}

fn varint(bytes: &mut &[u8]) -> Option<u32> {
    let mut value = 0_u64;
    for shift in [0, 7, 14, 21, 28] {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return u32::try_from(value).ok();
        }
    }
    None
}

fn operator(bytes: &mut &[u8]) -> Option<usize> {
    let zigzag = varint(bytes)?;
    (zigzag % 2 == 0).then_some(zigzag as usize / 2)
}

fn push_varint(bytes: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let dependencies = vec![vec![(0, 1), (63, 64), (5, 20_000)], vec![]];
        assert_eq!(parse(&write(&dependencies), &[20_001, 0]), Some(dependencies));
    }

    #[test]
    fn the_format_is_that_of_the_converter() {
        assert_eq!(write(&vec![vec![(1, 2)]]), [1, 1, 1, 2, 4]);
    }

    #[test]
    fn nonsense_is_refused() {
        let cases: [&[u8]; 7] = [
            &[],
            &[2, 0],
            &[1, 1, 1, 2],
            &[1, 1, 1, 4, 2],
            &[1, 1, 1, 1, 2],
            &[1, 1, 1, 2, 200, 1],
            &[1, 0, 0],
        ];
        for bytes in cases {
            assert_eq!(parse(bytes, &[3]), None, "{bytes:?}");
        }
        assert_eq!(parse(&[0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0], &[3]), None);
    }
}
