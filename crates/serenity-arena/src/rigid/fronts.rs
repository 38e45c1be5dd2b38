//! Alternates between lowering the height and raising the bound.

use serenity_search::Watch;

pub(super) struct Fronts {
    /// Of the units that can move.
    pub(super) positions: Vec<i64>,
    pub(super) height: u64,
    pub(super) bound: u64,
    pub(super) capacity: Option<u64>,
    /// No placement is lower than what is fixed.
    pub(super) fixed_top: i64,
}

impl Fronts {
    /// Keeps a placement if it is better, and lets it be shown.
    pub(super) fn found(&mut self, height: i64, positions: &[i64], watch: &mut Watch) {
        self.lower(height, positions);
        (watch.best, watch.bound) = (self.height, self.bound);
    }

    /// Keeps a placement if it is better.
    pub(super) fn lower(&mut self, height: i64, positions: &[i64]) {
        let height = height.max(self.fixed_top) as u64;
        if height < self.height {
            self.positions.clear();
            self.positions.extend_from_slice(positions);
            self.height = height;
        }
    }

    /// Is the height proved, or is it known whether the capacity can be met?
    pub(super) fn is_settled(&self) -> bool {
        self.height <= self.bound
            || self.capacity.is_some_and(|capacity| self.height <= capacity || self.bound > capacity)
    }
}
