//! The best order of a file for ONNX Runtime.

use super::wander::wander;
use super::{run, steer};
use crate::{Error, Footprint, Options, Plan, bridge, optimize, refine};
use serenity_ir::{Graph, OpId, OrtOrder, ort_bound};
use serenity_schedule::{self as scheduling, Algorithm};
use std::time::Instant;

/// Looks for the order of the file that makes ONNX Runtime ask for the least. The plan speaks of the order in which that file runs. Only the main
/// graph is ordered: what the others need is not known.
pub(crate) fn best(graphs: &[Graph], walk: OrtOrder, options: &Options) -> Result<Plan, Error> {
    let started = Instant::now();
    let graph = &graphs[0];
    let own = graph.file_order();
    let lifetimes = options.model.lifetimes(graph);
    let footprint = |file: &[OpId]| {
        let run = run(graph, file, walk);
        let peak = lifetimes.profile(&run.order).peak();
        (run.order, Footprint { peak, arena: Some(run.requested), ops: graph.ops().len() })
    };
    let mut plan = optimize::unchecked(graph, options);
    plan.bodies = graphs[1..].iter().map(Graph::file_order).collect();
    lower_bound(graph, &mut plan, options);
    let mut file = plan.order.clone();
    if options.algorithm.is_exact() {
        let stop = || {
            options.limits.cancel.is_cancelled()
                || options.limits.time.is_some_and(|limit| started.elapsed() >= limit)
        };
        let evaluate = |file: &[OpId]| {
            let run = run(graph, file, walk);
            refine::cost(&lifetimes, &run.order, run.requested)
        };
        let mut starts = vec![file.clone(), own.clone()];
        if walk == OrtOrder::Default {
            starts.extend(steer::numberings(graph, &file));
        }
        let refined = starts.into_iter().map(|s| refine::refine(graph, s, plan.bound, evaluate, stop));
        if let Some((found, _)) = refined.min_by_key(|(_, cost)| *cost) {
            file = wander(graph, walk, found, plan.bound, stop);
        }
    }
    plan.before = footprint(&own).1;
    let (mut order, mut after) = footprint(&file);
    if after.needs() >= plan.before.needs() {
        (order, after) = footprint(&own);
        file = own;
        plan.algorithm = Algorithm::File;
    }
    plan.take_order(order, after);
    plan.steering = (file != plan.order).then_some(file);
    optimize::verified(graph, plan)
}

/// The bound of the search holds for its memory model, in which an op writes over an input only if nobody else reads it. ONNX Runtime does so
/// whenever nobody reads it any more.
fn lower_bound(graph: &Graph, plan: &mut Plan, options: &Options) {
    let lifetimes = ort_bound(graph);
    if lifetimes == options.model.lifetimes(graph) {
        return;
    }
    let found = scheduling::schedule(&bridge::problem(graph, &lifetimes), &optimize::search(options));
    if found.bound < plan.bound {
        plan.bound = found.bound;
        plan.witness = None;
    }
}
