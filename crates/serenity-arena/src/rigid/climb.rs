//! A local search over orders of units: exchanges some of the units on which the topmost ones rest.
//!
//! The aim is always a height just below the best. What an order lacks is how far its units, added up, end above that:
//! less than the height alone would tell one order from another. Orders that lack no more than the last are taken, and
//! now and then one that lacks a little more. All of it with fixed random numbers and counted work.

use super::fronts::Fronts;
use super::order::Order;
use super::table::Table;
use super::units::Unit;
use crate::StopReason;
use serenity_search::{Random, Watch};
use std::cmp::Reverse;

/// Attempts without a better placement after which the search goes back to the best order, or on to another start.
const PATIENCE: u32 = 10_000;

/// Units moved in an attempt, at most.
const MOST_CHANGES: usize = 3;

/// Of so many changes, one is of any unit; the others concern one that ends too high.
const ONE_IN_ANYWHERE: usize = 2;

/// Units moved before the search goes on from an order that it has been at before.
const SHAKES: usize = 4;

/// Of so many attempts, one may end a little worse.
const ONE_IN_WORSE: usize = 64;

/// Ends when the height is settled, a limit is reached, or after `budget` intervals.
pub(super) fn search(
    units: &[Unit],
    table: &Table,
    fronts: &mut Fronts,
    seed: u64,
    budget: u64,
    watch: &mut Watch,
) -> Option<StopReason> {
    let heights: Vec<i64> = units.iter().map(|unit| unit.height).collect();
    let steps: Vec<i64> = units.iter().map(|unit| unit.step).collect();
    let mut starts: Vec<(i64, Vec<u32>)> = Vec::new();
    let mut order: Option<Order> = None;
    for start in orders(units) {
        let order = order.get_or_insert_with(|| Order::new(table, &heights, &steps, &start));
        order.restart(&start);
        fronts.found(order.height(), &order.positions, watch);
        starts.push((order.height(), start));
        if fronts.is_settled() {
            return None;
        }
        if let Some(reason) = watch.after(std::mem::take(&mut order.work)) {
            return Some(reason);
        }
    }
    starts.sort_by_key(|(height, _)| *height);
    let order = order?;
    if units.len() < 2 {
        return Some(StopReason::Heuristic);
    }
    let mut climb = Climb {
        order,
        random: Random(seed),
        target: 0,
        lack: 0,
        lack_before: Vec::new(),
        above: Vec::new(),
        chain: Vec::new(),
    };
    climb.run(&starts, fronts, budget, watch)
}

/// Orders to start from.
fn orders(units: &[Unit]) -> Vec<Vec<u32>> {
    let area = |unit: &Unit| -> i128 {
        let parts = unit.parts.iter();
        parts.map(|part| i128::from(part.size) * (i128::from(part.upper) - i128::from(part.lower))).sum()
    };
    let lifetime = |unit: &Unit| i128::from(unit.upper()) - i128::from(unit.lower());
    let by = |key: &dyn Fn(&Unit) -> i128| {
        let mut order: Vec<u32> = (0..units.len() as u32).collect();
        order.sort_by_key(|&unit| (Reverse(key(&units[unit as usize])), units[unit as usize].lower()));
        order
    };
    vec![
        by(&|unit| unit.height.into()),
        by(&|unit| lifetime(unit).saturating_mul(unit.height.into())),
        by(&area),
        by(&|unit| -i128::from(unit.lower())),
        by(&|unit| i128::from(unit.upper())),
        by(&lifetime),
    ]
}

struct Climb<'a> {
    order: Order<'a>,
    random: Random,
    target: i64,
    /// How far units end above the target, added up.
    lack: i64,
    /// How far the units before each rank end above the target, added up.
    lack_before: Vec<i64>,
    /// The units that end above the target.
    above: Vec<u32>,
    /// A unit that ends above the target, the unit that it rests on, and so on.
    chain: Vec<u32>,
}

