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
    use serde_json::json;
    use serenity_ir::{Attributes, ElementType, GraphBuilder, Op, OpKind, Tensor, TensorId};

    fn op(builder: &mut GraphBuilder, kind: &str, inputs: &[TensorId], size: u64) -> TensorId {
        let written = builder.tensor(Tensor::shaped(kind, vec![1, size], ElementType::Float32).unwrap());
        builder.push_op(Op {
            name: String::new(),
            kind: OpKind::new(kind),
            inputs: inputs.to_vec(),
            outputs: vec![written],
            attributes: Attributes::from_iter([("axis".to_owned(), json!(1))]),
            extra: Attributes::new(),
        });
        written
    }

    /// Two concatenations. The first is read by two ops, one of which is read by a third; and a sum of three belongs to nobody.
    #[test]
    fn readers_of_the_same_pieces_are_a_family() {
        let mut builder = GraphBuilder::new("families");
        let mut input =
            |size: u64| builder.input(Tensor::shaped("x", vec![1, size], ElementType::Float32).unwrap());
        let (x, y) = (input(1), input(2));
        let first = op(&mut builder, "CONCATENATION", &[x, x], 2);
        let second = op(&mut builder, "CONCATENATION", &[x, x], 2);
        let a = op(&mut builder, "RELU", &[first], 2);
        let b = op(&mut builder, "RELU", &[second], 2);
        let c = op(&mut builder, "TANH", &[first], 2);
        let d = op(&mut builder, "TANH", &[a], 2);
        let sum = op(&mut builder, "ADD_N", &[b, c, d, y], 2);
        builder.output(sum);
        let graph = builder.build().unwrap();
        let patches = crate::find(&graph, &Settings::default());
        let kinds: Vec<&str> = patches.iter().map(|patch| graph.op(patch.op()).kind.as_str()).collect();
        assert_eq!(kinds, ["RELU", "RELU", "TANH", "TANH", "ADD_N"]);
        assert_eq!(families(&graph, &patches), [vec![0, 2, 3], vec![1], vec![4]]);
        assert_eq!(families(&graph, &[]), [[0; 0]; 0]);
    }
}
