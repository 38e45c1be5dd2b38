//! Chooses which patches to apply.
//!
//! The paper asks for the set of rewrites whose best schedule needs the least (its equation 2). The caller says what a
//! set needs, and what no set goes below. A good set that meets this floor settles it. Where there are few sets, all of
//! them are tried, and that settles it if their bounds do. Where there are many, the search starts from no patch, from
//! all patches and from what single rules propose, the best of these first. It switches whole families on and off while
//! that helps (patches that work on pieces of the same concatenation gain little alone), removes patches that make no
//! difference, and then does the same with single patches.

use crate::families::families;
use crate::{Action, Patch};
use serenity_ir::{Graph, OpId};
use serenity_search::StopReason;
use std::collections::{BTreeMap, BTreeSet};

/// How long to search, in counted work, so that the answer does not depend on the clock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// The most sets of patches to evaluate.
    pub sets: usize,
    /// Sets to evaluate first, given by the ops of their patches.
    pub first: Vec<BTreeSet<OpId>>,
}

/// The result of evaluating a set of patches.
#[derive(Clone, Debug, PartialEq)]
pub enum Evaluation {
    /// The set can be applied, with this result.
    Worth(Worth),
    /// The set cannot be applied.
    CannotBeApplied,
    /// A limit ended the search before anything was known.
    RanOut(StopReason),
}

/// The need of a set of patches.
#[derive(Clone, Debug, PartialEq)]
pub struct Worth {
    /// The need of the rewritten network; less is better.
    pub needs: u64,
    /// A lower bound on the need with this set.
    pub bound: u64,
    /// The patches, each with the order in which it sums.
    pub patches: Vec<Patch>,
}

/// The result of the search.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The need of the network without any patch.
    pub before: u64,
    /// The need of the network with the chosen patches.
    pub after: u64,
    /// The patches to apply, each with how much more would be needed without it, if known.
    pub patches: Vec<(Patch, Option<u64>)>,
    /// Other good sets, the best first, given by the ops of their patches.
    pub others: Vec<BTreeSet<OpId>>,
    /// A lower bound for all sets: the caller's or, if all sets were evaluated, the least of their bounds.
    pub floor: u64,
    /// Why the search ended, if it might have found more.
    pub stopped: Option<StopReason>,
    /// The number of sets that were evaluated.
    pub sets: usize,
}

/// Searches for the set of `candidates` that needs the least; of equals, one without superfluous patches.
///
/// `evaluate` returns the need of a set, given a limit: a set that does not need less than the limit need not be
/// evaluated exactly. `floor` is a lower bound for all sets.
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
    let families = families(graph, candidates);
    let singles: Vec<Vec<usize>> = (0..candidates.len()).map(|index| vec![index]).collect();
    let starts = starts(candidates, effort);
    let at_floor = if before <= floor {
        Some(none.clone())
    } else {
        starts.iter().take(effort.first.len() + 1).find(|start| search.needs(start, before) <= floor).cloned()
    };
    if let Some(start) = at_floor {
        best = search.without_superfluous(start, &families);
        best = search.without_superfluous(best, &singles);
    } else if is_small {
        for bits in 1..sets.unwrap_or(0) {
            let set: Vec<bool> = (0..candidates.len()).map(|index| bits >> index & 1 == 1).collect();
            best = search.better(best, set);
        }
    } else {
        // From the best start first: there may be no time for the others.
        let mut starts = starts;
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
    let tried_all = is_small && after > floor && search.ran_out.is_none();
    let floor = if tried_all { floor.max(search.least_bound()) } else { floor };
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
    /// The sets evaluated so far; `None` for those that cannot be applied.
    known: BTreeMap<Vec<bool>, Option<Known>>,
    /// The number of calls of `evaluate`.
    asked: usize,
    ran_out: Option<StopReason>,
}

/// What is known of a set.
struct Known {
    worth: Worth,
    /// The limit that the set was evaluated with: if it needs as much as this, its exact need is not known.
    asked_below: u64,
}

impl Choice {
    /// Is it proved that no set is better?
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

    /// What a set needs, as far as that is less than `below`: otherwise no more than that it is not. More than anything
    /// if it is not known and there is no work left to find out.
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
