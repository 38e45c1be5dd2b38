//! The count of the textbook: every tensor has a buffer of its own, unless the graph says otherwise.

use crate::{ArenaProblem, Runtime, problem, stated};
use serenity_ir::{Graph, Lifetimes, OpId, Storage};

pub(crate) struct Plain;

impl Runtime for Plain {
    fn storage(&self, graph: &Graph) -> Storage {
        stated::storage(graph)
    }

    fn least_lifetimes(&self, graph: &Graph) -> Lifetimes {
        stated::least_storage(graph).into_lifetimes(graph)
    }

    fn placement_problem(&self, graphs: &[&Graph], orders: &[&[OpId]]) -> Option<ArenaProblem> {
        let (graph, order) = (graphs.first()?, orders.first()?);
        let problem = problem::by_lifetimes(&self.storage(graph).into_lifetimes(graph), order)?;
        stated::with_overlaps(problem, graph, order)
    }
}
