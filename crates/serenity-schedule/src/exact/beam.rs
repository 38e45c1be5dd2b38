//! Upper bounds: a beam search over moves.

use super::instance::{Instance, State};
use crate::bits;
use std::collections::HashSet;

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
/// (R2) makes that one only.
pub(super) fn search(instance: &Instance, width: usize, floor: u64) -> Vec<u32> {
    const NONE: u32 = u32::MAX;
    let state = instance.start();
    let peak = state.in_use.max(floor);
    let mut beam = vec![Entry { state, peak, hash: 0, last: NONE }];
    let mut trail: Vec<(u32, u32)> = Vec::new();
    let mut candidates: Vec<(u64, u64, u32, u32)> = Vec::new();
    for _ in 0..instance.heads.len() {
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
    heads
}