impl Climb<'_> {
    fn run(
        &mut self,
        starts: &[(i64, Vec<u32>)],
        fronts: &mut Fronts,
        budget: u64,
        watch: &mut Watch,
    ) -> Option<StopReason> {
        let (mut spent, mut round) = (0, 0);
        let mut best = starts[0].1.clone();
        let mut best_height = starts[0].0;
        loop {
            let start = if round % 2 == 0 { &best } else { &starts[round / 2 % starts.len()].1 };
            self.order.restart(start);
            self.aim(best_height - 1);
            if round > 0 {
                for _ in 0..SHAKES {
                    self.shake();
                }
                self.order.settle(0, i64::MAX, 0);
                self.order.keep();
                self.aim(best_height - 1);
            }
            let mut waited = 0;
            while waited < PATIENCE {
                waited += 1;
                if self.step() && self.lack == 0 {
                    best_height = self.order.height();
                    best.clone_from(&self.order.units);
                    fronts.found(best_height, &self.order.positions, watch);
                    if fronts.is_settled() {
                        return None;
                    }
                    self.aim(best_height - 1);
                    waited = 0;
                }
                watch.states += 1;
                let work = std::mem::take(&mut self.order.work) + 8;
                spent += work;
                if let Some(reason) = watch.after(work) {
                    return Some(reason);
                }
                if spent >= budget {
                    return Some(StopReason::Heuristic);
                }
            }
            round += 1;
        }
    }

    /// Sets the target.
    fn aim(&mut self, target: i64) {
        self.target = target;
        self.look();
    }

    /// Who is above the target?
    fn look(&mut self) {
        self.above.clear();
        self.lack_before.clear();
        self.lack = 0;
        for &unit in &self.order.units {
            self.lack_before.push(self.lack);
            let excess = self.order.top(unit as usize) - self.target;
            if excess > 0 {
                self.above.push(unit);
                self.lack = self.lack.saturating_add(excess);
            }
        }
        self.lack_before.push(self.lack);
    }

    /// Tries a change; was it taken?
    fn step(&mut self) -> bool {
        let changes = 1 + self.random.index(MOST_CHANGES);
        for _ in 0..changes {
            self.change();
        }
        let is_lenient = self.random.index(ONE_IN_WORSE) == 0;
        let slack = if is_lenient { self.target >> (4 + self.random.index(6)) } else { 0 };
        let before = self.lack_before[self.order.stale_from()];
        let taken = self.order.settle(self.target, self.lack.saturating_add(slack), before).is_some();
        if taken {
            self.order.keep();
            self.look();
        } else {
            self.order.take_back();
        }
        taken
    }

    /// Moves any unit to anywhere.
    fn shake(&mut self) {
        let count = self.order.units.len();
        let (from, to) = (self.random.index(count), self.random.index(count));
        self.order.shift(from, to);
    }

    /// Moves a unit, mostly one of a tower that is too high.
    fn change(&mut self) {
        let count = self.order.units.len();
        if self.above.is_empty() || self.random.index(ONE_IN_ANYWHERE) == 0 {
            return self.shake();
        }
        let top = self.above[self.random.index(self.above.len())];
        self.chain.clear();
        let mut unit = top;
        while (unit as usize) < count && self.chain.len() < count {
            self.chain.push(unit);
            unit = self.order.supports[unit as usize];
        }
        match self.random.index(4) {
            // The topmost before one of those on which it rests.
            0 | 1 if self.chain.len() > 1 => {
                let below = self.chain[1 + self.random.index(self.chain.len() - 1)];
                self.put(top, self.order.ranks[below as usize] as usize);
            }
            // One of the tower to anywhere.
            2 => {
                let unit = self.chain[self.random.index(self.chain.len())];
                let to = self.random.index(count);
                self.put(unit, to);
            }
            // The topmost before any other, or before all.
            _ => {
                let to = self.random.index(1 + self.order.ranks[top as usize] as usize);
                let is_first = self.random.index(3) == 0;
                self.put(top, if is_first { 0 } else { to });
            }
        }
    }

    fn put(&mut self, unit: u32, to: usize) {
        let from = self.order.ranks[unit as usize] as usize;
        self.order.shift(from, to);
    }
}
