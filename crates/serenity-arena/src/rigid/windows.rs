//! A better bound from a few units at a time.
//!
//! No placement of all units is lower than the lowest of some of them. Where a placement cannot meet the simple bound,
//! a handful of units that live at about the same time are often the reason, and all placements of a handful can be
//! gone through.

use super::all;
use super::fronts::Fronts;
use super::table::Table;
use super::units::Unit;
use crate::{Step, StopReason};
use serenity_search::Watch;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// So many units at a time: the fewer, the sooner it is done.
const SIZES: [usize; 4] = [5, 7, 9, all::MOST_UNITS];

/// Steps times units beyond which even looking for windows would take long.
const TOO_MANY: usize = 1 << 21;

/// Windows of each size, around the steps with the most in use.
const WINDOWS: usize = 12;

/// Raises the bound, within the budget.
pub(super) fn search(
    units: &[Unit],
    table: &Table,
    fronts: &mut Fronts,
    budget: u64,
    watch: &mut Watch,
) -> Option<StopReason> {
    let share = budget / (SIZES.len() * WINDOWS) as u64;
    let steps: BTreeSet<Step> = units.iter().flat_map(|unit| &unit.parts).map(|part| part.lower).collect();
    let steps: Vec<Step> = steps.into_iter().collect();
    if steps.len().saturating_mul(units.len()) > TOO_MANY {
        return None;
    }
    let load = |middle: &usize| units.iter().map(|unit| in_use(unit, steps[*middle])).sum::<i64>();
    let mut middles: Vec<usize> = (0..steps.len()).collect();
    middles.sort_by_cached_key(|middle| Reverse(load(middle)));
    for window in SIZES.iter().flat_map(|&most| windows(units, most, &steps, &middles)) {
        let (height, bound, fixed_top) = (fronts.height, fronts.bound, fronts.fixed_top);
        let mut part = Fronts { positions: Vec::new(), height, bound, capacity: None, fixed_top };
        let stopped = all::search(units, &window, table, &mut part, share, watch);
        fronts.bound = part.bound;
        watch.bound = part.bound;
        if fronts.is_settled() || stopped.is_some() {
            return stopped;
        }
    }
    None
}

/// Around each step in turn as many units as are asked for at most.
fn windows(units: &[Unit], most: usize, steps: &[Step], middles: &[usize]) -> Vec<Vec<usize>> {
    let mut windows: Vec<Vec<usize>> = Vec::new();
    for &middle in middles {
        let mut widest = Vec::new();
        for reach in 0..steps.len() {
            let from = steps[middle.saturating_sub(reach)];
            let to = steps[(middle + reach).min(steps.len() - 1)];
            let is_there =
                |&unit: &usize| units[unit].parts.iter().any(|part| part.lower <= to && from < part.upper);
            let members: Vec<usize> = (0..units.len()).filter(is_there).take(most + 1).collect();
            if members.len() > most {
                break;
            }
            widest = members;
        }
        let is_new = !windows.contains(&widest);
        if is_new && widest.len() > 1 && all::is_worth_trying(units, &widest) {
            windows.push(widest);
        }
        if windows.len() == WINDOWS {
            break;
        }
    }
    windows
}

/// Bytes from the lowest part in use to the end of the topmost.
fn in_use(unit: &Unit, step: Step) -> i64 {
    let alive = || unit.parts.iter().filter(|part| part.lower <= step && step < part.upper);
    let from = alive().map(|part| part.offset).min().unwrap_or(0);
    alive().map(|part| part.offset + part.size).max().unwrap_or(0) - from
}
