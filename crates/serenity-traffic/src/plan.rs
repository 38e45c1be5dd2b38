//! Which buffers stay on chip between the ops that touch them, and what that costs.

use crate::occupancy::Occupancy;
use crate::{Bytes, Demand, Grain};
use std::ops::RangeInclusive;

/// For every gap, how many units stay on chip: none or all at tensor grain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) kept: Vec<u64>,
}

impl Plan {
    /// Nothing stays.
    pub(crate) fn nothing(demand: &Demand) -> Self {
        Self { kept: vec![0; demand.gaps.len()] }
    }

    /// What it moves besides the compulsory traffic.
    pub(crate) fn cost(&self, demand: &Demand) -> Bytes {
        let dropped = |g: usize| demand.gaps[g].units - self.kept[g];
        let reads: u64 = (0..self.kept.len()).map(dropped).sum();
        // Pages of one buffer are alike, so the same ones are dropped every time: as many are written as ever go.
        let written = |gaps: std::ops::Range<usize>| gaps.map(dropped).max().unwrap_or(0);
        let writes =
            demand.versions.iter().filter(|v| v.costs_a_write).map(|v| written(v.gaps.clone())).sum::<u64>();
        let unit = demand.grain.unit();
        Bytes { reads: reads * unit, writes: writes * unit }
    }
}

/// A plan being made, with the room it leaves.
pub(crate) struct Draft<'a> {
    pub(crate) demand: &'a Demand,
    pub(crate) plan: Plan,
    occupancy: Occupancy,
    capacity: u64,
}

impl<'a> Draft<'a> {
    /// Nothing stays in a memory of `capacity` units.
    pub(crate) fn empty(demand: &'a Demand, capacity: u64) -> Self {
        let occupancy = Occupancy::new(demand.order.len());
        Self { demand, plan: Plan::nothing(demand), occupancy, capacity }
    }

    /// The draft in which a memory of `capacity` units keeps what `plan` keeps.
    pub(crate) fn of(demand: &'a Demand, capacity: u64, plan: &Plan) -> Self {
        let mut draft = Self::empty(demand, capacity);
        for (gap, &units) in plan.kept.iter().enumerate() {
            draft.keep(gap, units);
        }
        draft
    }

    /// The steps at which a gap takes room that its buffer does not take already.
    fn steps(&self, gap: usize) -> RangeInclusive<usize> {
        let g = &self.demand.gaps[gap];
        match self.demand.grain {
            // Pages come and go while an op runs: what counts is what lies on chip when it begins.
            Grain::Page => g.from + 1..=g.to,
            Grain::Tensor => {
                let before = g.has_previous && self.plan.kept[gap - 1] > 0;
                let behind = g.has_next && self.plan.kept[gap + 1] > 0;
                g.from + usize::from(before)..=g.to - usize::from(behind)
            }
        }
    }

    /// How many more units of this gap could stay.
    pub(crate) fn room(&self, gap: usize) -> u64 {
        let missing = self.demand.gaps[gap].units - self.plan.kept[gap];
        let free = self.capacity.saturating_sub(self.occupancy.most(self.steps(gap)));
        match self.demand.grain {
            Grain::Page => missing.min(free),
            Grain::Tensor if missing <= free => missing,
            Grain::Tensor => 0,
        }
    }

    pub(crate) fn keep(&mut self, gap: usize, units: u64) {
        if units > 0 {
            self.occupancy.add(self.steps(gap), units as i64);
            self.plan.kept[gap] += units;
        }
    }

    /// Drops so many units again.
    pub(crate) fn drop(&mut self, gap: usize, units: u64) {
        if units > 0 {
            self.plan.kept[gap] -= units;
            self.occupancy.add(self.steps(gap), -(units as i64));
        }
    }
}
