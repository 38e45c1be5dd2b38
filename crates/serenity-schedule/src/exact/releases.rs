//! **Rule R11, releases.**
//!
//! *Let the ops from `X` to the end run in some order within the limit. Let `e` be the first of them that lets a buffer go, and
//! `b` such a buffer. Then one may first run the readers of `b` that have not run and all that they depend on, and then go
//! on within the limit.*
//!
//! Proof. Let `P` be the ops up to `e`, and `N` those of them that are readers of `b` or that readers of `b` depend on: all
//! such ops that had not run, as `e` lets `b` go. Run `N` in the order that they had, then the others of `P` in theirs. Each set on the
//! way has no more in use than `f(X)` and all that the ops of `P` bring to life, which is in use while `e` runs, because no
//! op before it lets anything go. Afterwards the same ops have run as before. ∎
//!
//! So a search need only go from `X` to the sets `X ∪ N`, one for each buffer. If the `N` of another buffer is a part of it, an op
//! before the last one lets that buffer go, so only the least sets are needed. In a least set only the last op, whichever
//! that is, lets anything go: the set costs the same in each order. Ops that free nothing by themselves, as most do that add
//! to a sum, are not tried one by one.

use super::closure::{Closure, Rows};
use super::instance::State;
use crate::{Problem, bits};

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
