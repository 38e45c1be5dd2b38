//! **Rule R10, modules.** A part of a network that the rest sees only through one entry and one exit can be scheduled
//! once and for all.
//!
//! A *module* is a set `U` of ops between an op `s` (or the start) and an op `e` of `U` (or the end), such that
//! everything in `U` waits only for `U` and what has run when `s` has, only what waits for `e` waits for `U`, and no
//! buffer of `U` is touched by ops that are neither known to have run before `U` begins nor known to run after it ends.
//! Then `f(X) = g(X ∩ U) + h(X \ U)`: a submodular `g` for the module and the rest.
//!
//! Let `M` minimise `g`. From the start of the module, let `t_1` be the least level at which a set lower than the start
//! can be reached, `T_1` the minimised valley (R3) there, `t_2` the least level to get lower from `T_1`, and so on down
//! to `M`; and likewise backwards from the end. These sets, in the order of time, form a chain, the *profile* of the
//! module.
//!
//! *Some optimal order of the whole runs the module along its profile, and stands still in it, while other ops run,
//! only at the sets of the profile.* So the module can be replaced by a chain of ops, one a step of the profile, which
//! needs so much while it runs and leaves so much in use.
//!
//! Proof sketch. Take any order and let `D_k` be what it has run of `U` at time `k`. Let the new order stand at `T_j`
//! as long as no op of `U` has taken the old one to level `t_{j+1}` within the module, and go on to `T_{j+1}` at the
//! very op that does: it needs no more then. While it stands at `T_j`, `g(T_j) <= g(D_k)`: a lower `D_k`, reached below
//! `t_{j+1}`, would give `g(D_k ∪ T_j) <= g(D_k) + g(T_j) - g(D_k ∩ T_j) <= g(D_k) < g(T_j)`, reached from `T_j` below
//! `t_{j+1}`, against the choice of `t_{j+1}`. Backwards from the end the same holds. By R4 the old order, met with
//! `M`, reaches every forward level, the last at an op `p`, and joined with `M` every backward one, the last (from the
//! end) at an op `q`. The op that reaches the higher of the two reaches both, so `p` is not after `q`, and the new
//! order stands at `M` in between.

use super::Rules;
use super::closure::Closure;
use super::contract::{Region, contract};
use super::memo::Memo;
use super::profile::ProfileWork;
use crate::{Problem, bits};
use std::collections::HashSet;

/// Larger modules are left to the search, which splits them in other ways.
const LARGEST: u32 = 400;

/// A module around others that were found just before is replaced only if it has at most this many ops once they are
/// replaced: otherwise there may be more to replace in it first.
const LARGEST_AROUND_OTHERS: usize = 8;

/// So many exits are tried for an entry, the farthest first.
const MOST_EXITS: usize = 16;

/// A module whose profile is as long as itself, known by the first and last of its ops in the original and how many there are
/// (another of the same name would be skipped too, which costs nothing but the chance).
type Name = (Option<u32>, Option<u32>, usize);

/// A problem in which modules have become chains.
pub(super) struct Reduced {
    pub(super) problem: Problem,
    /// The ops of the original that each op stands for, in order.
    pub(super) sequences: Vec<Vec<u32>>,
}

impl Reduced {
    /// Nothing is replaced yet.
    pub(super) fn new(problem: &Problem) -> Self {
        Self { problem: problem.clone(), sequences: (0..problem.ops).map(|op| vec![op]).collect() }
    }

    /// An order of the original.
    pub(super) fn expand(&self, order: &[u32]) -> Vec<u32> {
        order.iter().flat_map(|&op| &self.sequences[op as usize]).copied().collect()
    }

    /// Replaces modules by chains, innermost first, until there are none left whose profile can be found with so much effort.
    pub(super) fn reduce(&mut self, rules: &Rules, memo: &Memo, effort: &mut ProfileWork) {
        let mut stubborn: HashSet<Name> = HashSet::new();
        let mut changed = true;
        while changed && !(effort.stop)() {
            changed = false;
            // A fork is closed by its join in one direction of time, and a join by its fork in the other.
            for forward in [true, false] {
                let finder = Finder {
                    taken: vec![0; self.problem.words()],
                    reduced: self,
                    rules,
                    memo,
                    effort,
                    stubborn: &mut stubborn,
                    regions: Vec::new(),
                };
                let regions = finder.find(forward);
                if !regions.is_empty() {
                    let (problem, origins) = contract(&self.problem, &regions);
                    let sequences = origins.iter().map(|ops| self.expand(ops)).collect();
                    *self = Self { problem, sequences };
                    changed = true;
                }
            }
        }
    }
}

