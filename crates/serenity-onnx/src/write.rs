//! Writing a model with its nodes in another order.
//!
//! The slots in which the file's nodes stand are filled with the same records in the new order. Since records carry
//! their own tags and lengths and the slots together keep their size, no length above them changes, and neither does
//! any other byte.

use crate::lower::Lowered;
use serenity_ir::OpId;
use std::ops::Range;

/// All nodes of the file: the ops in `order`, each after the folded nodes that it needs first; then the folded nodes
/// that nothing needs.
pub(crate) fn node_order(lowered: &Lowered, order: &[OpId]) -> Vec<usize> {
    let mut is_missing = vec![false; lowered.folded_needs.len()];
    for &node in &lowered.folded {
        is_missing[node] = true;
    }
    let mut result = Vec::with_capacity(is_missing.len());
    for &op in order {
        let node = lowered.node_of_op[op.index()];
        let first = result.len();
        let mut waiting = vec![node];
        while let Some(reader) = waiting.pop() {
            for &needed in &lowered.folded_needs[reader] {
                if std::mem::replace(&mut is_missing[needed], false) {
                    result.push(needed);
                    waiting.push(needed);
                }
            }
        }
        // The file's order is one in which they can run.
        result[first..].sort_unstable();
        result.push(node);
    }
    result.extend(lowered.folded.iter().filter(|&&node| is_missing[node]));
    result
}

/// The file with the records of its nodes permuted.
pub(crate) fn permuted(bytes: &[u8], records: &[Range<usize>], order: &[usize]) -> Vec<u8> {
    let mut result = Vec::with_capacity(bytes.len());
    let mut copied = 0;
    let mut slots: Vec<&Range<usize>> = records.iter().collect();
    slots.sort_unstable_by_key(|slot| slot.start);
    for (slot, &node) in slots.into_iter().zip(order) {
        result.extend_from_slice(&bytes[copied..slot.start]);
        result.extend_from_slice(&bytes[records[node].clone()]);
        copied = slot.end;
    }
    result.extend_from_slice(&bytes[copied..]);
    result
}
