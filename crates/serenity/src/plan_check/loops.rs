//! Checks that the loops of a plan can be made, take what it says, and compute the same in their arena.

use super::verdict::Verdict;
use crate::{Input, PlanFile};
use serenity_check::loops::Plan;
use serenity_ir::{Graph, OpId};
use serenity_loops::{Loop, Looped, Measured, RowLocal, instructions_of, time_of};
use serenity_pipeline::stages::loops::{Ground, LoopedModel};
use serenity_pipeline::{AppliedLoop, AppliedLoops};

/// A model with the loops that a plan claims.
pub(super) struct Remade {
    pub(super) model: Input,
    looped: Looped,
    /// The order of the model without loops.
    order: Vec<OpId>,
}

/// The rewritten model with the loops of a plan; `None` if they cannot be made, with the reason in the verdict.
pub(super) fn redo(rewritten: &Input, claimed: &AppliedLoops, verdict: &mut Verdict) -> Option<Remade> {
    match remake(rewritten, claimed, verdict) {
        Ok((ground, remade)) => {
            for fault in wrong_costs(&ground.graphs[0], claimed) {
                verdict.refuted("loops", fault);
            }
            Some(remade)
        }
        Err(fault) => {
            verdict.refuted("loops", fault);
            None
        }
    }
}

fn remake(rewritten: &Input, claimed: &AppliedLoops, verdict: &Verdict) -> Result<(Ground, Remade), String> {
    let model = verdict.model;
    if model.kernels().is_none() {
        return Err(format!("`loops` are made for TFLM, not for `{model}`"));
    }
    if claimed.windows.is_empty() {
        return Err("`loops.windows` must hold at least one window".to_owned());
    }
    if let Err(error) = rewritten.graph().check_order(&claimed.order) {
        return Err(format!("`loops.order` is no order of the model before: {error}"));
    }
    let (graphs, order) = (rewritten.graphs(), &claimed.order);
    let ground = if claimed.spread {
        Ground::spread(graphs, order).ok_or("`loops.spread` is true, and no padding has several readers")?
    } else {
        Ground::planned(graphs, order)
    };
    let loops: Vec<Loop> = claimed.windows.iter().map(AppliedLoop::to_loop).collect();
    if let Some((number, _)) =
        loops.iter().enumerate().find(|&(number, one)| !stands_alone(&loops[..number], one))
    {
        return Err(format!("`loops.windows[{number}]` has ops of another window, or one twice"));
    }
    if let Some(number) = loops.iter().position(|one| one.cost(&ground.graphs[0]).is_none()) {
        return Err(format!("`loops.windows[{number}]` cannot become such a loop"));
    }
    let looped = ground
        .looped(&loops)
        .ok_or("the ops of each of `loops.windows` must follow each other in `loops.order`")?;
    let file =
        rewritten.file.looped(&looped).map_err(|error| format!("the loops cannot be written: {error}"))?;
    let model = rewritten.with_file(file);
    Ok((ground, Remade { model, looped, order: claimed.order.clone() }))
}

/// Does the loop name each op once, and none of earlier loops?
fn stands_alone(before: &[Loop], one: &Loop) -> bool {
    let is_new = |(position, op): (usize, &OpId)| {
        !one.ops[..position].contains(op) && !before.iter().any(|other| other.ops.contains(op))
    };
    one.ops.iter().enumerate().all(is_new)
}

/// The costs of loops that differ from the plan.
fn wrong_costs(graph: &Graph, claimed: &AppliedLoops) -> Vec<String> {
    let mut faults = Vec::new();
    let mut compare = |what: String, is: u64, said: u64| {
        if is != said {
            faults.push(format!("`loops.{what}` is {is}, not {said}"));
        }
    };
    let mut others = Vec::new();
    let (mut extra_macs, mut copied, mut extra_time, mut extra_instructions) = (0, 0, 0, 0);
    for (number, said) in claimed.windows.iter().enumerate() {
        let one = said.to_loop();
        let Some(is) = one.cost(graph) else { continue };
        let is_read = one.ops.iter().any(|&op| graph.op(op).inputs.contains(&one.enters));
        let is_inner = one.ops.iter().any(|&op| graph.op(op).outputs.contains(&one.enters));
        if !is_read || is_inner {
            others.push(format!("`loops.windows[{number}].enters` does not enter the window"));
        }
        extra_macs += is.extra_macs;
        copied += is.copied;
        extra_time += is.extra_time;
        extra_instructions += one.extra_instructions(graph, Measured::CmsisNn).unwrap_or(0);
        for (what, is, said) in [
            ("leaves", u64::from(is.leaves.0), u64::from(said.leaves.0)),
            ("iterations", is.iterations, said.iterations),
            ("extra_macs", is.extra_macs, said.extra_macs),
            ("copied", is.copied, said.copied),
            ("extra_time", is.extra_time, said.extra_time),
        ] {
            compare(format!("windows[{number}].{what}"), is, said);
        }
    }
    let macs = graph.op_ids().filter_map(|op| RowLocal::of(graph, op)).map(|local| local.macs).sum();
    compare("macs".to_owned(), macs, claimed.macs);
    compare("extra_macs".to_owned(), extra_macs, claimed.extra_macs);
    compare("copied".to_owned(), copied, claimed.copied);
    compare("time".to_owned(), time_of(graph), claimed.time);
    compare("extra_time".to_owned(), extra_time, claimed.extra_time);
    compare("instructions".to_owned(), instructions_of(graph), claimed.instructions);
    compare("extra_instructions".to_owned(), extra_instructions, claimed.extra_instructions);
    faults.extend(others);
    faults
}

/// Runs the model row by row, without and with loops, in the arena of the plan if it has one. The orders and the number
/// of offsets must have been checked.
pub(super) fn follow(rewritten: &Input, remade: &Remade, plan: &PlanFile, verdict: &mut Verdict) {
    let Some(kernels) = verdict.model.kernels().filter(|_| verdict.is_valid()) else { return };
    let made =
        LoopedModel { before: rewritten, order: &remade.order, looped: &remade.looped, model: &remade.model };
    let orders = plan.orders();
    let arena = plan.offsets.as_ref().map(|offsets| Plan { kernels, offsets });
    let faults = made.faults(&orders, arena.as_ref());
    if let Some(open) = faults.iter().find(|fault| fault.is_undecided()) {
        verdict.not_verified("loops", open.to_string());
        return;
    }
    // Are the loops wrong, or the offsets of their tensors?
    let claim = if arena.is_some() && !faults.is_empty() && made.faults(&orders, None).is_empty() {
        "offsets"
    } else {
        "loops"
    };
    if !faults.is_empty() {
        verdict.claims.retain(|checked| checked.claim != claim);
    }
    for fault in &faults {
        verdict.refuted(claim, fault.to_string());
    }
    if faults.is_empty() {
        let count = plan.loops.as_ref().map_or(0, |loops| loops.windows.len());
        let place = if arena.is_some() { " in the arena of the plan" } else { "" };
        verdict.verified(
            "loops",
            format!(
                "{count} made again by the pipeline's own code, and followed row by row by the checker{place}: every output is the same bit for bit"
            ),
        );
    }
}
