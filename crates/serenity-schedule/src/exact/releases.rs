//! **Rule R11, releases.**
//!
//! *Let the ops from `X` to the end run in some order within the limit. Let `e` be the first of them that lets a buffer go, and
//! `b` such a buffer. Then one may first run the readers of `b` that have not run and all that they depend on, and then go
//! on within the limit.*
//!
//! Proof. Let `P` be the ops up to `e`, and `N` those of them that are readers of `b` or that readers of `b` depend on:
//! all such ops that had not run, as `e` lets `b` go. Run `N` in the order that they had, then the others of `P` in
//! theirs. Each set on the way has no more in use than `f(X)` and all that the ops of `P` bring to life, which is in
//! use while `e` runs, because no op before it lets anything go. Afterwards the same ops have run as before. ∎
//!
//! So a search need only go from `X` to the sets `X ∪ N`, one for each buffer. If the `N` of another buffer is a part
//! of it, an op before the last one lets that buffer go, so only the least sets are needed. In a least set only the
//! last op, whichever that is, lets anything go: the set costs the same in each order. Ops that free nothing by
//! themselves, as most do that add to a sum, are not tried one by one.

use super::closure::{Closure, Rows};
use super::instance::State;
use crate::{Problem, bits};

/// May the rule be used, and is it likely to help? At least every third op must add to something, else most ops let
/// something go. Where results are written over what they read, a set costs more in some orders than in others.
pub(super) fn are_rare(problem: &Problem) -> bool {
    let is_sum = |&b: &u32| problem.buffers[b as usize].writers.len() > 1;
    let adds = problem.writes.iter().filter(|written| written.iter().any(is_sum)).count();
    problem.hand_overs.is_empty() && 3 * adds >= problem.len().max(1)
}

/// For every buffer, the ops that must have run when it goes.
pub(super) struct Releases {
    before: Rows,
    buffers: u32,
    /// Of every op, its place in topological order.
    position: Vec<u32>,
}

/// Ops to run next, in order.
pub(super) struct Release {
    pub(super) ops: Vec<u32>,
    /// Memory in use while the last of them runs.
    pub(super) during: u64,
    set: Vec<u64>,
}

impl Releases {
    pub(super) fn new(problem: &Problem) -> Self {
        let closure = Closure::new(problem);
        let mut before = Rows::new(problem.buffers.len(), problem.words());
        for op in 0..problem.ops {
            for &b in &problem.reads[op as usize] {
                let row = before.row_mut(b);
                bits::insert(row, op);
                for (word, &ancestors) in row.iter_mut().zip(closure.ancestors.row(op)) {
                    *word |= ancestors;
                }
            }
        }
        let mut position = vec![0; problem.len()];
        for (at, &op) in (0_u32..).zip(&problem.topological) {
            position[op as usize] = at;
        }
        Self { before, buffers: problem.buffers.len() as u32, position }
    }

    /// The least sets to run next that fit within `limit`; and what the others need at least, if there are any.
    pub(super) fn next(&self, problem: &Problem, state: &State, limit: u64) -> (Vec<Release>, Option<u64>) {
        let mut found: Vec<Release> = Vec::new();
        let mut blocked = None;
        let mut are_all_gone = true;
        for b in 0..self.buffers {
            let open = self.before.row(b).iter().zip(&state.done).map(|(before, done)| before & !done);
            let set: Vec<u64> = open.collect();
            if set.iter().all(|&word| word == 0) {
                continue;
            }
            are_all_gone = false;
            if found.iter().any(|other| is_part(&other.set, &set)) {
                continue;
            }
            let release = self.release(problem, state, set);
            if release.during > limit {
                blocked = Some(blocked.unwrap_or(u64::MAX).min(release.during));
                continue;
            }
            found.retain(|other| !is_part(&release.set, &other.set));
            found.push(release);
        }
        if are_all_gone {
            let set: Vec<u64> = (0..problem.ops).fold(vec![0; problem.words()], |mut set, op| {
                if !bits::contains(&state.done, op) {
                    bits::insert(&mut set, op);
                }
                set
            });
            let rest = self.release(problem, state, set);
            if rest.during > limit {
                blocked = Some(rest.during);
            } else {
                found.push(rest);
            }
        }
        (found, blocked)
    }

