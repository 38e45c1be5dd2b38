//! Is what a plan says true, by the count of the pipeline? That shares no code with the checker.

use serde_json::Value;
use serenity::arena::Sharing;
use serenity::ir::{Graph, OpId};
use serenity::runtimes::{Content, MemoryModel, MemoryModelExt, main_graph};
use serenity::{Input, PlanFile};

/// Is all that the plan says of the planned model true? Bounds are, if they are no higher than those that were proved
/// when the plan was made.
pub fn is_true(planned: &Input, made: &Value, plan: &PlanFile) -> bool {
    let model = plan.model.unwrap_or(planned.default_model);
    let is_same_model = made["runtime"] == model.to_string();
    let number = |field: &str| made[field].as_u64().unwrap_or(0);
    needs_what_it_says(planned, plan)
        && (!is_same_model || (plan.bound <= number("bound") && plan.peak_bound <= number("peak_bound")))
        && (!plan.optimal || plan.bound == plan.arena.unwrap_or(plan.peak))
}

/// Can its orders run, in the memory that it states and where it places the tensors?
pub fn needs_what_it_says(planned: &Input, plan: &PlanFile) -> bool {
    let model = plan.model.unwrap_or(planned.default_model);
    let graphs: Vec<&Graph> = planned.graphs().iter().collect();
    let can_run = |(graph, order): (&&Graph, &Vec<OpId>)| graph.check_order(order).is_ok();
    if plan.bodies.len() + 1 != graphs.len() || !graphs[1..].iter().zip(&plan.bodies).all(can_run) {
        return false;
    }
    let main = main_graph(planned.graphs(), &plan.bodies, model);
    let file = plan.file_order.as_ref().unwrap_or(&plan.order);
    if main.check_order(&plan.order).is_err() || main.check_order(file).is_err() {
        return false;
    }
    let orders = |first: &'_ [OpId]| -> Vec<Vec<OpId>> {
        std::iter::once(first.to_vec()).chain(plan.bodies.iter().cloned()).collect()
    };
    let in_file = orders(file);
    let in_file: Vec<&[OpId]> = in_file.iter().map(Vec::as_slice).collect();
    let arena = model.arena(&graphs, &in_file, plan.offsets.as_ref()).map(|arena| arena.bytes);
    model.lifetimes(&main).profile(&plan.order).peak() == plan.peak
        && plan.arena.is_none_or(|stated| Some(stated) == arena)
        && (plan.arena.is_none() || model.execution_order(graphs[0], file) == plan.order)
        && (plan.offsets.is_none() || is_safe(&graphs, &in_file, model, plan))
}

/// All pairs of buffers, one by one.
fn is_safe(graphs: &[&Graph], orders: &[&[OpId]], model: MemoryModel, plan: &PlanFile) -> bool {
    let (Some(offsets), Some(kernels)) = (&plan.offsets, model.kernels()) else { return false };
    let arena = MemoryModel::TflmPlanned(kernels).placement_problem(graphs, orders);
    let Some(arena) = arena else { return false };
    let buffers = arena.problem.buffers();
    let place = |i: usize| match arena.contents[i] {
        Content::Tensor { graph, tensor } => *offsets.get(graph)?.get(tensor.index())?,
        Content::Scratch { .. } => None,
    };
    let may_share = |writer: usize, over: usize, low: u64, high: u64| {
        arena.problem.overlaps().iter().any(|overlap| {
            (overlap.writer, overlap.over) == (writer, over)
                && match overlap.how {
                    Sharing::Below { distance } => high >= low.saturating_add(distance),
                    Sharing::EitherWay { below, above } => {
                        high >= low.saturating_add(below) || low >= high.saturating_add(above.get())
                    }
                    Sharing::SameOffset => high == low,
                }
        })
    };
    let is_tensor = |i: &usize| matches!(arena.contents[*i], Content::Tensor { .. });
    (0..buffers.len()).filter(is_tensor).all(|y| {
        let Some(at_y) = place(y) else { return false };
        at_y % 16 == 0
            && (0..y).filter(is_tensor).all(|x| {
                let Some(at_x) = place(x) else { return false };
                let (a, b) = (&buffers[x], &buffers[y]);
                a.upper <= b.lower
                    || b.upper <= a.lower
                    || at_x.saturating_add(a.size) <= at_y
                    || at_y.saturating_add(b.size) <= at_x
                    || may_share(y, x, at_y, at_x)
                    || may_share(x, y, at_x, at_y)
            })
    })
}
