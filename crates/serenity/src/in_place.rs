//! Order and in-place work decided together.

use crate::{Options, bridge};
use serenity_ir::{Graph, OpId, TensorId};
use serenity_runtimes::{MemoryModel, possible_writes_over};
use serenity_schedule::{OpIndex, Saving, with_savings};
use std::collections::BTreeMap;

/// What a graph needs if its ops work in place wherever their order lets them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InPlace {
    /// No order, no in-place work and no places need less.
    pub bound: u64,
    /// An order in which no more than that is in use at any time, whether or not it can be placed there; `None` if a limit ended the search.
    pub order: Option<Vec<OpId>>,
}

/// Searches the orders of a graph that [states](Graph::states_sharing) what its kernels allow by what they need with all in-place work that each allows. `floor` is known to be none too high; it is
/// all there is to know of other memory models than [`MemoryModel::Plain`].
pub fn least_in_place(graph: &Graph, floor: u64, options: &Options) -> InPlace {
    if options.model != MemoryModel::Plain || !graph.states_sharing() {
        return InPlace { bound: floor, order: None };
    }
    let mut once: BTreeMap<(OpId, TensorId), Vec<Vec<OpIndex>>> = BTreeMap::new();
    for over in possible_writes_over(graph) {
        let others = over.others.iter().map(|op| OpIndex(op.0)).collect();
        once.entry((over.op, over.output)).or_default().push(others);
    }
    let saving = |((op, output), once): ((OpId, TensorId), _)| Saving {
        op: OpIndex(op.0),
        bytes: graph.tensor(output).bytes,
        once,
    };
    let savings: Vec<Saving> = once.into_iter().map(saving).collect();
    let problem = bridge::problem(graph, &options.model.lifetimes(graph));
    let found = with_savings(&problem, &savings, floor, options.effort.moves_with_savings(), &options.limits);
    let order = found.order.map(|order| order.iter().map(|op| OpId(op.0)).collect());
    InPlace { bound: found.at_least, order }
}
