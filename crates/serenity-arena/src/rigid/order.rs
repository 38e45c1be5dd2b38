//! An order of units, its placement by first fit, and how that changes if a few units move in it.

use super::fit;
use super::table::Table;

/// Units in an order, each at the lowest place that those before it leave.
pub(super) struct Order<'a> {
    table: &'a Table,
    heights: &'a [i64],
    steps: &'a [i64],
    /// Units in order.
    pub(super) units: Vec<u32>,
    /// Where in the order each unit is.
    pub(super) ranks: Vec<u32>,
    pub(super) positions: Vec<i64>,
    /// The end of each unit, cached because it is needed often.
    tops: Vec<i64>,
    /// On whom each unit rests: another unit, or the ground.
    pub(super) supports: Vec<u32>,
    /// Units that have to be placed again.
    is_stale: Vec<bool>,
    /// Units that have come before others, so that they may be in their way wherever they lie.
    is_new: Vec<bool>,
    /// The first rank at which a stale or new unit may be.
    stale_from: usize,
    /// Moves and placements since the last [`keep`](Self::keep), to undo them.
    moves: Vec<(usize, usize)>,
    places: Vec<(u32, i64, u32)>,
    blocked: Vec<(i64, i64, u32)>,
    /// Intervals looked at.
    pub(super) work: u64,
}

impl<'a> Order<'a> {
    pub(super) fn new(table: &'a Table, heights: &'a [i64], steps: &'a [i64], units: &[u32]) -> Self {
        let count = units.len();
        let mut order = Self {
            table,
            heights,
            steps,
            units: units.to_vec(),
            ranks: vec![0; count],
            positions: vec![0; count],
            tops: heights.to_vec(),
            supports: vec![count as u32; count],
            is_stale: vec![true; count],
            is_new: vec![false; count],
            stale_from: 0,
            moves: Vec::new(),
            places: Vec::new(),
            blocked: Vec::new(),
            work: 0,
        };
        order.restart(units);
        order
    }

    /// All over again.
    pub(super) fn restart(&mut self, units: &[u32]) {
        self.units.copy_from_slice(units);
        for (rank, &unit) in units.iter().enumerate() {
            self.ranks[unit as usize] = rank as u32;
        }
        self.is_stale.fill(true);
        self.stale_from = 0;
        self.settle(0, i64::MAX, 0);
        self.keep();
    }

    pub(super) fn top(&self, unit: usize) -> i64 {
        self.tops[unit]
    }

    /// The first rank at which a unit may have to be placed again.
    pub(super) fn stale_from(&self) -> usize {
        self.stale_from
    }

    pub(super) fn height(&self) -> i64 {
        (0..self.units.len()).map(|unit| self.top(unit)).max().unwrap_or(0)
    }

    /// Takes a unit from one rank to another.
    pub(super) fn shift(&mut self, from: usize, to: usize) {
        self.moves.push((from, to));
        self.rotate(from, to);
        let unit = self.units[to] as usize;
        self.is_stale[unit] = true;
        let (low, high) = (from.min(to), from.max(to));
        if to < from {
            self.is_new[unit] = true;
        } else {
            let at = self.positions[unit];
            for forbidden in self.table.of(unit) {
                let other = forbidden.other as usize;
                if let Some(&rank) = self.ranks.get(other)
                    && (low..high).contains(&(rank as usize))
                    && forbidden.supports(at, self.positions[other])
                {
                    self.is_stale[other] = true;
                }
            }
        }
        self.stale_from = self.stale_from.min(low);
    }

    fn rotate(&mut self, from: usize, to: usize) {
        if from < to {
            self.units[from..=to].rotate_left(1);
        } else {
            self.units[to..=from].rotate_right(1);
        }
        for rank in from.min(to)..=from.max(to) {
            self.ranks[self.units[rank] as usize] = rank as u32;
        }
    }

    /// Places again what has to be. Returns how far, added up, units end above the target, if those before the
    /// [first](Self::stale_from) that may move end so far above it; `None` as soon as that is more than `most`.
    pub(super) fn settle(&mut self, target: i64, most: i64, mut excess: i64) -> Option<i64> {
        if excess > most {
            return None;
        }
        for rank in self.stale_from..self.units.len() {
            let unit = self.units[rank] as usize;
            if self.is_stale[unit] {
                self.is_stale[unit] = false;
                let was_at = self.positions[unit];
                self.place(unit, rank as u32);
                self.pass_on(unit, rank as u32, was_at);
            }
            excess = excess.saturating_add((self.tops[unit] - target).max(0));
            if excess > most {
                // What is left is as stale as it was: whoever stops here takes everything back.
                return None;
            }
        }
        self.stale_from = self.units.len();
        Some(excess)
    }

    fn place(&mut self, unit: usize, rank: u32) {
        let (ranks, positions) = (&self.ranks, &self.positions);
        let position = |other: usize| (ranks[other] < rank).then(|| positions[other]);
        let (at, support) = fit::lowest(self.table, unit, self.steps[unit], position, &mut self.blocked);
        self.work += self.table.of(unit).len() as u64;
        if (at, support) == (self.positions[unit], self.supports[unit]) {
            return;
        }
        self.places.push((unit as u32, self.positions[unit], self.supports[unit]));
        self.positions[unit] = at;
        self.tops[unit] = at + self.heights[unit];
        self.supports[unit] = support;
    }

    /// Those after a unit that has come to lie elsewhere, or has not been before them.
    fn pass_on(&mut self, unit: usize, rank: u32, was_at: i64) {
        let at = self.positions[unit];
        let is_new = std::mem::take(&mut self.is_new[unit]);
        if was_at == at && !is_new {
            return;
        }
        for forbidden in self.table.of(unit) {
            let other = forbidden.other as usize;
            if let Some(&later) = self.ranks.get(other)
                && later > rank
                && !self.is_stale[other]
            {
                let there = self.positions[other];
                self.is_stale[other] = forbidden.forbids(at, there) || forbidden.supports(was_at, there);
            }
        }
    }

    /// What was done stays.
    pub(super) fn keep(&mut self) {
        self.moves.clear();
        self.places.clear();
    }

    /// As it was when it was last kept.
    pub(super) fn take_back(&mut self) {
        while let Some((from, to)) = self.moves.pop() {
            self.rotate(to, from);
        }
        while let Some((unit, at, support)) = self.places.pop() {
            let unit = unit as usize;
            (self.positions[unit], self.supports[unit]) = (at, support);
            self.tops[unit] = at + self.heights[unit];
        }
        self.is_stale.fill(false);
        self.is_new.fill(false);
        self.stale_from = self.units.len();
    }
}