/// Looks for modules in one direction of time.
struct Finder<'a, 'e> {
    reduced: &'a Reduced,
    rules: &'a Rules,
    memo: &'a Memo,
    effort: &'a mut ProfileWork<'e>,
    stubborn: &'a mut HashSet<Name>,
    /// Ops that are in a module already.
    taken: Vec<u64>,
    regions: Vec<Region>,
}

impl Finder<'_, '_> {
    /// Disjoint modules whose profile is shorter than they are. Backwards, they contain their first op instead of their last.
    fn find(mut self, forward: bool) -> Vec<Region> {
        let turned;
        let problem = if forward {
            &self.reduced.problem
        } else {
            turned = self.reduced.problem.reversed();
            &turned
        };
        let closure = Closure::new(problem);
        let joins = post_dominators(problem);
        // Inner forks come later in the order than the forks around them.
        for &entry in problem.topological.iter().rev() {
            if (self.effort.stop)() {
                return self.regions;
            }
            // The op that all paths from the entry pass next, the one after that, and so on: the largest that is a module.
            let exits: Vec<u32> = std::iter::successors(joins[entry as usize], |&join| joins[join as usize])
                .take(LARGEST as usize)
                .collect();
            // What is between grows from exit to exit.
            let fitting = exits.partition_point(|&exit| {
                let ops = between(&closure, Some(entry), exit);
                size(&ops) <= LARGEST && !self.overlaps(&ops)
            });
            let sets = exits[..fitting]
                .iter()
                .rev()
                .take(MOST_EXITS)
                .map(|&exit| (exit, between(&closure, Some(entry), exit)));
            let mut sets = sets;
            let found = sets
                .find(|(exit, ops)| size(ops) > 1 && is_module(problem, &closure, Some(entry), *exit, ops));
            if let Some((_, ops)) = found {
                self.take(&ops);
            }
        }
        // Any op may close all that leads to it, what was closed before included: so a long network folds up from its
        // start at once.
        for &exit in &problem.topological {
            if (self.effort.stop)() {
                break;
            }
            let ops = between(&closure, None, exit);
            let fits = (2..=LARGEST).contains(&size(&ops)) && !self.cuts_a_region(&ops);
            if fits && is_module(problem, &closure, None, exit, &ops) {
                self.take(&ops);
            }
        }
        self.regions
    }

    fn overlaps(&self, ops: &[u64]) -> bool {
        ops.iter().zip(&self.taken).any(|(a, b)| a & b != 0)
    }

    /// Is a part of some region in the set, and a part not?
    fn cuts_a_region(&self, set: &[u64]) -> bool {
        self.overlaps(set)
            && self.regions.iter().any(|region| {
                let inside = region.ops.iter().filter(|&&op| bits::contains(set, op)).count();
                inside > 0 && inside < region.ops.len()
            })
    }

    /// Computes the profile of a module, and keeps it if it is shorter than the module. Regions within it are replaced
    /// first, and become part of it.
    fn take(&mut self, set: &[u64]) {
        let ops: Vec<u32> = bits::iter(set).collect();
        let is_inner = |region: &Region| bits::contains(set, region.ops[0]);
        let inner: Vec<&Region> = self.regions.iter().filter(|region| is_inner(region)).collect();
        let saved: usize = inner.iter().map(|region| region.saves()).sum();
        let length = ops.len() - saved;
        let originals = ops.iter().flat_map(|&op| &self.reduced.sequences[op as usize]).copied();
        let name = (originals.clone().min(), originals.max(), length);
        let is_for_later = !inner.is_empty() && length > LARGEST_AROUND_OTHERS;
        if length < 2 || is_for_later || self.stubborn.contains(&name) || (self.effort.stop)() {
            return;
        }
        let region = Region::new(&self.reduced.problem, ops);
        let steps = if inner.is_empty() {
            self.memo.profile_of(&region.problem, self.rules, self.effort)
        } else {
            let inner: Vec<Region> = inner.into_iter().map(|inner| inner.within(&region)).collect();
            let (problem, origins) = contract(&region.problem, &inner);
            self.memo
                .profile_of(&problem, self.rules, self.effort)
                .map(|steps| steps.into_iter().map(|step| step.standing_for(&origins)).collect())
        };
        match steps {
            Some(steps) if steps.len() < length => {
                for (taken, &ops) in self.taken.iter_mut().zip(set) {
                    *taken |= ops;
                }
                self.regions.retain(|region| !is_inner(region));
                self.regions.push(region.with_steps(steps));
            }
            _ => {
                self.stubborn.insert(name);
            }
        }
    }
}

fn size(set: &[u64]) -> u32 {
    set.iter().map(|word| word.count_ones()).sum()
}

