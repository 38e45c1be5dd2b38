//! Divisions that need no search, to compare with.

use super::search::place_some;
use super::sections::Sections;
use super::{Division, Filled, Memory, Traffic};
use schemars::JsonSchema;
use serde::Serialize;
use serenity_arena::{Limits, Overlap, Problem, Proof, Sharing, StopReason};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A way to divide buffers among two memories that does not look at what is read and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Obvious {
    /// In the order in which buffers come into use, each takes the lowest free offset of the first memory; of the
    /// second one if it does not fit there.
    FirstFit,
    /// The largest buffers lie in the second memory, until the others fit the first one.
    LargestSlow,
    /// All buffers lie in the second memory.
    AllSlow,
}

impl Obvious {
    /// All ways.
    pub const ALL: [Self; 3] = [Self::FirstFit, Self::LargestSlow, Self::AllSlow];

    /// Divides buffers in this way; `None` if they do not fit.
    ///
    /// # Panics
    /// If there is not exactly one [`Traffic`] per buffer.
    pub fn divide(
        self,
        problem: &Problem,
        traffic: &[Traffic],
        memories: [Memory; 2],
        limits: &Limits,
    ) -> Option<Division> {
        assert_eq!(problem.buffers().len(), traffic.len(), "one figure of traffic per buffer");
        let sizes = memories.each_ref().map(|memory| memory.capacity);
        let places = match self {
            Self::FirstFit => first_fit(problem, sizes)?,
            Self::LargestSlow => largest_slow(problem, sizes, limits)?,
            Self::AllSlow => {
                let all: Vec<usize> = (0..traffic.len()).collect();
                [Vec::new(), within(problem, &all, sizes[1], limits)?]
            }
        };
        let [fast, slow] = memories;
        let [in_fast, in_slow] = places;
        let memories = [(fast, in_fast), (slow, in_slow)]
            .map(|(memory, places)| Filled::new(memory, places, problem, traffic));
        Some(Division { memories, bound: 0, proof: Proof::Gap { stopped: StopReason::Heuristic } })
    }
}

/// Buffers and their offsets in a memory.
type Places = Vec<(usize, u64)>;

fn largest_slow(problem: &Problem, sizes: [u64; 2], limits: &Limits) -> Option<[Places; 2]> {
    let sections = Sections::new(problem);
    let mut by_size: Vec<usize> = (0..problem.buffers().len()).collect();
    by_size.sort_by_key(|&b| Reverse(problem.buffers()[b].size));
    (0..=by_size.len()).find_map(|count| {
        let (slow, fast) = by_size.split_at(count);
        // Placing takes long: first see whether the sizes alone are too much.
        let in_use = |section| {
            let alive = fast.iter().filter(|&&b| sections.life(b).contains(&section));
            alive.map(|&b| problem.buffers()[b].size).fold(0, u64::saturating_add)
        };
        let may_fit =
            (0..sections.count()).all(|section| in_use(section) <= sections.room(section, sizes[0]));
        let fast = may_fit.then(|| within(problem, fast, sizes[0], limits))??;
        Some([fast, within(problem, slow, sizes[1], limits)?])
    })
}

/// Places buffers in a memory of this size.
fn within(problem: &Problem, members: &[usize], size: u64, limits: &Limits) -> Option<Places> {
    let (offsets, _) = place_some(problem, members, Some(size), limits);
    let places: Places = members.iter().copied().zip(offsets).collect();
    places.iter().all(|&(b, offset)| offset + problem.buffers()[b].size <= size).then_some(places)
}

fn first_fit(problem: &Problem, sizes: [u64; 2]) -> Option<[Places; 2]> {
    let permitted: BTreeMap<(usize, usize), &Overlap> =
        problem.overlaps().iter().map(|overlap| ((overlap.writer, overlap.over), overlap)).collect();
    let may_share = |(y, y_at): (usize, u64), (x, x_at): (usize, u64)| {
        permitted.get(&(y, x)).is_some_and(|overlap| overlap.permits(y_at, x_at))
    };
    let end = |(b, offset): (usize, u64)| offset + problem.buffers()[b].size;
    let lowest = |placed: &Places, new: usize| -> u64 {
        let buffer = &problem.buffers()[new];
        let alive: Places =
            placed.iter().copied().filter(|&(b, _)| problem.buffers()[b].lives_with(buffer)).collect();
        let is_free = |&at: &u64| {
            let new = (new, at);
            alive
                .iter()
                .all(|&old| end(new) <= old.1 || end(old) <= at || may_share(new, old) || may_share(old, new))
        };
        // What may be written over is not only free above its end.
        let over = |old: (usize, u64)| match permitted.get(&(new, old.0)).map(|overlap| overlap.how) {
            Some(Sharing::EitherWay { above, .. }) => old.1.saturating_add(above.get()),
            _ => old.1,
        };
        let offsets = alive.iter().flat_map(|&old| [over(old), end(old)]).chain([0]);
        let aligned = offsets.map(|offset| offset.next_multiple_of(problem.alignment()));
        // Above all others there is always room.
        aligned.filter(is_free).min().unwrap_or(0)
    };
    let mut order: Vec<usize> = (0..problem.buffers().len()).collect();
    order.sort_by_key(|&b| problem.buffers()[b].lower);
    let mut placed = [Places::new(), Places::new()];
    for new in order {
        let fits = |memory: &usize| end((new, lowest(&placed[*memory], new))) <= sizes[*memory];
        let memory = (0..2).find(fits)?;
        let offset = lowest(&placed[memory], new);
        placed[memory].push((new, offset));
    }
    Some(placed)
}
