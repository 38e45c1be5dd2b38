//! The peak of a model: the most memory in use at any time.

use serenity_ir::{Graph, OpId, Profile};
use serenity_runtimes::{MemoryModel, MemoryModelExt, Offsets, TflmFacts, main_graph, profile_in_places};

/// Memory in use over time, for the order of the main graph and those of the sub-graphs. If the memory plan puts what
/// loops hand on into the same bytes, each byte counts once; otherwise the lifetimes of the memory model count.
pub fn profile(
    graphs: &[Graph],
    (order, bodies): (&[OpId], &[Vec<OpId>]),
    model: MemoryModel,
    plan: Option<&Offsets>,
) -> Profile {
    let orders: Vec<&[OpId]> = std::iter::once(order).chain(bodies.iter().map(Vec::as_slice)).collect();
    let all: Vec<&Graph> = graphs.iter().collect();
    let in_places = model
        .kernels()
        .zip(plan.filter(|plan| !plan.is_empty()))
        .and_then(|(kernels, plan)| profile_in_places(&TflmFacts::new(&all, kernels), &orders, plan));
    in_places.unwrap_or_else(|| model.lifetimes(&main_graph(graphs, bodies, model)).profile(order))
}

/// The peak of a model in its original orders.
pub fn own_peak(graphs: &[Graph], model: MemoryModel, plan: Option<&Offsets>) -> u64 {
    let own: Vec<Vec<OpId>> = graphs.iter().map(Graph::file_order).collect();
    let main = model.execution_order(&graphs[0], &own[0]);
    profile(graphs, (&main, &own[1..]), model, plan).peak()
}
