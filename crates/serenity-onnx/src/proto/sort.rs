//! Nodes in an order in which they can run.
//!
//! The standard wants them so; ONNX Runtime takes files in which they are not, and sorts them itself.

use super::Node;
use crate::effects::captures;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// Puts every node behind those whose results it reads, and otherwise leaves them in their order. Nodes that wait for
/// each other stay as they are.
pub(super) fn sort(nodes: &mut Vec<Node<'_>>) {
    let mut producer = HashMap::new();
    for (index, node) in nodes.iter().enumerate() {
        for &name in node.outputs.iter().filter(|name| !name.is_empty()) {
            producer.entry(name).or_insert(index);
        }
    }
    let before: Vec<Vec<usize>> = nodes
        .iter()
        .map(|node| {
            let captured = captures(node);
            node.inputs.iter().chain(&captured).filter_map(|name| producer.get(name).copied()).collect()
        })
        .collect();
    let is_sorted = before.iter().enumerate().all(|(index, before)| before.iter().all(|&b| b < index));
    if is_sorted {
        return;
    }
    let mut missing: Vec<usize> = before.iter().map(Vec::len).collect();
    let mut readers = vec![Vec::new(); nodes.len()];
    for (index, before) in before.iter().enumerate() {
        for &b in before {
            readers[b].push(index);
        }
    }
    let mut ready: BinaryHeap<Reverse<usize>> =
        (0..nodes.len()).filter(|&index| missing[index] == 0).map(Reverse).collect();
    let mut order = Vec::with_capacity(nodes.len());
    while let Some(Reverse(index)) = ready.pop() {
        order.push(index);
        for &reader in &readers[index] {
            missing[reader] -= 1;
            if missing[reader] == 0 {
                ready.push(Reverse(reader));
            }
        }
    }
    if order.len() == nodes.len() {
        let mut unsorted: Vec<Option<Node<'_>>> = nodes.drain(..).map(Some).collect();
        nodes.extend(order.into_iter().filter_map(|index| unsorted[index].take()));
    }
}
