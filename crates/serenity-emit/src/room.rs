//! Free bytes of the arena while an operator runs: scratch that no plan has to make room for.

use crate::emitter::At;
use crate::source::{DataPlace, SourceGraph, SourceOp};

/// Scratch begins at multiples of this from the beginning of its array.
const ALIGNMENT: u64 = 16;

/// Where so many bytes are free while an operator runs; `None` if nowhere. Only for the main graph: what lies around the
/// body of a loop, and the rows of a stream, stay in use.
pub(crate) fn free(at: &At, bytes: u64) -> Option<u64> {
    let source = at.emitter.source;
    let is_main = source.graphs.first().is_some_and(|main| std::ptr::eq(main, at.graph));
    let is_sliding = source.stream.as_ref().is_some_and(|stream| stream.slide.is_some());
    if !is_main || is_sliding {
        return None;
    }
    let mut used = in_use(at.graph, at.op);
    used.sort_unstable();
    at.emitter.arrays().find_map(|(begin, end)| gap(&used, begin, end, bytes))
}

/// The first gap of an array between places in use, which are in ascending order.
fn gap(used: &[(u64, u64)], begin: u64, end: u64, bytes: u64) -> Option<u64> {
    let mut free = begin;
    for &(from, to) in used {
        if to <= free {
            continue;
        }
        if from >= free.saturating_add(bytes) {
            break;
        }
        free = begin + (to - begin).next_multiple_of(ALIGNMENT);
    }
    (free.saturating_add(bytes) <= end).then_some(free)
}

/// Where tensors lie that are in use while an operator runs: made before its end, or given, and read at it or later.
/// Results of the network are read at the end.
fn in_use(graph: &SourceGraph, op: &SourceOp) -> Vec<(u64, u64)> {
    let now = graph.ops.iter().position(|one| std::ptr::eq(one, op)).unwrap_or(0);
    let mut lives = vec![(0, None); graph.tensors.len()];
    for &output in &graph.outputs {
        lives[output].1 = Some(graph.ops.len());
    }
    for (moment, op) in graph.ops.iter().enumerate().rev() {
        for &input in op.inputs.iter().flatten() {
            lives[input].1 = lives[input].1.max(Some(moment));
        }
        for &output in op.outputs.iter().flatten() {
            lives[output] = (moment, lives[output].1.max(Some(moment)));
        }
    }
    for &input in &graph.inputs {
        lives[input].0 = 0;
    }
    let tensors = graph.tensors.iter().zip(lives);
    tensors
        .filter(|(_, (first, last))| *first <= now && last.is_some_and(|last| last >= now))
        .filter_map(|(tensor, _)| match tensor.place {
            DataPlace::Arena(offset) => Some((offset, offset + tensor.bytes)),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checked::is_free;
    use crate::source::SourceTensor;
    use serenity_ir::{Attributes, ElementType};

    /// Tensors 0 to 4 of 16 bytes each, 1 = f(0), 2 = f(1), 3 = f(2, 1), 4 = f(3); 4 is the result.
    fn graph(outputs: Vec<usize>) -> SourceGraph {
        let tensor = |number: u64| SourceTensor {
            name: String::new(),
            shape: vec![16],
            dtype: ElementType::Int8,
            quantization: None,
            bytes: 16,
            place: DataPlace::Arena(16 * number),
        };
        let op = |inputs: &[usize], output| SourceOp {
            kind: String::new(),
            inputs: inputs.iter().copied().map(Some).collect(),
            outputs: vec![Some(output)],
            attributes: Attributes::new(),
            bodies: vec![],
            scratch: None,
        };
        let ops = vec![op(&[0], 1), op(&[1], 2), op(&[2, 1], 3), op(&[3], 4)];
        SourceGraph { tensors: (0..5).map(tensor).collect(), ops, inputs: vec![0], outputs }
    }

    #[test]
    fn what_an_operator_may_overwrite_is_neither_read_later_nor_made_before() {
        let free = |graph: &SourceGraph, op: usize| -> Vec<u64> {
            let used = in_use(graph, &graph.ops[op]);
            let free: Vec<u64> =
                (0..5).filter(|tensor| !used.contains(&(16 * tensor, 16 * tensor + 16))).collect();
            for place in 0..80 {
                let lies_apart =
                    (place / 16..=(place + 7) / 16).all(|tensor| free.contains(&tensor) || tensor > 4);
                assert_eq!(is_free(graph, &graph.ops[op], place, 8), lies_apart, "{op} {place}");
            }
            free
        };
        let one = graph(vec![4]);
        assert_eq!(
            [0, 1, 2, 3].map(|op| free(&one, op)),
            [vec![2, 3, 4], vec![0, 3, 4], vec![0, 4], vec![0, 1, 2]]
        );
        // The result of an operator in the middle stays, and an input that is a result as well.
        let two = graph(vec![4, 2, 0]);
        assert_eq!([0, 1, 2, 3].map(|op| free(&two, op)), [vec![2, 3, 4], vec![3, 4], vec![4], vec![1]]);
    }

    #[test]
    fn the_first_gap_that_is_large_enough() {
        let used = [(0, 20), (8, 16), (40, 70), (100, 101), (400, 500)];
        assert_eq!(gap(&used, 0, 300, 8), Some(32));
        assert_eq!(gap(&used, 0, 300, 9), Some(80));
        assert_eq!(gap(&used, 0, 300, 21), Some(112));
        assert_eq!(gap(&used, 0, 300, 188), Some(112));
        assert_eq!(gap(&used, 0, 300, 189), None);
        assert_eq!(gap(&used, 72, 300, 8), Some(72));
    }
}
