//! Plans made gap by gap: the most worthy first, each if there is room left.

use crate::Demand;
use crate::plan::{Draft, Plan};
use std::cmp::Reverse;

/// Keeps whatever still fits, in the order given.
pub(crate) fn fill(draft: &mut Draft, gaps: &[usize]) {
    for &gap in gaps {
        let room = draft.room(gap);
        draft.keep(gap, room);
    }
}

/// The shortest gaps first: what they save for each step that they take room.
pub(crate) fn by_length(demand: &Demand) -> Vec<usize> {
    let mut gaps: Vec<usize> = (0..demand.gaps.len()).collect();
    gaps.sort_by_key(|&g| (demand.gaps[g].to - demand.gaps[g].from, Reverse(demand.gaps[g].units), g));
    gaps
}

/// The gaps sorted by what all gaps that hold the same bytes save together for each step: only if all are kept, nothing
/// is written.
pub(crate) fn by_version(demand: &Demand) -> Vec<usize> {
    /// Lengths are compared as fractions with these denominators' least common multiple, or near enough.
    const SCALE: usize = 1 << 20;
    let length = |g: usize| demand.gaps[g].to - demand.gaps[g].from;
    let mut gaps: Vec<usize> = (0..demand.gaps.len()).collect();
    let worth: Vec<usize> = demand
        .versions
        .iter()
        .map(|v| {
            let steps: usize = v.gaps.clone().map(length).sum();
            steps.saturating_mul(SCALE) / (v.gaps.len() + usize::from(v.costs_a_write)).max(1)
        })
        .collect();
    gaps.sort_by_key(|&g| (worth[demand.gaps[g].version], demand.gaps[g].version, length(g), g));
    gaps
}

/// Those first of which a relaxation keeps the largest part; `kept` is in units.
pub(crate) fn by_share(demand: &Demand, kept: &[u64]) -> Vec<usize> {
    let mut gaps = by_length(demand);
    let share = |g: usize| u128::from(kept[g]) * (1 << 32) / u128::from(demand.gaps[g].units.max(1));
    gaps.sort_by_key(|&g| Reverse(share(g)));
    gaps
}

/// The plan that takes gaps in this order.
pub(crate) fn in_order(demand: &Demand, capacity: u64, gaps: &[usize]) -> Plan {
    let mut draft = Draft::empty(demand, capacity);
    fill(&mut draft, gaps);
    draft.plan
}
