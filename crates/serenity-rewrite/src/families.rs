//! Patches that belong together.

use crate::{Action, Patch};
use serenity_ir::{Graph, OpId};
use std::collections::BTreeMap;

/// Groups of patches by their places in `patches`: those that take pieces of one tensor, or of what another of the
/// group writes. A concatenation is gone only when all its readers take the pieces.
pub(crate) fn families(graph: &Graph, patches: &[Patch]) -> Vec<Vec<usize>> {
    let place: BTreeMap<OpId, usize> = patches
        .iter()
        .enumerate()
        .filter(|(_, patch)| matches!(patch.action, Action::Split { .. }))
        .map(|(index, patch)| (patch.op(), index))
        .collect();
    let mut family: Vec<usize> = (0..patches.len()).collect();
    for tensor in graph.tensor_ids() {
        let readers = graph.consumers(tensor).iter().filter_map(|reader| place.get(reader)).copied();
        let mut readers = readers.peekable();
        let writer = graph.producer(tensor).and_then(|producer| place.get(&producer)).copied();
        let Some(first) = readers.peek().copied() else { continue };
        for other in writer.into_iter().chain(readers) {
            let (one, other) = (root(&mut family, first), root(&mut family, other));
            family[one.max(other)] = one.min(other);
        }
    }
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for index in 0..patches.len() {
        groups.entry(root(&mut family, index)).or_default().push(index);
    }
    groups.into_values().collect()
}

/// The first of a family. Makes the way shorter for whoever asks next.
fn root(family: &mut [usize], mut index: usize) -> usize {
    while family[index] != index {
        family[index] = family[family[index]];
        index = family[index];
    }
    index
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Settings;
    use serenity_ir::sketch;

    /// Two concatenations. The first is read by two ops, one of which is read by a third; and a sum of three belongs to nobody.
    #[test]
    fn readers_of_the_same_pieces_are_a_family() {
        let graph = sketch(
            "x:float32[1,1] y:float32[1,2]
             first:float32[1,2] = CONCATENATION x x axis=1
             second:float32[1,2] = CONCATENATION x x axis=1
             a:float32[1,2] = RELU first axis=1
             b:float32[1,2] = RELU second axis=1
             c:float32[1,2] = TANH first axis=1
             d:float32[1,2] = TANH a axis=1
             sum:float32[1,2] = ADD_N b c d y axis=1
             -> sum",
        );
        let patches = crate::find(&graph, &Settings::default());
        let kinds: Vec<&str> = patches.iter().map(|patch| graph.op(patch.op()).kind.as_str()).collect();
        assert_eq!(kinds, ["RELU", "RELU", "TANH", "TANH", "ADD_N"]);
        assert_eq!(families(&graph, &patches), [vec![0, 2, 3], vec![1], vec![4]]);
        assert_eq!(families(&graph, &[]), [[0; 0]; 0]);
    }
}
