//! Finds a good order of a problem of any size: a beam that sees only the next ops of a known order.
//!
//! What has run, with the next ops of an order that have not, is again a set that can have run. So the beam ([`beam`])
//! orders these as a problem of its own, the first half of what it finds is kept, and the rest is looked at again with
//! what comes behind it. Sets are as long as the window, not as long as the problem: time and memory are linear in the
//! ops.

use super::beam;
use super::instance::Instance;
use crate::{Problem, bits};

/// How many ops a beam sees.
const WINDOW: usize = 1024;

/// An order made from `order` by beams of this width; `None` if it is told to stop.
pub(super) fn order(
    problem: &Problem,
    order: &[u32],
    width: usize,
    (floor, lazy): (u64, bool),
    stop: &dyn Fn() -> bool,
) -> Option<Vec<u32>> {
    let mut found = Vec::with_capacity(order.len());
    let (mut done, mut in_use) = (vec![0; problem.words()], problem.at_start());
    let mut rest = order.iter().copied();
    let mut window: Vec<u32> = Vec::new();
    loop {
        window.extend(rest.by_ref().take(WINDOW - window.len()));
        if window.is_empty() {
            return Some(found);
        }
        let is_last = rest.len() == 0;
        let segment = problem.segment(&done, in_use, &window);
        let best = beam::order(&Instance::new(segment.problem.clone(), lazy), width, floor, stop)?;
        let kept = if is_last { best.len() } else { best.len() / 2 };
        for op in segment.lift(&best[..kept]) {
            in_use = in_use + problem.allocated(&done, op) - problem.freed(&done, op);
            bits::insert(&mut done, op);
            found.push(op);
        }
        window.retain(|&op| !bits::contains(&done, op));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{NEVER, is_order, problems, side_by_side};
    use super::*;
    use crate::walk::peak_of;

    #[test]
    fn what_is_larger_than_the_window_is_ordered_as_well() {
        let mut small = problems();
        let first = small.next().unwrap();
        let large = small.fold(first, |all, next| side_by_side(&all, &next));
        assert!(large.len() > WINDOW);
        let file = large.topological.clone();
        let found = order(&large, &file, 2, (0, true), NEVER).unwrap();
        assert!(is_order(&large, &found));
        assert!(peak_of(&large, &found) <= peak_of(&large, &file));
        assert_eq!(order(&large, &file, 2, (0, true), &|| true), None);
    }
}
