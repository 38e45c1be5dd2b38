//! Finds the orders of sub-graphs.

use crate::stages::order::best_by_peak;
use crate::{Error, Options};
use serenity_ir::{Graph, OpId};
use serenity_runtimes::{annotate, callees_first};

/// The main graph of a model, whose ops include the memory of their sub-graphs, and the orders of the sub-graphs.
pub(crate) struct Settled {
    pub(crate) main: Graph,
    pub(crate) orders: Vec<Vec<OpId>>,
}

/// Finds the best order of every sub-graph by itself, the innermost first.
pub(crate) fn settle(graphs: &[Graph], options: &Options) -> Result<Settled, Error> {
    let mut annotated = graphs.to_vec();
    let mut orders: Vec<Vec<OpId>> = graphs.iter().map(Graph::file_order).collect();
    for index in callees_first(graphs) {
        annotate(&mut annotated, &orders, index, options.model);
        if index > 0 && !graphs[index].ops().is_empty() {
            orders[index] = best_by_peak(&annotated[index], options)?.order;
        }
    }
    Ok(Settled { main: annotated.swap_remove(0), orders: orders.split_off(1) })
}
