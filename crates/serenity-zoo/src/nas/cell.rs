//! One cell.

use super::CellTable;
use super::operation::{Granularity, factorized_reduction, relu_conv};
use crate::net::{Feature, Net};

/// Brings the outputs of the two cells before to `filters` channels, and both to the size of the nearer one.
pub(super) fn preprocess(net: &mut Net, at: &str, states: [Feature; 2], filters: u64) -> [Feature; 2] {
    let [far, near] = states;
    let same_size = (far.height, far.width) == (near.height, near.width);
    let at_far = format!("{at}/pre0");
    let far = if same_size {
        relu_conv(net, &at_far, far, filters, Granularity::Split)
    } else {
        factorized_reduction(net, &at_far, far, filters)
    };
    [far, relu_conv(net, &format!("{at}/pre1"), near, filters, Granularity::Split)]
}

/// The nodes of a cell and their concatenation.
pub(super) fn nodes(
    net: &mut Net,
    at: &str,
    table: &CellTable,
    preprocessed: [Feature; 2],
    stride: u64,
    granularity: Granularity,
) -> Feature {
    let mut states = preprocessed.to_vec();
    for (index, node) in table.nodes.iter().enumerate() {
        let at_node = format!("{at}/node{index}");
        let mut terms = [states[0]; 2];
        for (side, &(operation, source)) in node.iter().enumerate() {
            let stride = if source < 2 { stride } else { 1 };
            let at_edge = format!("{at_node}/{}_{side}", operation.label());
            terms[side] = operation.apply(net, &at_edge, states[source], stride, granularity);
        }
        states.push(net.add(&format!("{at_node}/add"), terms[0], terms[1]));
    }
    let joined: Vec<Feature> = table.concat.iter().map(|&state| states[state]).collect();
    net.concat(&format!("{at}/concat"), &joined)
}
