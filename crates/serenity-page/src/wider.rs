//! The model compared with boards, on-chip sizes and random orders.

use super::side::Ground;
use serenity::boards::boards;
use serenity::{Input, Options, Plan};
use serenity_report::page::{Board, Device, Orders, Sections, Traffic, TrafficAt};
use serenity_runtimes::{MemoryModelExt, Tail};
use serenity_schedule::distribution;
use serenity_traffic::{Demand, Grain};

/// Fixed, so that equal inputs give equal pages.
const SEED: u64 = 1;
const MOST_SIZES: u32 = 6;

/// TFLM's whole arena before and after.
pub(super) fn device(plan: &Plan, tails: Option<(Tail, Tail)>) -> Option<Device> {
    let (before, after) = tails?;
    let sections = |tail: Tail, head: u64| Sections {
        head,
        tail: tail.needed(head).arm32 - head,
        margin: tail.margin(head),
    };
    let boards = boards().into_iter();
    let boards = boards.map(|board| Board {
        name: board.name.to_owned(),
        chip: board.chip.to_owned(),
        ram: board.ram,
    });
    Some(Device {
        before: sections(before, plan.before.needs()),
        after: sections(after, plan.after.needs()),
        boards: boards.collect(),
    })
}

/// The traffic for on-chip sizes that are too small, up to the first that is enough.
pub(super) fn traffic(before: &Ground, after: &Ground, plan: &Plan, options: &Options) -> Option<Traffic> {
    let demand =
        |ground: &Ground| Demand::new(&ground.main(), plan.model, &ground.orders[0], Grain::Tensor).ok();
    let was = demand(before)?;
    // The traffic of loops is not that of their operators.
    let is = if plan.loops.is_some() { None } else { demand(after) };
    let peak = plan.before.peak.max(1);
    let enough = peak.next_power_of_two().max(1 << 11);
    let sizes: Vec<u64> =
        (0..MOST_SIZES).rev().map(|k| enough >> k).filter(|&size| size >= 1 << 10).collect();
    let swept = was.sweep_within(&sizes, &options.limits);
    let now = is.as_ref().map(|demand| demand.sweep_within(&sizes, &options.limits));
    let at = |i: usize| TrafficAt {
        on_chip: sizes[i],
        before: swept[i].best.bytes(),
        after: now.as_ref().map(|now| now[i].best.bytes()),
    };
    Some(Traffic { compulsory: swept.first()?.compulsory.bytes(), sizes: (0..sizes.len()).map(at).collect() })
}

/// Random orders of the planned model; none if it has only one order, or loops.
pub(super) fn orders(
    planned: &Input,
    after: &Ground,
    plan: &Plan,
    count: u64,
    options: &Options,
) -> Option<Orders> {
    if count == 0 || plan.loops.is_some() {
        return None;
    }
    let graph = &after.main();
    let lifetimes = plan.model.lifetimes(graph);
    let problem = serenity::pipeline::problem(graph, &lifetimes);
    let (drawn, stopped) = distribution::sample(&problem, count, SEED, &options.limits, None);
    // What the clock cuts short would differ from run to run.
    if stopped.is_some() || drawn.total() == 0 {
        return None;
    }
    let own = plan.model.execution_order(graph, &planned.graph().file_order());
    let own = lifetimes.profile(&own).peak();
    let best = lifetimes.profile(&plan.order).peak();
    Some(Orders {
        count: u64::try_from(drawn.total()).unwrap_or(u64::MAX),
        peaks: drawn
            .peaks()
            .map(|(peak, orders)| (peak, u64::try_from(orders).unwrap_or(u64::MAX)))
            .collect(),
        own,
        best,
        share_best: drawn.share_within(best),
    })
}
