//! Which of the patches to apply.
//!
//! The paper asks for the set of rewrites whose best schedule needs the least. What a set is worth, the caller says. Where there are few sets, all of
//! them are tried, and that settles it if their bounds do. Where there are many, the search starts from nothing, from everything and from what single rules
//! propose, the best of these first, switches whole families on and off while that helps (patches that work on pieces of the same concatenation are worth little alone),
//! takes out whatever makes no difference, and then does the same with single patches.

use crate::families::families;
use crate::{Action, Patch};
use serenity_ir::{Graph, OpId};
use std::collections::{BTreeMap, BTreeSet};

/// How long to search, counted, so that the answer does not depend on the clock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// Sets of patches to look at, at most.
    pub sets: usize,
    /// Sets to look at first, by the ops of their patches.
    pub first: Vec<BTreeSet<OpId>>,
}

/// What a set of patches is worth.
#[derive(Clone, Debug, PartialEq)]
pub struct Worth {
    /// What the rewritten network needs; less is better.
    pub needs: u64,
    /// It cannot be made to need less than this.
    pub bound: u64,
    /// The patches, each with the order in which it adds up.
    pub patches: Vec<Patch>,
}

/// What the search found.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// What the network needs without any patch.
    pub before: u64,
    /// What it needs with those chosen.
    pub after: u64,
    /// The patches to apply, and how much more would be needed without each of them, as far as that was looked at.
    pub patches: Vec<(Patch, Option<u64>)>,
    /// No set can need less: what the caller knew, or the least bound of all sets if all were looked at.
    pub floor: u64,
    /// Sets that were looked at.
    pub sets: usize,
}

/// Searches for the set of `candidates` that needs the least; among those, one without superfluous patches.
///
/// `evaluate` is asked what a set is worth; `None` means that it cannot be applied. No set needs less than `floor`.
pub fn choose(
    graph: &Graph,
    candidates: &[Patch],
    effort: &Effort,
    floor: u64,
    evaluate: impl FnMut(&[Patch]) -> Option<Worth>,
) -> Choice {
    let mut search = Search { candidates, effort, evaluate, known: BTreeMap::new() };
    let none = vec![false; candidates.len()];
    let before = search.needs(&none);
    let sets = u32::try_from(candidates.len()).ok().and_then(|count| 1_usize.checked_shl(count));
    let is_small = sets.is_some_and(|sets| sets <= effort.sets);
    let mut best = none.clone();
    if is_small {
        for bits in 1..sets.unwrap_or(0) {
            let set: Vec<bool> = (0..candidates.len()).map(|index| bits >> index & 1 == 1).collect();
            best = search.better(best, set);
        }
    } else {
        let families = families(graph, candidates);
        let singles: Vec<Vec<usize>> = (0..candidates.len()).map(|index| vec![index]).collect();
        // From the best start first: there may be no time for the others.
        let mut starts = starts(candidates, effort);
        starts.push(none);
        starts.sort_by_cached_key(|start| search.needs(start));
        for start in starts {
            let mut found = search.flip(start, &families, floor);
            found = search.without_superfluous(found, &families);
            found = search.without_superfluous(found, &singles);
            found = search.flip(found, &singles, floor);
            found = search.without_superfluous(found, &singles);
            best = search.better(best, found);
            if search.is_over() || search.needs(&best) <= floor {
                break;
            }
        }
    }
    let after = search.needs(&best);
    let floor = if is_small { floor.max(search.least_bound()) } else { floor };
    if after >= before {
        let sets = search.known.len();
        return Choice { before, after: before, patches: Vec::new(), floor, sets };
    }
    let patches = search.known.get(&best).cloned().flatten().map_or_else(Vec::new, |worth| worth.patches);
    let chosen: Vec<usize> = (0..candidates.len()).filter(|&index| best[index]).collect();
    let patches = patches.into_iter().zip(chosen).map(|(patch, index)| {
        let mut without = best.clone();
        without[index] = false;
        let needs = Some(search.needs(&without)).filter(|&needs| needs < u64::MAX);
        (patch, needs.map(|needs| needs.saturating_sub(after)))
    });
    let patches = patches.collect();
    Choice { before, after, patches, floor, sets: search.known.len() }
}

