//! The two orders in which ONNX Runtime runs its nodes.

use super::nodes::Nodes;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Of all nodes that can run, `Shape` and `Size` first, then the lowest number.
pub(super) fn priority(nodes: &Nodes) -> Vec<usize> {
    let mut missing: Vec<usize> = nodes.before.iter().map(Vec::len).collect();
    let key = |number: usize| Reverse((!nodes.list[number].is_size, number));
    let mut ready: BinaryHeap<_> =
        (0..missing.len()).filter(|&number| missing[number] == 0).map(key).collect();
    let mut order = Vec::with_capacity(missing.len());
    while let Some(Reverse((_, number))) = ready.pop() {
        order.push(number);
        let mut readers = nodes.after[number].clone();
        readers.sort_unstable();
        readers.dedup();
        for reader in readers {
            missing[reader] -= 1;
            if missing[reader] == 0 {
                ready.push(key(reader));
            }
        }
    }
    order
}

/// Backwards, depth first, from the nodes that nothing reads; of several always the highest number. A node runs when all that it needs has run.
pub(super) fn default(nodes: &Nodes) -> Vec<usize> {
    let is_last = |&number: &usize| nodes.after[number].is_empty();
    let mut open: Vec<(usize, bool)> =
        (0..nodes.list.len()).filter(is_last).map(|number| (number, false)).collect();
    let mut seen = vec![false; nodes.list.len()];
    let mut order = Vec::with_capacity(nodes.list.len());
    while let Some((number, is_done)) = open.pop() {
        if is_done {
            order.push(number);
        } else if !std::mem::replace(&mut seen[number], true) {
            open.push((number, true));
            open.extend(nodes.before[number].iter().filter(|&&n| !seen[n]).map(|&n| (n, false)));
        }
    }
    order
}