    /// What it takes to run these ops, as long as only the last lets something go.
    fn release(&self, problem: &Problem, state: &State, set: Vec<u64>) -> Release {
        let mut done = state.done.clone();
        let mut during = state.in_use;
        let mut ops: Vec<u32> = bits::iter(&set).collect();
        ops.sort_unstable_by_key(|&op| self.position[op as usize]);
        for &op in &ops {
            during += problem.allocated(&done, op);
            bits::insert(&mut done, op);
        }
        Release { ops, during, set }
    }
}

fn is_part(one: &[u64], other: &[u64]) -> bool {
    one.iter().zip(other).all(|(one, other)| one & !other == 0)
}

#[cfg(test)]
mod tests {
    use super::super::engine::{Ended, Engine};
    use super::super::flood::{Event, Flood};
    use super::super::instance::Instance;
    use super::super::testing::{NEVER, is_order, least_peak};
    use super::super::{Rules, walk};
    use super::*;
    use crate::rng::Rng;
    use crate::{Buffer, OpIndex};
    use serenity_search::{Limits, Watch};

    /// Sums of results: every op reads one tensor and adds to another. Now and then something is kept, or an op only reads.
    fn sums(random: &mut Rng) -> Problem {
        let tensors = 3 + random.below(4) as usize;
        let mut pairs = Vec::new();
        for to in 1..tensors {
            for from in 0..to {
                if pairs.len() < 10 && (from + 1 == to || random.below(2) == 0) {
                    pairs.push((from, to));
                }
            }
        }
        let ops = |of: &dyn Fn(&(usize, usize)) -> bool| -> Vec<OpIndex> {
            (0..).zip(&pairs).filter(|(_, pair)| of(pair)).map(|(op, _)| OpIndex(op)).collect()
        };
        let mut edges = Vec::new();
        let mut buffers = Vec::new();
        for tensor in 0..tensors {
            let (writers, readers) = (ops(&|pair| pair.1 == tensor), ops(&|pair| pair.0 == tensor));
            for &writer in &writers {
                edges.extend(readers.iter().map(|&reader| (writer, reader)));
            }
            let bytes = 1 + random.below(3);
            let is_kept = readers.is_empty() || random.below(6) == 0;
            let from_start = writers.is_empty();
            buffers.push(Buffer { bytes, writers, readers, from_start, to_end: is_kept });
        }
        Problem::new(pairs.len() as u32, buffers, edges).unwrap()
    }

    fn solved(instance: &Instance, ceiling: u64) -> (Option<Vec<u32>>, u64) {
        let rules = Rules::default();
        let mut flood = Flood::new(instance, &rules, 0);
        loop {
            match flood.run(2, ceiling, u64::MAX, NEVER) {
                Event::Solved(heads) => return (Some(heads), flood.level),
                Event::Ceiling => return (None, flood.level),
                Event::Budget => {}
            }
        }
    }

    #[test]
    fn sums_are_settled_at_their_least_peak() {
        let mut random = Rng::new(7);
        let mut rare = 0;
        for _ in 0..1000 {
            let problem = sums(&mut random);
            let least = least_peak(&problem);
            for problem in [problem.clone(), problem.reversed()] {
                let instance = Instance::by_releases(problem);
                let (heads, level) = solved(&instance, u64::MAX);
                let order = instance.expand(&heads.unwrap());
                assert!(is_order(&instance.problem, &order));
                assert_eq!((level, walk::peak_of(&instance.problem, &order)), (least, least));
                assert_eq!(solved(&instance, least).0, None);
            }
            // So little patience that all of the machinery is used.
            let rules =
                Rules { patience: 1, beam: false, lazy: false, precedence: false, ..Rules::default() };
            let limits = Limits::default();
            let mut watch = Watch::new(&limits, None);
            let mut engine = Engine::new(&problem, &rules, (1, u64::MAX, u64::MAX), 0, &mut watch);
            assert!(matches!(engine.settle(u64::MAX), Ended::Settled));
            let order = engine.order();
            assert!(is_order(&problem, &order));
            assert_eq!((engine.floor, walk::peak_of(&problem, &order)), (least, least));
            rare += usize::from(are_rare(&problem));
        }
        assert!(rare > 500, "{rare}");
    }
}
