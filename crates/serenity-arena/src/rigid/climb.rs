//! A search over orders of units: exchange some of those on which the topmost rest, and see.
//!
//! The aim is always a height just below the best. What an order lacks is how far its units, added up, end above that: less than the
//! height alone would tell one order from another. Orders that lack no more than the last are taken, and now and then one that
//! lacks a little more. All of it with fixed random numbers and counted work.

use super::fronts::Fronts;
use super::order::Order;
use super::table::Table;
use super::units::Unit;
use crate::StopReason;
use serenity_search::Watch;
use std::cmp::Reverse;

/// Moves without a better placement after which the search goes back to the best order, or on to another start.
const PATIENCE: u32 = 3000;

pub(super) fn search(
    units: &[Unit],
    table: &Table,
    fronts: &mut Fronts,
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
    let mut climb =
        Climb { order, random: Random(1), target: 0, lack: 0, above: Vec::new(), chain: Vec::new() };
    climb.run(&starts, fronts, budget, watch)
}

/// Orders to start from.
fn orders(units: &[Unit]) -> Vec<Vec<u32>> {
    let area = |unit: &Unit| -> i128 {
        let parts = unit.parts.iter();
        parts.map(|part| i128::from(part.size) * (i128::from(part.last) - i128::from(part.first) + 1)).sum()
    };
    let lifetime = |unit: &Unit| i128::from(unit.last()) - i128::from(unit.first()) + 1;
    let by = |key: &dyn Fn(&Unit) -> i128| {
        let mut order: Vec<u32> = (0..units.len() as u32).collect();
        order.sort_by_key(|&unit| Reverse(key(&units[unit as usize])));
        order
    };
    vec![
        by(&|unit| unit.height.into()),
        by(&|unit| lifetime(unit).saturating_mul(unit.height.into())),
        by(&area),
        by(&|unit| -i128::from(unit.first())),
        by(&|unit| i128::from(unit.last())),
        by(&lifetime),
    ]
}

struct Climb<'a> {
    order: Order<'a>,
    random: Random,
    target: i64,
    /// How far units end above the target, added up.
    lack: i64,
    /// Those that do.
    above: Vec<u32>,
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
                for _ in 0..4 {
                    self.shake();
                }
                self.order.settle(0, i64::MAX);
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

    /// Sets the target, and sees who is above it.
    fn aim(&mut self, target: i64) {
        self.target = target;
        self.look();
    }

    fn look(&mut self) {
        self.above.clear();
        self.lack = 0;
        for &unit in &self.order.units {
            let excess = self.order.top(unit as usize) - self.target;
            if excess > 0 {
                self.above.push(unit);
                self.lack = self.lack.saturating_add(excess);
            }
        }
    }

    /// Tries a change; was it taken?
    fn step(&mut self) -> bool {
        let changes = 1 + self.random.below(3);
        for _ in 0..changes {
            self.change();
        }
        let slack = if self.random.below(64) == 0 { self.target >> (4 + self.random.below(6)) } else { 0 };
        let taken = self.order.settle(self.target, self.lack.saturating_add(slack)).is_some();
        if taken {
            self.order.keep();
            self.look();
        } else {
            self.order.take_back();
        }
        taken
    }

    fn shake(&mut self) {
        let count = self.order.units.len();
        let (from, to) = (self.random.below(count), self.random.below(count));
        self.order.shift(from, to);
    }

    fn change(&mut self) {
        let count = self.order.units.len();
        if self.above.is_empty() || self.random.below(4) == 0 {
            return self.shake();
        }
        let top = self.above[self.random.below(self.above.len())];
        self.chain.clear();
        let mut unit = top;
        while (unit as usize) < count && self.chain.len() < count {
            self.chain.push(unit);
            unit = self.order.supports[unit as usize];
        }
        match self.random.below(4) {
            // The topmost before one of those on which it rests.
            0 | 1 if self.chain.len() > 1 => {
                let below = self.chain[1 + self.random.below(self.chain.len() - 1)];
                self.put(top, self.order.ranks[below as usize] as usize);
            }
            // One of the tower after all others, or anywhere.
            2 => {
                let unit = self.chain[self.random.below(self.chain.len())];
                let to = self.random.below(count);
                self.put(unit, to);
            }
            _ => {
                let to = self.random.below(1 + self.order.ranks[top as usize] as usize);
                let is_first = self.random.below(3) == 0;
                self.put(top, if is_first { 0 } else { to });
            }
        }
    }

    fn put(&mut self, unit: u32, to: usize) {
        let from = self.order.ranks[unit as usize] as usize;
        self.order.shift(from, to);
    }
}

/// The same numbers in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}
