//! Finds the buffers that live together with another, without storing every pair.

use crate::{Buffer, Step};

/// Finds the buffers whose lifetimes meet a given one, in time proportional to their number.
///
/// Buffers are sorted by their first step, and a binary tree above them knows the latest end of each half.
pub(crate) struct Neighbours {
    /// The first step and index of each buffer, sorted.
    sorted: Vec<(Step, usize)>,
    /// The latest `upper` below each node; node 1 is the root, node `i` has children `2 i` and `2 i + 1`.
    latest: Vec<Step>,
    leaves: usize,
    /// Every `upper`, sorted.
    ends: Vec<Step>,
}

impl Neighbours {
    pub(crate) fn new(buffers: &[Buffer]) -> Self {
        let mut sorted: Vec<(Step, usize)> = buffers.iter().enumerate().map(|(i, b)| (b.lower, i)).collect();
        sorted.sort_unstable();
        let leaves = sorted.len().next_power_of_two();
        let mut latest = vec![Step::MIN; 2 * leaves];
        for (leaf, &(_, buffer)) in sorted.iter().enumerate() {
            latest[leaves + leaf] = buffers[buffer].upper;
        }
        for node in (1..leaves).rev() {
            latest[node] = latest[2 * node].max(latest[2 * node + 1]);
        }
        let mut ends: Vec<Step> = buffers.iter().map(|buffer| buffer.upper).collect();
        ends.sort_unstable();
        Self { sorted, latest, leaves, ends }
    }

    /// How many live together with this one, itself included.
    pub(crate) fn count(&self, buffer: &Buffer) -> usize {
        self.begun_before(buffer.upper) - self.ends.partition_point(|&upper| upper <= buffer.lower)
    }

    fn begun_before(&self, step: Step) -> usize {
        self.sorted.partition_point(|&(lower, _)| lower < step)
    }

    /// Calls `visit` with every buffer that lives together with this one, itself included, by first step.
    pub(crate) fn of(&self, buffer: &Buffer, mut visit: impl FnMut(usize)) {
        let begun = self.begun_before(buffer.upper);
        // Nodes to look at, the leftmost last; a path and its right siblings fit.
        let mut nodes = vec![(1, 0, self.leaves)];
        while let Some((node, start, width)) = nodes.pop() {
            if start >= begun || self.latest[node] <= buffer.lower {
                continue;
            }
            if width == 1 {
                visit(self.sorted[start].1);
            } else {
                nodes.push((2 * node + 1, start + width / 2, width / 2));
                nodes.push((2 * node, start, width / 2));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_those_that_share_a_step() {
        let buffers: Vec<Buffer> =
            (0..50).map(|i| Buffer::new(1, i * 7 % 13..i * 7 % 13 + i % 5 + 1)).collect();
        let neighbours = Neighbours::new(&buffers);
        for buffer in &buffers {
            let mut found = Vec::new();
            neighbours.of(buffer, |other| found.push(other));
            found.sort_unstable();
            let expected: Vec<usize> = (0..50).filter(|&other| buffer.lives_with(&buffers[other])).collect();
            assert_eq!(neighbours.count(buffer), expected.len());
            assert_eq!(found, expected);
        }
        Neighbours::new(&[]).of(&buffers[0], |_| panic!("nobody is there"));
    }
}
