//! A lower bound on the bytes moved in the slow memory.
//!
//! At every step, the bytes in use beyond the capacity of the fast memory lie in the slow one. If buffers could be cut,
//! the cheapest of them are those with the fewest bytes moved per byte of size. Steps that have no buffer in common add
//! up; the best set of steps is found from left to right. Buffers that the fast memory cannot hold at all are counted
//! beforehand.

use super::search::Search;
use super::sections::Sections;
use super::traffic::Traffic;
use serenity_arena::Problem;

/// A lower bound on the bytes that any division moves in the slow memory. If time runs out, the rest of the time line
/// counts as 0.
pub(super) fn least_slow_traffic(
    problem: &Problem,
    sections: &Sections,
    traffic: &[Traffic],
    fast: u64,
    search: &Search,
) -> u64 {
    let size = |b: usize| problem.buffers()[b].size;
    let (too_large, mut others): (Vec<usize>, Vec<usize>) =
        (0..traffic.len()).filter(|&b| size(b) > 0).partition(|&b| size(b) > fast);
    let always: u64 = too_large.iter().map(|&b| traffic[b].bytes()).fold(0, u64::saturating_add);
    // Cheapest first: bytes moved per byte of size, compared without rounding.
    others.sort_by(|&a, &b| {
        let moved = |x: usize, y: usize| u128::from(traffic[x].bytes()) * u128::from(size(y));
        moved(a, b).cmp(&moved(b, a)).then(a.cmp(&b))
    });
    let mut in_use = vec![Vec::new(); sections.count()];
    let mut best = vec![0_u64; sections.count() + 1];
    for (rank, &b) in others.iter().enumerate() {
        in_use[sections.life(b).start].push(rank);
    }
    // What is in use in the current section, by rank.
    let mut alive: Vec<usize> = Vec::new();
    for section in 0..sections.count() {
        best[section + 1] = best[section];
        if search.is_over() {
            continue;
        }
        alive.retain(|&rank| sections.life(others[rank]).end > section);
        alive.append(&mut in_use[section]);
        alive.sort_unstable();
        let sum = alive.iter().map(|&rank| size(others[rank])).fold(0, u64::saturating_add);
        let excess = sum.saturating_sub(sections.room(section, fast));
        if excess == 0 {
            continue;
        }
        let cheapest = alive.iter().map(|&rank| (size(others[rank]), traffic[others[rank]].bytes()));
        let here = cost_of(excess, cheapest);
        let apart = alive.iter().map(|&rank| sections.life(others[rank]).start).min().unwrap_or(section);
        best[section + 1] = best[section + 1].max(best[apart].saturating_add(here));
    }
    always.saturating_add(best[sections.count()])
}

/// The traffic of the first `excess` bytes of these sizes, the last of them cut.
fn cost_of(mut excess: u64, cheapest: impl Iterator<Item = (u64, u64)>) -> u64 {
    let mut cost = 0_u64;
    for (size, bytes) in cheapest {
        if size >= excess {
            let part = (u128::from(bytes) * u128::from(excess)).div_ceil(u128::from(size));
            return cost.saturating_add(part as u64);
        }
        excess -= size;
        cost = cost.saturating_add(bytes);
    }
    cost
}
