//! Which of the patches to apply.
//!
//! The paper asks for the set of rewrites whose best schedule needs the least (its equation 2). What a set is worth, the caller says. Where there are few sets, all of
//! them are tried, and that settles it if their bounds do. Where there are many, the search starts from nothing, from everything and from what single rules
//! propose, the best of these first, switches whole families on and off while that helps (patches that work on pieces of the same concatenation are worth little alone),
//! takes out whatever makes no difference, and then does the same with single patches.

use crate::families::families;
use crate::{Action, Patch};
use serenity_ir::{Graph, OpId};
use serenity_search::StopReason;
use std::collections::{BTreeMap, BTreeSet};

/// How long to search, counted, so that the answer does not depend on the clock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// Sets of patches to look at, at most.
    pub sets: usize,
    /// Sets to look at first, by the ops of their patches.
    pub first: Vec<BTreeSet<OpId>>,
}

/// What became of looking at a set of patches.
#[derive(Clone, Debug, PartialEq)]
pub enum Evaluation {
    /// It can be applied, and is worth so much.
    Worth(Worth),
    /// It is no set that can be applied, so nothing about it matters.
    CannotBeApplied,
    /// Something ended the search before anything was known.
    RanOut(StopReason),
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
    /// Other good sets, the best first, by the ops of their patches.
    pub others: Vec<BTreeSet<OpId>>,
    /// No set can need less: what the caller knew, or the least bound of all sets if all were looked at.
    pub floor: u64,
    /// Why the search ended, if it might have found more.
    pub stopped: Option<StopReason>,
    /// Sets that were looked at.
    pub sets: usize,
}

/// Searches for the set of `candidates` that needs the least; among those, one without superfluous patches.
///
/// `evaluate` is asked what a set is worth, and whether it needs less than so much: if not, it need not find out how much. No set needs less
/// than `floor`.
pub fn choose(
    graph: &Graph,
    candidates: &[Patch],
    effort: &Effort,
    floor: u64,
    evaluate: impl FnMut(&[Patch], u64) -> Evaluation,
) -> Choice {
    let mut search = Search { candidates, effort, evaluate, known: BTreeMap::new(), asked: 0, ran_out: None };
    let none = vec![false; candidates.len()];
    let before = search.needs(&none, u64::MAX);
    let sets = u32::try_from(candidates.len()).ok().and_then(|count| 1_usize.checked_shl(count));
    let is_small = sets.is_some_and(|sets| sets <= effort.sets);
    let mut best = none.clone();
    let mut ends = Vec::new();
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
        let mut least = u64::MAX;
        starts.sort_by_cached_key(|start| {
            let needs = search.needs(start, least);
            least = least.min(needs);
            needs
        });
        for start in starts {
            let mut found = search.flip(start, &families, floor);
            found = search.without_superfluous(found, &families);
            found = search.without_superfluous(found, &singles);
            found = search.flip(found, &singles, floor);
            found = search.without_superfluous(found, &singles);
            ends.push((search.needs(&found, 0), found.clone()));
            best = search.better(best, found);
            if search.is_over() || search.needs(&best, 0) <= floor {
                break;
            }
        }
    }
    let after = search.needs(&best, 0);
    let floor = if is_small && search.ran_out.is_none() { floor.max(search.least_bound()) } else { floor };
    let chosen = search.known.get(&best).and_then(Option::as_ref).filter(|_| after < before);
    let patches = chosen.map_or_else(Vec::new, |known| known.worth.patches.clone());
    let chosen: Vec<usize> = (0..candidates.len()).filter(|&index| best[index]).collect();
    let patches = patches.into_iter().zip(chosen).map(|(patch, index)| {
        let mut without = best.clone();
        without[index] = false;
        let needs = Some(search.needs(&without, u64::MAX)).filter(|&needs| needs < u64::MAX);
        (patch, needs.map(|needs| needs.saturating_sub(after)))
    });
    let patches = patches.collect();
    let after = after.min(before);
    // Sets that cannot be counted in time are the usual reason; where all were looked at, their bounds were not good enough.
    let stopped = search.ran_out.or(Some(if is_small { StopReason::Heuristic } else { StopReason::Work }));
    let stopped = stopped.filter(|_| after > floor);
    let others = others(candidates, &best, ends);
    Choice { before, after, patches, others, floor, stopped, sets: search.known.len() }
}

/// The sets in which the search has ended besides the best, those that need least first, by the ops of their patches.
fn others(candidates: &[Patch], best: &[bool], mut ends: Vec<(u64, Vec<bool>)>) -> Vec<BTreeSet<OpId>> {
    ends.sort();
    ends.dedup();
    let others = ends.into_iter().map(|(_, set)| set).filter(|set| set != best);
    let ops = |set: Vec<bool>| {
        candidates.iter().zip(set).filter(|(_, is_in)| *is_in).map(|(patch, _)| patch.op()).collect()
    };
    others.map(ops).filter(|ops: &BTreeSet<OpId>| !ops.is_empty()).take(MOST_OTHERS).collect()
}

