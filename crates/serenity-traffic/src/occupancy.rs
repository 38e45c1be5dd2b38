//! Units on chip by step: add to a range, ask for the most in a range, both in logarithmic time.

use std::ops::RangeInclusive;

/// A segment tree over steps. A node holds the most of its range, without what was added to whole ranges above it.
pub(crate) struct Occupancy {
    leaves: usize,
    most: Vec<i64>,
    added: Vec<i64>,
}

impl Occupancy {
    pub(crate) fn new(steps: usize) -> Self {
        let leaves = steps.max(1).next_power_of_two();
        Self { leaves, most: vec![0; 2 * leaves], added: vec![0; 2 * leaves] }
    }

    /// Adds to every step of a range, which may be empty.
    pub(crate) fn add(&mut self, steps: RangeInclusive<usize>, units: i64) {
        if !steps.is_empty() {
            self.add_below(1, 0, self.leaves - 1, (*steps.start(), *steps.end()), units);
        }
    }

    fn add_below(&mut self, node: usize, low: usize, high: usize, (first, last): (usize, usize), units: i64) {
        if last < low || high < first {
            return;
        }
        if first <= low && high <= last {
            self.added[node] += units;
            self.most[node] += units;
            return;
        }
        let middle = usize::midpoint(low, high);
        self.add_below(2 * node, low, middle, (first, last), units);
        self.add_below(2 * node + 1, middle + 1, high, (first, last), units);
        self.most[node] = self.most[2 * node].max(self.most[2 * node + 1]) + self.added[node];
    }

    /// The most at any step of a range; 0 for an empty one.
    pub(crate) fn most(&self, steps: RangeInclusive<usize>) -> u64 {
        if steps.is_empty() {
            return 0;
        }
        let most = self.most_below(1, 0, self.leaves - 1, (*steps.start(), *steps.end()));
        most.unwrap_or(0).unsigned_abs()
    }

    fn most_below(&self, node: usize, low: usize, high: usize, (first, last): (usize, usize)) -> Option<i64> {
        if last < low || high < first {
            return None;
        }
        if first <= low && high <= last {
            return Some(self.most[node]);
        }
        let middle = usize::midpoint(low, high);
        let left = self.most_below(2 * node, low, middle, (first, last));
        let right = self.most_below(2 * node + 1, middle + 1, high, (first, last));
        left.max(right).map(|most| most + self.added[node])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serenity_search::Random;

    #[test]
    fn as_a_plain_array() {
        let steps = 13;
        let (mut tree, mut plain) = (Occupancy::new(steps), vec![0_i64; steps]);
        let mut random = Random(1);
        let mut draw = |below: usize| random.index(below);
        for _ in 0..2000 {
            let (a, b) = (draw(steps), draw(steps));
            let units = draw(50) as i64;
            tree.add(a..=b, units);
            for step in plain.iter_mut().take(b + 1).skip(a) {
                *step += units;
            }
            let (a, b) = (draw(steps), draw(steps));
            let most = plain.iter().take(b + 1).skip(a).max().copied().unwrap_or(0);
            assert_eq!(tree.most(a..=b), most.unsigned_abs());
        }
    }
}
