//! A part of the whole: what is known about it, and how to learn more cheaply.

use super::instance::Instance;
use super::{Rules, beam, cut_bound, waypoints};
use crate::segment::Segment;
use crate::walk::peak_of;
use crate::{Problem, bounds};

/// A stretch between two waypoints.
pub(super) struct Part {
    pub(super) problem: Problem,
    /// Its ops in the whole.
    pub(super) names: Vec<u32>,
    /// The best order known, in the part's own numbering.
    pub(super) order: Vec<u32>,
    /// The peak of that order.
    pub(super) upper: u64,
    /// What is proved, as far as it concerns this part: no order of it peaks below this, or none of the whole does.
    pub(super) lower: u64,
}

impl Part {
    /// The best order in the numbering of the whole.
    pub(super) fn named_order(&self) -> impl Iterator<Item = u32> {
        self.order.iter().map(|&op| self.names[op as usize])
    }

    /// Takes `order` if it is better.
    pub(super) fn offer(&mut self, order: Vec<u32>) {
        let peak = peak_of(&self.problem, &order);
        if peak < self.upper {
            self.upper = peak;
            self.order = order;
        }
    }

    /// Beam searches of the given widths in both directions, until one reaches `floor`.
    pub(super) fn improve(&mut self, widths: &[usize], floor: u64, rules: &Rules, stop: &dyn Fn() -> bool) {
        if !rules.beam || self.upper <= floor || stop() {
            return;
        }
        let forward = Instance::new(self.problem.clone(), rules.lazy);
        let backward = rules.backward.then(|| Instance::new(self.problem.reversed(), rules.lazy));
        for &width in widths {
            for (instance, is_forward) in [(Some(&forward), true), (backward.as_ref(), false)] {
                let found = instance.and_then(|instance| beam::order(instance, width, floor, stop));
                let Some(mut order) = found else { continue };
                if !is_forward {
                    order.reverse();
                }
                self.offer(order);
                if self.upper <= floor {
                    return;
                }
            }
        }
    }

    /// Bound L1.
    pub(super) fn bound_by_cuts(&mut self, floor: u64, rules: &Rules, stop: &dyn Fn() -> bool) {
        if rules.cut_bound && self.upper > floor {
            let bound = cut_bound::raise(&self.problem, &self.order, floor.max(self.lower), stop);
            self.lower = self.lower.max(bound.min(self.upper));
        }
    }
}

/// Splits a problem at waypoints. `order` is the best known, in the problem's own numbering; `names` are its ops in the whole.
pub(super) fn split(
    problem: &Problem,
    order: &[u32],
    names: &[u32],
    rules: &Rules,
    stop: &dyn Fn() -> bool,
) -> Vec<Part> {
    of_groups(problem, &waypoints::split(problem, order, rules, stop), names)
}

/// The parts that are made of consecutive groups of ops, each in the best order known.
pub(super) fn of_groups(problem: &Problem, groups: &[Vec<u32>], names: &[u32]) -> Vec<Part> {
    let segments = problem.segments(groups);
    // Groups come in the order of `order`; translate to the part's own numbering.
    let part = |(segment, group): (Segment, &Vec<u32>)| {
        let local = group.iter().filter_map(|op| segment.ops.binary_search(op).ok());
        let order: Vec<u32> = local.map(|i| i as u32).collect();
        Part {
            upper: peak_of(&segment.problem, &order),
            lower: bounds::simple(&segment.problem),
            order,
            names: segment.ops.iter().map(|&op| names[op as usize]).collect(),
            problem: segment.problem,
        }
    };
    segments.into_iter().zip(groups).map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{NEVER, is_order, least_peak, problems};
    use super::*;

    #[test]
    fn parts_are_stretches_of_the_order_and_what_is_known_of_them_holds() {
        let rules = Rules::default();
        for problem in problems() {
            let names: Vec<u32> = (0..problem.ops).map(|op| 100 + op).collect();
            let mut parts = split(&problem, &problem.topological, &names, &rules, NEVER);
            let order: Vec<u32> = parts.iter().flat_map(Part::named_order).map(|name| name - 100).collect();
            assert!(is_order(&problem, &order));
            for part in &mut parts {
                let least = least_peak(&part.problem);
                assert_eq!(part.upper, peak_of(&part.problem, &part.order));
                assert!(part.lower <= least && least <= part.upper);
                part.bound_by_cuts(0, &rules, NEVER);
                assert!(part.lower <= least);
                part.improve(&[64], 0, &rules, NEVER);
                assert_eq!((part.upper, peak_of(&part.problem, &part.order)), (least, least));
                let best = part.order.clone();
                part.offer(part.problem.topological.clone());
                assert_eq!(part.order, best);
            }
        }
    }
}
