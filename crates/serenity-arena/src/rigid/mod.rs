//! Places groups of buffers that move as a whole.
//!
//! Buffers that are tied together are contracted to a [unit](units). For two units the distances at which they cannot
//! lie from one another are a union of open intervals, found once ([`table`]); a permission to share bytes only cuts
//! these, so nothing that follows needs to know of it. First fit places units in an order, each at the lowest place
//! that is left ([`fit`]), and a local search looks for a good order ([`climb`]). The [bound] is what the units in use
//! at one step cover. Where that leaves a gap, all placements of a few units are gone through ([`all`]); of many units,
//! those of a few at a time ([`windows`]).
//!
//! The exact planner for single buffers cannot place units: its proofs rest on buffers having no holes.

mod all;
mod bound;
mod climb;
mod fit;
mod fronts;
mod order;
mod table;
mod units;
mod windows;

use crate::exact::Answer;
use crate::{Limits, Planner, Problem, StopReason};
use fronts::Fronts;
use serenity_search::Watch;
use table::Table;
use units::Units;

/// Intervals that the search looks at unless the caller sets a limit: less than half a second of work.
const BUDGET: u64 = 20_000_000;

/// Is there anything in the problem that other planners do not know?
pub(crate) fn is_needed(problem: &Problem, planner: Planner) -> bool {
    match planner {
        Planner::Exact | Planner::HillClimb => !problem.ties().is_empty(),
        Planner::Tflm | Planner::LiteRt | Planner::SimpleArena => false,
    }
}

/// Looks for a low placement, or with a `capacity` for one within it.
pub(crate) fn search(
    problem: &Problem,
    planner: Planner,
    capacity: Option<u64>,
    limits: &Limits,
    watch: &mut Watch,
) -> Answer {
    let units = Units::new(problem);
    let fixed_top = units.fixed_top();
    let bound = bound::of(problem, &units);
    let mut fronts = Fronts { positions: Vec::new(), height: u64::MAX, bound, capacity, fixed_top };
    let (height, positions) = stacked(&units);
    fronts.found(height, &positions, watch);
    let budget = limits.work.unwrap_or(BUDGET);
    let stopped = match Table::new(problem, &units, watch) {
        Ok(_) if fronts.is_settled() => None,
        Ok(table) => {
            fronts.bound = fronts.bound.max(bound::above_ground(&units, &table));
            close(&units, &table, planner, &mut fronts, budget, watch)
        }
        Err(reason) => Some(reason),
    };
    let stopped = if fronts.height <= fronts.bound { None } else { stopped.or(Some(StopReason::Capacity)) };
    Answer { offsets: units.offsets(problem, &fronts.positions), at_least: fronts.bound, stopped }
}

fn close(
    units: &Units,
    table: &Table,
    planner: Planner,
    fronts: &mut Fronts,
    budget: u64,
    watch: &mut Watch,
) -> Option<StopReason> {
    let units = units.movable();
    if planner == Planner::Exact {
        // A little of the search first: with a good placement at hand, others are ruled out sooner.
        let stopped = climb::search(units, table, fronts, 1, budget / 8, watch);
        if fronts.is_settled() || stopped != Some(StopReason::Heuristic) {
            return stopped;
        }
        let everyone: Vec<usize> = (0..units.len()).collect();
        let stopped = if all::is_worth_trying(units, &everyone) {
            all::search(units, &everyone, table, fronts, budget / 2, watch)
        } else {
            windows::search(units, table, fronts, budget / 4, watch)
        };
        if fronts.is_settled() || stopped.is_some() {
            return stopped;
        }
    }
    climb::search(units, table, fronts, 2, budget, watch)
}

/// One on top of the other: always possible.
fn stacked(units: &Units) -> (i64, Vec<i64>) {
    let (mut top, mut height) = (units.fixed_top(), 0);
    let mut positions = Vec::new();
    for unit in units.movable() {
        if unit.height == 0 {
            positions.push(0);
            continue;
        }
        let at = (top + unit.step - 1) / unit.step * unit.step;
        top = at + unit.height;
        height = top;
        positions.push(at);
    }
    (height, positions)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::first_fit::FirstFit;
    use crate::{Buffer, Options, Proof, Tie, place};
    use serenity_search::Random;

    /// Each buffer tied to itself alone.
    fn loose(buffers: Vec<Buffer>) -> Problem {
        let ties = (0..buffers.len()).map(|b| Tie { buffer: b, to: b, distance: 0 }).collect();
        Problem::new(buffers, 16).unwrap().with_ties(ties).unwrap()
    }

    #[test]
    fn without_groups_it_is_no_worse_than_first_fit() {
        let mut random = Random(5);
        let mut proved = 0;
        for _ in 0..50 {
            let buffer = |_| {
                let lower = random.below(20) as i64;
                Buffer::new(1 + random.below(500), lower..lower + 1 + random.below(8) as i64)
            };
            let buffers: Vec<Buffer> = (0..30).map(buffer).collect();
            let problem = loose(buffers.clone());
            let limits = Limits { work: Some(300_000), ..Limits::default() };
            let placement = place(&problem, &Options { limits: limits.clone(), ..Options::default() });
            let plain = Problem::new(buffers, 16).unwrap();
            let mut first_fit = FirstFit::new(&plain);
            let order = first_fit.by_size();
            assert!(placement.height <= first_fit.pack(&order, &mut Watch::new(&limits, None)).height);
            let exact = place(&plain, &Options::default());
            assert!(placement.height >= exact.height && placement.bound <= exact.height);
            proved += usize::from(placement.height == exact.height);
        }
        assert!(proved > 40, "only {proved} of 50 are lowest");
    }

    #[test]
    fn a_hole_in_a_group_is_used() {
        // Two at once with 32 bytes between them, and one that fits in.
        let buffers = vec![Buffer::new(16, 0..2), Buffer::new(16, 0..2), Buffer::new(32, 0..2)];
        let problem = Problem::new(buffers, 16).unwrap();
        let problem = problem.with_ties(vec![Tie { buffer: 1, to: 0, distance: 48 }]).unwrap();
        let placement = place(&problem, &Options::default());
        assert_eq!((placement.offsets, placement.proof), (vec![0, 48, 16], Proof::Optimal));
    }
}
