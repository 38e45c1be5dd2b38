//! Finds the best choice by sizes alone, from left to right through time.
//!
//! Past decisions affect later ones only through the set of buffers that lie in the fast memory and are still in use.
//! So one pass over the time line that keeps the cheapest way to each such set finds the choice that moves the fewest
//! bytes in the slow memory by sizes alone, ignoring gaps between buffers. Its cost is a lower bound on all divisions.

use super::search::Search;
use super::sections::Sections;
use super::traffic::Traffic;
use serenity_arena::Problem;
use std::collections::BTreeMap;

/// The most sets that are kept at a time. Beyond that only the cheapest are kept, and nothing is proved.
const MOST_SETS: usize = 1 << 12;

/// The most choices that are remembered: a hundred megabytes. Beyond that only the cheapest way goes on.
const MOST_CHOICES: usize = 1 << 22;

/// The cheapest choice found.
pub(super) struct Cheapest {
    pub(super) in_fast: Vec<bool>,
    /// Bytes moved in the slow memory, if no choice that respects the sizes moves fewer.
    pub(super) bound: Option<u64>,
}

/// How a set was reached.
#[derive(Clone, Copy)]
struct Way {
    slow_bytes: u64,
    /// The last buffer that was chosen, as an index into the list of all choices.
    chosen: Option<usize>,
}

pub(super) fn cheapest(
    problem: &Problem,
    sections: &Sections,
    traffic: &[Traffic],
    fast: u64,
    search: &Search,
) -> Cheapest {
    let size = |b: usize| problem.buffers()[b].size;
    let mut starting = vec![Vec::new(); sections.count()];
    for b in 0..traffic.len() {
        starting[sections.life(b).start].push(b);
    }
    // All choices ever made: the buffer, and the choice before it.
    let mut chosen: Vec<(usize, Option<usize>)> = Vec::new();
    let mut ways = BTreeMap::from([(Vec::new(), Way { slow_bytes: 0, chosen: None })]);
    let mut is_exact = true;
    for (section, starting) in starting.iter().enumerate() {
        let room = sections.room(section, fast);
        let mut next: BTreeMap<Vec<usize>, Way> = BTreeMap::new();
        for (mut set, way) in ways {
            set.retain(|&b| sections.life(b).end > section);
            keep_cheaper(&mut next, set, way);
        }
        for &buffer in starting {
            let bytes = traffic[buffer].bytes();
            let mut with: Vec<(Vec<usize>, Way)> = Vec::new();
            for (set, way) in &next {
                let in_use = set.iter().map(|&b| size(b)).fold(size(buffer), u64::saturating_add);
                // A buffer that no op touches gains nothing in the fast memory.
                if bytes > 0 && size(buffer) <= fast && in_use <= room {
                    let mut set = set.clone();
                    set.push(buffer);
                    chosen.push((buffer, way.chosen));
                    with.push((set, Way { chosen: Some(chosen.len() - 1), ..*way }));
                }
            }
            for way in next.values_mut() {
                way.slow_bytes = way.slow_bytes.saturating_add(bytes);
            }
            next.extend(with);
            let is_late = chosen.len() > MOST_CHOICES || search.is_over();
            let most = if is_late { 1 } else { MOST_SETS };
            if next.len() > most {
                is_exact = false;
                next = cheapest_of(next, most);
            }
        }
        ways = next;
    }
    let best = ways.into_values().min_by_key(|way| way.slow_bytes);
    let best = best.unwrap_or(Way { slow_bytes: 0, chosen: None });
    let mut in_fast = vec![false; traffic.len()];
    let mut last = best.chosen;
    while let Some((buffer, before)) = last.map(|at| chosen[at]) {
        in_fast[buffer] = true;
        last = before;
    }
    Cheapest { in_fast, bound: is_exact.then_some(best.slow_bytes) }
}

/// Of two ways to the same set, the cheaper one; of equals, the first.
fn keep_cheaper(ways: &mut BTreeMap<Vec<usize>, Way>, set: Vec<usize>, way: Way) {
    let known = ways.entry(set).or_insert(way);
    if way.slow_bytes < known.slow_bytes {
        *known = way;
    }
}

fn cheapest_of(ways: BTreeMap<Vec<usize>, Way>, count: usize) -> BTreeMap<Vec<usize>, Way> {
    let mut ways: Vec<_> = ways.into_iter().collect();
    // A stable sort: equals stay in the order of their sets.
    ways.sort_by_key(|(_, way)| way.slow_bytes);
    ways.truncate(count);
    ways.into_iter().collect()
}
