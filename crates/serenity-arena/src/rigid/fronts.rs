//! The height comes down, the bound goes up.

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
    pub(super) fn found(&mut self, height: i64, positions: &[i64], watch: &mut Watch) {
        let height = height.max(self.fixed_top) as u64;
        if height < self.height {
            self.positions.clear();
            self.positions.extend_from_slice(positions);
            self.height = height;
        }
        (watch.best, watch.bound) = (self.height, self.bound);
    }

    /// Is the height proved, or is it known whether the capacity can be met?
    pub(super) fn is_settled(&self) -> bool {
        self.height <= self.bound
            || self.capacity.is_some_and(|capacity| self.height <= capacity || self.bound > capacity)
    }
}