/// What the caller thinks good; everything; what is exact; what takes pieces; what adds up; what goes.
fn starts(candidates: &[Patch], effort: &Effort) -> Vec<Vec<bool>> {
    let of = |is_in: &dyn Fn(&Patch) -> bool| candidates.iter().map(is_in).collect::<Vec<bool>>();
    let mut starts: Vec<Vec<bool>> =
        effort.first.iter().map(|ops| of(&|patch| ops.contains(&patch.op()))).collect();
    starts.extend([
        of(&|_| true),
        of(&|patch| patch.exact),
        of(&|patch| matches!(patch.action, Action::Bypass { .. })),
        of(&|patch| !matches!(patch.action, Action::Accumulate { .. })),
        of(&|patch| matches!(patch.action, Action::Accumulate { .. })),
    ]);
    starts
}

struct Search<'a, F> {
    candidates: &'a [Patch],
    effort: &'a Effort,
    evaluate: F,
    known: BTreeMap<Vec<bool>, Option<Worth>>,
}

impl Choice {
    /// Is there no better set?
    pub fn is_proved(&self) -> bool {
        self.after <= self.floor
    }
}

impl<F: FnMut(&[Patch]) -> Option<Worth>> Search<'_, F> {
    /// What no set that was looked at can go below; 0 if one of them could not be evaluated.
    fn least_bound(&self) -> u64 {
        self.known.values().map(|worth| worth.as_ref().map_or(0, |worth| worth.bound)).min().unwrap_or(0)
    }

    fn is_over(&self) -> bool {
        self.known.len() >= self.effort.sets
    }

    /// What a set needs; more than anything if it is not known and there is no time left to find out.
    fn needs(&mut self, set: &[bool]) -> u64 {
        if !self.known.contains_key(set) {
            // What is there without any patch is looked at in any case.
            if self.is_over() && !self.known.is_empty() {
                return u64::MAX;
            }
            let chosen: Vec<Patch> = self
                .candidates
                .iter()
                .zip(set)
                .filter(|(_, is_in)| **is_in)
                .map(|(patch, _)| patch.clone())
                .collect();
            let worth = (self.evaluate)(&chosen);
            self.known.insert(set.to_vec(), worth);
        }
        self.known.get(set).and_then(Option::as_ref).map_or(u64::MAX, |worth| worth.needs)
    }

    /// The one that needs less; of two that need the same, the one with fewer patches, then the first.
    fn better(&mut self, one: Vec<bool>, other: Vec<bool>) -> Vec<bool> {
        let mut cost = |set: &Vec<bool>| (self.needs(set), set.iter().filter(|is_in| **is_in).count());
        if cost(&other) < cost(&one) { other } else { one }
    }

    /// Switches groups while that makes the network need less.
    fn flip(&mut self, mut best: Vec<bool>, groups: &[Vec<usize>], floor: u64) -> Vec<bool> {
        loop {
            let before = self.needs(&best);
            for group in groups {
                if self.is_over() || self.needs(&best) <= floor {
                    return best;
                }
                let is_on = group.iter().any(|&index| best[index]);
                let mut other = best.clone();
                for &index in group {
                    other[index] = !is_on;
                }
                if self.needs(&other) < self.needs(&best) {
                    best = other;
                }
            }
            if self.needs(&best) >= before {
                return best;
            }
        }
    }

    /// Takes out groups that make no difference: halves of them first, then halves of these.
    fn without_superfluous(&mut self, mut best: Vec<bool>, groups: &[Vec<usize>]) -> Vec<bool> {
        let mut chunk = groups.len();
        while chunk > 0 {
            for groups in groups.chunks(chunk) {
                let mut less = best.clone();
                for &index in groups.iter().flatten() {
                    less[index] = false;
                }
                if less != best && self.needs(&less) <= self.needs(&best) {
                    best = less;
                }
            }
            chunk /= 2;
        }
        best
    }
}
