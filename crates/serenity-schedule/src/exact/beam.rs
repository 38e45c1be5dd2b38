//! Upper bounds: a beam search over moves.

use super::instance::{Instance, State};
use crate::walk::peak_of;
use crate::{Problem, bits};
use std::collections::HashSet;

/// An order of the problem in the direction of time of `instance`, by a beam of this width; `None` if it is told to stop.
pub(super) fn order(
    instance: &Instance,
    width: usize,
    floor: u64,
    stop: &dyn Fn() -> bool,
) -> Option<Vec<u32>> {
    search(instance, width, floor, stop).map(|heads| instance.expand(&heads))
}

/// The best of `order` and beams of these widths, until one reaches `floor`.
pub(super) fn better_order(
    problem: &Problem,
    order: Vec<u32>,
    widths: &[usize],
    (floor, lazy): (u64, bool),
    stop: &dyn Fn() -> bool,
) -> Vec<u32> {
    let mut best = (peak_of(problem, &order), order);
    if best.0 <= floor || stop() {
        return best.1;
    }
    let instance = Instance::new(problem.clone(), lazy);
    for &width in widths {
        let Some(order) = self::order(&instance, width, floor, stop) else { break };
        let peak = peak_of(problem, &order);
        if peak < best.0 {
            best = (peak, order);
        }
    }
    best.1
}

/// One partial order of the beam.
struct Entry {
    state: State,
    peak: u64,
    hash: u64,
    /// The last move, as an index into the trail.
    last: u32,
}

/// A good order, as heads. At every step the `width` best partial orders survive: those of the least peak (anything up to `floor`
/// counts the same, since no order can do better), then of the least memory in use. A partial order with an eager move
/// (R2) makes that one only. `None` if it is told to stop.
fn search(instance: &Instance, width: usize, floor: u64, stop: &dyn Fn() -> bool) -> Option<Vec<u32>> {
    const NONE: u32 = u32::MAX;
    let state = instance.start();
    let peak = state.in_use.max(floor);
    let mut beam = vec![Entry { state, peak, hash: 0, last: NONE }];
    let mut trail: Vec<(u32, u32)> = Vec::new();
    let mut candidates: Vec<(u64, u64, u32, u32)> = Vec::new();
    for _ in 0..instance.heads.len() {
        if stop() {
            return None;
        }
        candidates.clear();
        for (index, entry) in beam.iter_mut().enumerate() {
            let first = candidates.len();
            let mut eager: Option<(u64, u64, u32, u32)> = None;
            let State { done, ready, in_use } = &mut entry.state;
            for head in bits::iter(ready) {
                let cost = instance.cost(done, *in_use, head);
                let candidate = (cost.during.max(entry.peak), cost.after, index as u32, head);
                if cost.after <= *in_use
                    && cost.during <= entry.peak
                    && eager.is_none_or(|e| cost.after < e.1)
                {
                    eager = Some(candidate);
                }
                candidates.push(candidate);
            }
            if let Some(eager) = eager {
                candidates.truncate(first);
                candidates.push(eager);
            }
        }
        if candidates.len() > width {
            // Several partial orders may reach the same set: keep some to spare.
            let keep = (4 * width).min(candidates.len());
            candidates.select_nth_unstable(keep - 1);
            candidates.truncate(keep);
        }
        candidates.sort_unstable();
        let mut seen: HashSet<u64> = HashSet::with_capacity(width);
        let mut next = Vec::with_capacity(width.min(candidates.len()));
        for &(peak, after, index, head) in &candidates {
            let entry = &beam[index as usize];
            let hash = entry.hash ^ instance.keys[head as usize];
            if next.len() == width {
                break;
            }
            // Two different sets of the same hash would only cost the beam one entry.
            if !seen.insert(hash) {
                continue;
            }
            let mut state = entry.state.clone();
            instance.advance(&mut state, head, after);
            trail.push((entry.last, head));
            next.push(Entry { state, peak, hash, last: trail.len() as u32 - 1 });
        }
        beam = next;
    }
    let best = beam.iter().min_by_key(|entry| entry.peak).map_or(NONE, |entry| entry.last);
    let mut heads = Vec::with_capacity(instance.heads.len());
    let mut link = best;
    while link != NONE {
        let (before, head) = trail[link as usize];
        heads.push(head);
        link = before;
    }
    heads.reverse();
    Some(heads)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{NEVER, is_order, least_peak, problems};
    use super::*;

    #[test]
    fn a_beam_that_drops_nothing_finds_the_optimum() {
        for problem in problems() {
            let least = least_peak(&problem);
            for lazy in [false, true] {
                let instance = Instance::new(problem.clone(), lazy);
                for (width, optimum) in [(1, None), (1 << problem.ops, Some(least))] {
                    let order = order(&instance, width, 0, NEVER).unwrap();
                    assert!(is_order(&problem, &order));
                    assert!(optimum.is_none_or(|optimum| peak_of(&problem, &order) == optimum));
                }
            }
            let file = problem.topological.clone();
            let better = better_order(&problem, file.clone(), &[1], (0, true), NEVER);
            assert!(peak_of(&problem, &better) <= peak_of(&problem, &file));
            assert_eq!(better_order(&problem, file.clone(), &[1], (0, true), &|| true), file);
        }
    }
}