/// More are of no use to whoever looks at them by another measure.
const MOST_OTHERS: usize = 3;

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
    /// What was looked at; nothing for sets that cannot be applied.
    known: BTreeMap<Vec<bool>, Option<Known>>,
    /// How often `evaluate` was asked.
    asked: usize,
    ran_out: Option<StopReason>,
}

/// What is known of a set.
struct Known {
    worth: Worth,
    /// If it needs as much as this, nobody has tried to find out how much less it could be.
    asked_below: u64,
}

impl Choice {
    /// Is there no better set?
    pub fn is_proved(&self) -> bool {
        self.after <= self.floor
    }
}

impl<F: FnMut(&[Patch], u64) -> Evaluation> Search<'_, F> {
    /// What no set that was looked at can go below.
    fn least_bound(&self) -> u64 {
        self.known.values().flatten().map(|known| known.worth.bound).min().unwrap_or(0)
    }

    fn is_over(&self) -> bool {
        self.asked >= self.effort.sets || self.ran_out.is_some()
    }

    /// What a set needs, as far as that is less than `below`: otherwise no more than that it is not. More than anything if it is not known and there
    /// is no work left to find out.
    fn needs(&mut self, set: &[bool], below: u64) -> u64 {
        match self.known.get(set) {
            None => {}
            Some(None) => return u64::MAX,
            Some(Some(Known { worth, asked_below })) => {
                let is_known =
                    worth.needs < *asked_below || below <= *asked_below || worth.needs <= worth.bound;
                if is_known || self.is_over() {
                    return worth.needs;
                }
            }
        }
        // What is there without any patch is looked at in any case.
        if self.is_over() && (self.asked > 0 || self.ran_out.is_some()) {
            return u64::MAX;
        }
        self.asked += 1;
        let chosen = self.candidates.iter().zip(set).filter(|(_, is_in)| **is_in);
        let chosen: Vec<Patch> = chosen.map(|(patch, _)| patch.clone()).collect();
        let known = match (self.evaluate)(&chosen, below) {
            Evaluation::Worth(worth) => Some(Known { worth, asked_below: below }),
            Evaluation::CannotBeApplied => None,
            Evaluation::RanOut(reason) => {
                self.ran_out = Some(reason);
                return self
                    .known
                    .get(set)
                    .and_then(Option::as_ref)
                    .map_or(u64::MAX, |known| known.worth.needs);
            }
        };
        let needs = known.as_ref().map_or(u64::MAX, |known| known.worth.needs);
        self.known.insert(set.to_vec(), known);
        needs
    }

    /// The one that needs less; of two that need the same, the one with fewer patches, then the first.
    fn better(&mut self, one: Vec<bool>, other: Vec<bool>) -> Vec<bool> {
        let least = self.needs(&one, u64::MAX);
        let patches = |set: &[bool]| set.iter().filter(|is_in| **is_in).count();
        let other_needs = self.needs(&other, least.saturating_add(1));
        if (other_needs, patches(&other)) < (least, patches(&one)) { other } else { one }
    }

    /// Switches groups while that makes the network need less.
    fn flip(&mut self, mut best: Vec<bool>, groups: &[Vec<usize>], floor: u64) -> Vec<bool> {
        loop {
            let before = self.needs(&best, u64::MAX);
            let mut least = before;
            for group in groups {
                if self.is_over() || least <= floor {
                    return best;
                }
                let is_on = group.iter().any(|&index| best[index]);
                let mut other = best.clone();
                for &index in group {
                    other[index] = !is_on;
                }
                let needs = self.needs(&other, least);
                if needs < least {
                    (best, least) = (other, needs);
                }
            }
            if least >= before {
                return best;
            }
        }
    }

    /// Takes out groups that make no difference: halves of them first, then halves of these.
    fn without_superfluous(&mut self, mut best: Vec<bool>, groups: &[Vec<usize>]) -> Vec<bool> {
        let mut least = self.needs(&best, u64::MAX);
        let mut chunk = groups.len();
        while chunk > 0 {
            for groups in groups.chunks(chunk) {
                let mut less = best.clone();
                for &index in groups.iter().flatten() {
                    less[index] = false;
                }
                if less == best {
                    continue;
                }
                let needs = self.needs(&less, least.saturating_add(1));
                if needs <= least {
                    (best, least) = (less, needs);
                }
            }
            chunk /= 2;
        }
        best
    }
}
