//! Finds the best order of a file for ONNX Runtime.

use super::wander::wander;
use crate::effort::WALKS;
use crate::stages::problem::problem;
use crate::stages::{order, refine};
use crate::{Error, Footprint, Options, Plan};
use serenity_ir::{Graph, OpId};
use serenity_runtimes::{
    MemoryModelExt, OrtOrder, OrtRun as Run, OrtSession as Session, OrtSetup, main_graph, numberings,
};
use serenity_schedule::{self as scheduling, Algorithm};

/// Searches for the file order with which ONNX Runtime requests the least memory. The plan lists the order in which
/// that file runs. Only the main graph is ordered: the memory of sub-graphs is not known.
pub(crate) fn best(graphs: &[Graph], setup: OrtSetup, options: &Options) -> Result<Plan, Error> {
    let graph = &main_graph(graphs, &[], options.model);
    let session = Session::new(graph, setup);
    let lifetimes = options.model.lifetimes(graph);
    let own = graph.file_order();
    let mut plan = order::unchecked(graph, options);
    plan.bodies = graphs[1..].iter().map(Graph::file_order).collect();
    lower_bound(graph, &mut plan, options);
    let mut file = plan.order.clone();
    if options.algorithm.is_exact() {
        let stop = || options.limits.are_over();
        let steps = options.effort.ort_steps();
        let judge = |file: &[OpId], _: Option<&refine::Cost>| {
            let run = session.run(file);
            let bytes_times_steps = refine::spread(&lifetimes, &run.order).1;
            Some(refine::Judged::of((run.requested, run.in_use, bytes_times_steps)))
        };
        let mut starts = vec![file.clone(), own.clone()];
        if setup.order == OrtOrder::Default {
            starts.extend(numberings(graph, &file));
        }
        let refined = starts.into_iter().map(|s| refine::refine(graph, s, (plan.bound, steps), judge, stop));
        if let Some((mut found, mut cost)) = refined.min_by_key(|(_, cost)| *cost) {
            // Random moves and single moves may each find what the other has missed.
            for _ in 0..WALKS {
                let wandered = wander(&session, found.clone(), plan.bound, options.effort, stop);
                let (again, new) = refine::refine(graph, wandered, (plan.bound, steps), judge, stop);
                if new >= cost {
                    break;
                }
                (found, cost) = (again, new);
            }
            file = found;
        }
    }
    let (before, mut after) = (session.run(&own), session.run(&file));
    // Requesting less is no gain if the arena grows; requesting as much is a gain if the arena shrinks.
    let is_gain = after.requested <= before.requested
        && after.requested + after.in_use < before.requested + before.in_use;
    if !is_gain {
        after = session.run(&own);
        file = own;
        plan.algorithm = Algorithm::File;
    }
    let footprint = |run: &Run| {
        let peak = lifetimes.profile(&run.order).peak();
        Footprint { peak, arena: Some(run.requested), ops: graph.ops().len() }
    };
    plan.before = footprint(&before);
    plan.take_order(after.order.clone(), footprint(&after));
    plan.steering = (file != plan.order).then_some(file);
    order::verified(graphs, plan, None)
}

/// Relaxes the bound of the search: its memory model lets an op write over an input only if no other op reads it, but
/// ONNX Runtime does so whenever no later op reads it.
fn lower_bound(graph: &Graph, plan: &mut Plan, options: &Options) {
    let lifetimes = options.model.least_lifetimes(graph);
    if lifetimes == options.model.lifetimes(graph) {
        return;
    }
    let found = scheduling::schedule(&problem(graph, &lifetimes), &order::search_for(graph, options));
    if found.bound < plan.bound {
        plan.bound = found.bound;
        plan.witness = None;
    }
}
