//! Local waypoints in memory linear in the problem: rule R5 ([`waypoints`](super::waypoints)) by a look around each set.
//!
//! R5 asks which ops of `M` some minimal op outside does not depend on. They are found from the top of `M` downwards,
//! by the set of minimal ops that each leads to: an op that leads to all of them is not one, and neither is whatever
//! leads to it, so the walk ends there. *What is never looked at leads to all.* It is not maximal in `M`, so something
//! of `M` waits for it; that was not found to miss one of the minimal ops, or the walk would have gone on to its
//! predecessors; so it leads to all, having been looked at, or by induction from above. Seen backwards in time, the
//! same walk finds what is outside `M` and does not depend on all its maximal ops.
//!
//! In networks made of layers or cells these are a few ops around the border of `M`, whatever the size of the whole.
//! Where they are many, the set is passed by: to use fewer waypoints is always right.

use super::cuts;
use crate::walk::steps_of;
use crate::{Problem, bits};
use std::collections::{BTreeSet, BinaryHeap};
use std::ops::Range;

/// Sets with more around them, or with a longer border, are passed by.
const MOST_AROUND: usize = 1024;

/// The lengths, among these, of the prefixes of `order` that are waypoints, as far as a look around them tells.
pub(super) fn prefixes(
    problem: &Problem,
    order: &[u32],
    lengths: Range<usize>,
    stop: &dyn Fn() -> bool,
) -> Vec<usize> {
    let after: Vec<u64> = steps_of(problem, order).iter().map(|step| step.after).collect();
    let (mut inside, mut outside) = (Side::inside(problem, order), Side::outside(problem, order));
    let mut prefix = vec![0; problem.words()];
    let mut found = Vec::new();
    for end in 1..order.len().min(lengths.end) {
        bits::insert(&mut prefix, order[end - 1]);
        inside.add(order[end - 1]);
        outside.remove(order[end - 1]);
        let here = after[end - 1];
        let is_low = after[end] >= here && (end < 2 || after[end - 2] >= here);
        if !is_low || end < lengths.start {
            continue;
        }
        if stop() {
            break;
        }
        // Most are rejected without a flow: another prefix between is lower.
        let Some(below) = inside.around(&outside) else { continue };
        let shorter = below.iter().zip((1..end).rev()).take_while(|&(&op, length)| op == order[length]);
        if shorter.into_iter().any(|(_, length)| after[length - 1] < here) {
            continue;
        }
        let Some(above) = outside.around(&inside) else { continue };
        let longer = above.iter().zip(end..order.len()).take_while(|&(&op, at)| op == order[at]);
        if longer.into_iter().any(|(_, at)| after[at] < here) {
            continue;
        }
        if is_lowest_above(problem, &prefix, here, &above)
            && is_lowest_below(problem, &mut prefix, here, &below)
        {
            found.push(end);
        }
    }
    found
}

/// Is f, which is `here` on `set`, no lower on any set from that to the one with all of `above`?
fn is_lowest_above(problem: &Problem, set: &[u64], here: u64, above: &[u32]) -> bool {
    above.is_empty() || cuts::minimum(&problem.segment(set, here, above).problem).value >= here
}

/// Is f, which is `here` on `set`, no lower on any set from the one without `below` (the last op first) to `set`?
/// Restores `set`.
fn is_lowest_below(problem: &Problem, set: &mut [u64], here: u64, below: &[u32]) -> bool {
    if below.is_empty() {
        return true;
    }
    for &op in below {
        bits::remove(set, op);
    }
    let low = set.to_vec();
    let (mut brought, mut let_go) = (0, 0);
    for &op in below.iter().rev() {
        brought += problem.allocated(set, op);
        let_go += problem.freed(set, op);
        bits::insert(set, op);
    }
    cuts::minimum(&problem.segment(&low, here + let_go - brought, below).problem).value >= here
}

/// A prefix of an order, or what is outside it seen backwards in time.
struct Side<'a> {
    /// The order in this direction of time, and where in it an op stands.
    order: Vec<u32>,
    position: Vec<u32>,
    /// So many of them are on this side.
    members: u32,
    predecessors: &'a [Vec<u32>],
    successors: &'a [Vec<u32>],
    /// Positions of the members that nothing of the side waits for.
    tops: BTreeSet<u32>,
    /// How many members wait for an op.
    waiting: Vec<u32>,
    /// When an op was looked at, while looking around.
    looked_at: Vec<u32>,
}

const NOWHERE: u32 = u32::MAX;

impl<'a> Side<'a> {
    /// Nothing yet.
    fn inside(problem: &'a Problem, order: &[u32]) -> Self {
        Self::new(order.to_vec(), &problem.predecessors, &problem.successors)
    }

    /// Everything, backwards in time.
    fn outside(problem: &'a Problem, order: &[u32]) -> Self {
        let backwards: Vec<u32> = order.iter().rev().copied().collect();
        let mut side = Self::new(backwards.clone(), &problem.successors, &problem.predecessors);
        for op in backwards {
            side.add(op);
        }
        side
    }

    fn new(order: Vec<u32>, predecessors: &'a [Vec<u32>], successors: &'a [Vec<u32>]) -> Self {
        let mut position = vec![0; order.len()];
        for (i, &op) in (0..).zip(&order) {
            position[op as usize] = i;
        }
        Self {
            position,
            members: 0,
            predecessors,
            successors,
            tops: BTreeSet::new(),
            waiting: vec![0; order.len()],
            looked_at: vec![NOWHERE; order.len()],
            order,
        }
    }

