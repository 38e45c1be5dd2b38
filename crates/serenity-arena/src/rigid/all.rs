//! Tries all placements of a few units, to prove that none is lower.
//!
//! Take a placement within the target whose positions have the least sum. Say that a unit *rests* on another if it
//! could not be one step lower because of that one alone, or on the ground if it lies at 0 or what lies where it lies
//! keeps it there. If a unit rests on another, it lies exactly where an interval that is forbidden to it on account of
//! the other ends: the step below is within an open interval and the position is not, and all intervals end at
//! multiples of the step. Now take all units from which no chain of such rests leads to the ground. If there were any,
//! all of them could go down one step at once: their distances from one another stay, and none of them rests on
//! anything else. The sum would be less. So from every unit a chain leads to the ground, and the placement is built by
//! adding one unit after the other: each rests on the ground or on a unit placed before it.
//!
//! So the search takes, in turn, each unit at each position where it rests on the ground or on a placed unit. Once all
//! placements with this unit at this position have been seen, the pair is ruled out for the rest, so no placement is
//! seen twice. The argument needs one step for all units.

use super::fit;
use super::fronts::Fronts;
use super::table::Table;
use super::units::Unit;
use crate::StopReason;
use serenity_search::Watch;

/// More units than this are not worth the attempt.
pub(super) const MOST_UNITS: usize = 12;

/// Are there few enough, and can all of them go down by the same step?
pub(super) fn is_worth_trying(units: &[Unit], members: &[usize]) -> bool {
    let has_one_step = members.windows(2).all(|pair| units[pair[0]].step == units[pair[1]].step);
    members.len() <= MOST_UNITS && has_one_step
}

/// Lowers the height of the members and, if it gets through before `budget` is spent, raises the bound to it.
pub(super) fn search(
    units: &[Unit],
    members: &[usize],
    table: &Table,
    fronts: &mut Fronts,
    budget: u64,
    watch: &mut Watch,
) -> Option<StopReason> {
    let step = members.first().map_or(1, |&unit| units[unit].step);
    let mut all = All {
        units,
        members,
        table,
        step,
        fronts,
        watch,
        positions: vec![None; units.len()],
        ruled_out: vec![Vec::new(); units.len()],
        blocked: Vec::new(),
        left: budget,
    };
    match all.descend() {
        End::Through => {
            fronts.bound = fronts.height.max(fronts.bound);
            None
        }
        End::Spent | End::Settled => None,
        End::Stopped(reason) => Some(reason),
    }
}

struct All<'a, 'w> {
    units: &'a [Unit],
    /// The units that are placed.
    members: &'a [usize],
    table: &'a Table,
    step: i64,
    fronts: &'a mut Fronts,
    watch: &'a mut Watch<'w>,
    positions: Vec<Option<i64>>,
    /// Per unit, the positions that are ruled out.
    ruled_out: Vec<Vec<i64>>,
    blocked: Vec<(i64, i64, u32)>,
    left: u64,
}

enum End {
    /// Everything was tried.
    Through,
    /// The height is as low as it needs to be.
    Settled,
    /// The budget is used up.
    Spent,
    Stopped(StopReason),
}

impl All<'_, '_> {
    /// The highest that a unit may begin in a placement that is better than the best.
    fn most(&self, unit: usize) -> i64 {
        self.fronts.height as i64 - 1 - self.units[unit].height
    }

    fn descend(&mut self) -> End {
        let members = self.members.iter().copied();
        let open: Vec<usize> = members.clone().filter(|&unit| self.positions[unit].is_none()).collect();
        if open.is_empty() {
            let positions: Vec<i64> = self.positions.iter().map(|at| at.unwrap_or(0)).collect();
            let tops = members.map(|unit| positions[unit] + self.units[unit].height);
            self.fronts.lower(tops.max().unwrap_or(0), &positions);
            return if self.fronts.is_settled() { End::Settled } else { End::Through };
        }
        let mut rests = Vec::new();
        let mut work = 0;
        for &unit in &open {
            work += self.table.of(unit).len() as u64 + 1;
            let positions = &self.positions;
            let (at, _) =
                fit::lowest(self.table, unit, self.step, |other| positions[other], &mut self.blocked);
            let most = self.most(unit);
            if at > most {
                return self.count(work).unwrap_or(End::Through);
            }
            // The lowest is one of them, and the others are ends.
            let ends = self.blocked.iter().map(|&(_, to, _)| to).filter(|&to| at < to && to <= most);
            for at in ends.chain([at]) {
                let is_free = self.blocked.iter().all(|&(from, to, _)| at <= from || to <= at);
                if is_free && !self.ruled_out[unit].contains(&at) {
                    rests.push((at, unit));
                }
            }
        }
        if let Some(end) = self.count(work) {
            return end;
        }
        rests.sort_unstable_by_key(|&(at, unit)| (at, -self.units[unit].height, unit));
        rests.dedup();
        let mut end = End::Through;
        let mut tried = 0;
        for &(at, unit) in &rests {
            // The target may have come down since.
            if at <= self.most(unit) {
                self.positions[unit] = Some(at);
                end = self.descend();
                self.positions[unit] = None;
                if !matches!(end, End::Through) {
                    break;
                }
            }
            self.ruled_out[unit].push(at);
            tried += 1;
        }
        for &(_, unit) in &rests[..tried] {
            self.ruled_out[unit].pop();
        }
        end
    }

    fn count(&mut self, work: u64) -> Option<End> {
        self.watch.states += 1;
        if let Some(reason) = self.watch.after(work) {
            return Some(End::Stopped(reason));
        }
        self.left = self.left.saturating_sub(work);
        (self.left == 0).then_some(End::Spent)
    }
}
