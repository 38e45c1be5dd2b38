//! Patches that belong together.

use crate::{Action, Patch};
use serenity_ir::{Graph, OpId};
use std::collections::BTreeMap;

/// Groups of patches by their places in `patches`: those that take pieces of one tensor, or of what another of the group writes. A concatenation
/// is gone only when all its readers take the pieces.
pub(crate) fn families(graph: &Graph, patches: &[Patch]) -> Vec<Vec<usize>> {
    let place: BTreeMap<OpId, usize> = patches
        .iter()
        .enumerate()
        .filter(|(_, patch)| matches!(patch.action, Action::Split { .. }))
        .map(|(index, patch)| (patch.op(), index))
        .collect();
    let mut family: Vec<usize> = (0..patches.len()).collect();
    for (&op, &index) in &place {
        for &input in &graph.op(op).inputs {
            let writer = graph.producer(input).and_then(|producer| place.get(&producer)).copied();
            let readers = graph.consumers(input).iter().filter_map(|reader| place.get(reader)).copied();
            for other in writer.into_iter().chain(readers) {
                let (one, other) = (root(&family, index), root(&family, other));
                family[one.max(other)] = one.min(other);
            }
        }
    }
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for index in 0..patches.len() {
        groups.entry(root(&family, index)).or_default().push(index);
    }
    groups.into_values().collect()
}

fn root(family: &[usize], mut index: usize) -> usize {
    while family[index] != index {
        index = family[index];
    }
    index
}