    /// The next op of the order.
    fn add(&mut self, op: u32) {
        self.members += 1;
        self.tops.insert(self.position[op as usize]);
        for &p in &self.predecessors[op as usize] {
            self.waiting[p as usize] += 1;
            self.tops.remove(&self.position[p as usize]);
        }
    }

    /// The last op that was added.
    fn remove(&mut self, op: u32) {
        self.members -= 1;
        self.tops.remove(&self.position[op as usize]);
        for &p in &self.predecessors[op as usize] {
            self.waiting[p as usize] -= 1;
            if self.waiting[p as usize] == 0 {
                self.tops.insert(self.position[p as usize]);
            }
        }
    }

    /// The members that do not lead to all tops of the other side, the last first; `None` if they are too many.
    fn around(&mut self, other: &Side) -> Option<Vec<u32>> {
        let border: Vec<u32> = other.tops.iter().map(|&position| other.order[position as usize]).collect();
        if border.len().max(self.tops.len()) > MOST_AROUND {
            return None;
        }
        let words = bits::words_for(border.len());
        let mut whole = vec![0; words];
        for bit in 0..border.len() as u32 {
            bits::insert(&mut whole, bit);
        }
        // Sets of members and of the border, which have one element each, in the order in which they were looked at.
        let mut leads_to: Vec<u64> = Vec::new();
        for (bit, &op) in (0..).zip(&border) {
            self.looked_at[op as usize] = bit;
            leads_to.resize(leads_to.len() + words, 0);
            bits::insert(&mut leads_to[bit as usize * words..], bit);
        }
        let mut looked_at = border;
        let mut around = Vec::new();
        let mut open: BinaryHeap<u32> = self.tops.iter().copied().collect();
        let mut is_complete = true;
        while let Some(position) = open.pop() {
            let op = self.order[position as usize];
            if self.looked_at[op as usize] != NOWHERE {
                continue;
            }
            self.looked_at[op as usize] = looked_at.len() as u32;
            looked_at.push(op);
            let own = self.leads_to(op, &leads_to, &whole);
            if own != whole {
                around.push(op);
                open.extend(self.predecessors[op as usize].iter().map(|&p| self.position[p as usize]));
            }
            leads_to.extend(own);
            if around.len() > MOST_AROUND {
                is_complete = false;
                break;
            }
        }
        for op in looked_at {
            self.looked_at[op as usize] = NOWHERE;
        }
        is_complete.then_some(around)
    }

    /// What of the border an op leads to; `known` says it of those looked at before, and `whole` is all of it.
    fn leads_to(&self, op: u32, known: &[u64], whole: &[u64]) -> Vec<u64> {
        let words = whole.len();
        let mut own = vec![0; words];
        for &next in &self.successors[op as usize] {
            let at = self.looked_at[next as usize];
            if at != NOWHERE {
                for (word, &more) in own.iter_mut().zip(&known[at as usize * words..]) {
                    *word |= more;
                }
            } else if self.position[next as usize] < self.members {
                // A member that nobody had to look at leads to everything.
                return whole.to_vec();
            }
        }
        own
    }
}

#[cfg(test)]
mod tests {
    use super::super::closure::Closure;
    use super::super::testing::{NEVER, least_peak, problems};
    use super::*;

    #[test]
    fn around_a_set_is_what_does_not_lead_to_all_of_its_border() {
        let mut seen = 0;
        for problem in problems() {
            let (order, closure) = (&problem.topological, Closure::new(&problem));
            let (mut inside, mut outside) = (Side::inside(&problem, order), Side::outside(&problem, order));
            for end in 1..order.len() {
                inside.add(order[end - 1]);
                outside.remove(order[end - 1]);
                let (within, rest) = order.split_at(end);
                let is_in = |op: &u32| within.contains(op);
                let minimal = rest.iter().filter(|&&op| problem.predecessors[op as usize].iter().all(is_in));
                let maximal = within.iter().filter(|&&op| !problem.successors[op as usize].iter().any(is_in));
                let below = within
                    .iter()
                    .rev()
                    .filter(|&&op| !minimal.clone().all(|&m| bits::contains(closure.ancestors.row(m), op)));
                let above = rest
                    .iter()
                    .filter(|&&op| !maximal.clone().all(|&m| bits::contains(closure.descendants.row(m), op)));
                assert_eq!(inside.around(&outside).unwrap(), below.copied().collect::<Vec<_>>());
                assert_eq!(outside.around(&inside).unwrap(), above.copied().collect::<Vec<_>>());
                seen += 1;
            }
        }
        assert!(seen > 1000, "{seen}");
    }

    #[test]
    fn the_optimum_of_the_whole_is_the_largest_of_the_parts() {
        let mut waypoints = 0;
        for problem in problems() {
            let ends = prefixes(&problem, &problem.topological, 1..problem.len(), NEVER);
            waypoints += ends.len();
            let mut groups = Vec::new();
            let mut start = 0;
            for end in ends.into_iter().chain([problem.len()]) {
                groups.push(problem.topological[start..end].to_vec());
                start = end;
            }
            let peaks = problem.segments(&groups).into_iter().map(|part| least_peak(&part.problem)).max();
            assert_eq!(peaks, Some(least_peak(&problem)));
        }
        assert!(waypoints > 100, "{waypoints}");
    }
}
