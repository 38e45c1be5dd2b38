//! The best plan of small cases: every choice is tried, until the work runs out.

use crate::Demand;
use crate::greedy::by_length;
use crate::plan::{Draft, Plan};

/// Choices tried at most: some milliseconds.
const MOST_CHOICES: u32 = 20_000;

/// More gaps than this are not tried: the work would run out without a result (and the stack is not for that).
const MOST_GAPS: usize = 40;

/// A plan that costs less than `cost` units, the least if the work suffices; and whether that is proved.
pub(crate) fn improve(demand: &Demand, capacity: u64, cost: u64) -> (Option<Plan>, bool) {
    if demand.gaps.len() > MOST_GAPS {
        return (None, false);
    }
    let mut search = Search {
        draft: Draft::empty(demand, capacity),
        gaps: by_length(demand),
        most_dropped: vec![0; demand.versions.len()],
        best: cost,
        plan: None,
        left: MOST_CHOICES,
    };
    // Long gaps first: they decide most.
    search.gaps.reverse();
    search.decide(0, 0);
    (search.plan, search.left > 0)
}

struct Search<'a> {
    draft: Draft<'a>,
    gaps: Vec<usize>,
    /// By version.
    most_dropped: Vec<u64>,
    best: u64,
    plan: Option<Plan>,
    left: u32,
}

impl Search<'_> {
    fn decide(&mut self, depth: usize, cost: u64) {
        if cost >= self.best || self.left == 0 {
            return;
        }
        self.left -= 1;
        let Some(&gap) = self.gaps.get(depth) else {
            self.best = cost;
            self.plan = Some(self.draft.plan.clone());
            return;
        };
        let demand = self.draft.demand;
        let gap_of = &demand.gaps[gap];
        let room = self.draft.room(gap);
        // All or nothing of a tensor; of pages any number.
        let step = match demand.grain {
            crate::Grain::Tensor => gap_of.units,
            crate::Grain::Page => 1,
        };
        let mut kept = room;
        loop {
            let dropped = gap_of.units - kept;
            let most = self.most_dropped[gap_of.version];
            let is_written = demand.versions[gap_of.version].costs_a_write;
            let written = if is_written { dropped.saturating_sub(most) } else { 0 };
            self.most_dropped[gap_of.version] = most.max(dropped);
            self.draft.keep(gap, kept);
            self.decide(depth + 1, cost + dropped + written);
            self.draft.drop(gap, kept);
            self.most_dropped[gap_of.version] = most;
            if kept == 0 || self.left == 0 {
                return;
            }
            kept = kept.saturating_sub(step);
        }
    }
}
