//! The two orders in which ONNX Runtime runs its nodes.

use super::nodes::{Facts, Nodes};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Of all nodes that can run, `Shape` and `Size` first, then the lowest number.
pub(super) fn priority(nodes: &Nodes, facts: &Facts) -> Vec<usize> {
    let (before, after) = (&nodes.connections.before, &nodes.connections.after);
    let mut missing: Vec<usize> = (0..nodes.ops.len()).map(|node| before.of(node).len()).collect();
    let key = |node: usize| Reverse((!facts.is_size[nodes.ops[node].index()], nodes.number[node], node));
    let mut ready: BinaryHeap<_> = (0..missing.len()).filter(|&node| missing[node] == 0).map(key).collect();
    let mut order = Vec::with_capacity(missing.len());
    while let Some(Reverse((_, _, node))) = ready.pop() {
        order.push(node);
        for &reader in after.of(node) {
            missing[reader] -= 1;
            if missing[reader] == 0 {
                ready.push(key(reader));
            }
        }
    }
    order
}

/// Backwards, depth first, from the nodes that nothing reads; of several always the highest number. A node runs when
/// all that it needs has run.
pub(super) fn default(nodes: &Nodes) -> Vec<usize> {
    let (before, after) = (&nodes.connections.before, &nodes.connections.after);
    let by_number = |open: &mut [(usize, bool)]| open.sort_unstable_by_key(|&(node, _)| nodes.number[node]);
    let is_last = |&node: &usize| after.of(node).is_empty();
    let mut open: Vec<(usize, bool)> =
        (0..nodes.ops.len()).filter(is_last).map(|node| (node, false)).collect();
    by_number(&mut open);
    let mut seen = vec![false; nodes.ops.len()];
    let mut order = Vec::with_capacity(nodes.ops.len());
    while let Some((node, is_done)) = open.pop() {
        if is_done {
            order.push(node);
        } else if !std::mem::replace(&mut seen[node], true) {
            open.push((node, true));
            let first = open.len();
            open.extend(before.of(node).iter().filter(|&&n| !seen[n]).map(|&n| (n, false)));
            by_number(&mut open[first..]);
        }
    }
    order
}