/// For every op the first op that all paths from it to the end pass; `None` if there is none.
fn post_dominators(problem: &Problem) -> Vec<Option<u32>> {
    let mut join: Vec<Option<u32>> = vec![None; problem.len()];
    // How far from the end in the tree of these; the end itself is at 0.
    let mut depth = vec![0_u32; problem.len()];
    for &op in problem.topological.iter().rev() {
        let mut successors = problem.successors[op as usize].iter().copied();
        let mut common = successors.next();
        for other in successors {
            let mut other = Some(other);
            while common != other {
                let level = |node: Option<u32>| node.map_or(0, |n| depth[n as usize]);
                if level(common) >= level(other) {
                    common = common.and_then(|n| join[n as usize]);
                } else {
                    other = other.and_then(|n| join[n as usize]);
                }
            }
        }
        join[op as usize] = common;
        depth[op as usize] = 1 + common.map_or(0, |n| depth[n as usize]);
    }
    join
}

/// The ops after `entry` and up to `exit`.
fn between(closure: &Closure, entry: Option<u32>, exit: u32) -> Vec<u64> {
    let mut ops = closure.ancestors.row(exit).to_vec();
    bits::insert(&mut ops, exit);
    if let Some(entry) = entry {
        for (word, &after) in ops.iter_mut().zip(closure.descendants.row(entry)) {
            *word &= after;
        }
    }
    ops
}

fn is_module(problem: &Problem, closure: &Closure, entry: Option<u32>, exit: u32, ops: &[u64]) -> bool {
    let inside = |op: u32| bits::contains(ops, op);
    let before = |op: u32| entry.is_some_and(|s| op == s || bits::contains(closure.ancestors.row(s), op));
    let after = |op: u32| bits::contains(closure.descendants.row(exit), op);
    bits::iter(ops).all(|op| {
        let u = op as usize;
        problem.predecessors[u].iter().all(|&p| inside(p) || before(p))
            && problem.successors[u].iter().all(|&s| inside(s) || after(s))
            && problem.writes[u].iter().chain(&problem.reads[u]).all(|&b| {
                let buffer = &problem.buffers[b as usize];
                buffer.writers.iter().all(|w| inside(w.0) || before(w.0))
                    && buffer.readers.iter().all(|r| inside(r.0) || after(r.0))
            })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Buffer, OpIndex};

    fn reduce(problem: &Problem) -> Reduced {
        let mut reduced = Reduced::new(problem);
        reduced.reduce(
            &Rules::default(),
            &Memo::default(),
            &mut ProfileWork { states: 1000, spent: 0, memory: u64::MAX, stop: &|| false, is_cut: false },
        );
        reduced
    }

    #[test]
    fn a_chain_becomes_one_op_that_needs_as_much() {
        let op = OpIndex;
        let link = |i: u32, bytes: u64| Buffer::produced(bytes, op(i), [op(i + 1)]);
        let chain = Problem::new(4, vec![link(0, 5), link(1, 9), link(2, 3)], []).unwrap();
        let reduced = reduce(&chain);
        assert_eq!(reduced.expand(&[0]), [0, 1, 2, 3]);
        assert_eq!(reduced.problem.peak(&[op(0)]), 14);
    }

    #[test]
    fn a_fork_within_a_fork_becomes_a_chain() {
        // 0 -> {1 -> {2, 3} -> 4, 5} -> 6, with a large result of 5 that should come last.
        let op = OpIndex;
        let buffers = vec![
            Buffer::produced(4, op(0), [op(1), op(5)]),
            Buffer::produced(6, op(1), [op(2), op(3)]),
            Buffer::produced(8, op(2), [op(4)]),
            Buffer::produced(2, op(3), [op(4)]),
            Buffer::produced(1, op(4), [op(6)]),
            Buffer::produced(50, op(5), [op(6)]),
            Buffer::produced(1, op(6), []).kept(),
        ];
        let problem = Problem::new(7, buffers, []).unwrap();
        let reduced = reduce(&problem);
        assert_eq!(reduced.problem.len(), 1);
        let order = reduced.expand(&[0]);
        assert_eq!(crate::walk::peak_of(&problem, &order), 55);
        assert_eq!(reduced.problem.peak(&[op(0)]), 55);
    }

    #[test]
    fn a_buffer_that_passes_by_a_module_stays() {
        // Ops 1 and 2 write into one buffer that is kept; 2 and 3 form a module that does not change it.
        let op = OpIndex;
        let shared = Buffer {
            bytes: 532,
            writers: vec![op(1), op(2)],
            readers: vec![],
            from_start: false,
            to_end: true,
        };
        let edges = [(op(0), op(1)), (op(1), op(2)), (op(2), op(3))];
        let problem = Problem::new(4, vec![Buffer::produced(263, op(0), []).kept(), shared], edges).unwrap();
        assert_eq!(reduce(&problem).problem.at_end(), 795);
    }
}
