//! Dynamic programming over sets of executed ops: Algorithm 1 of the paper.
//!
//! Step `i` keeps, for every set of `i` ops that can have run first, the least peak at which that set can be reached. The paper's
//! signature of a partial schedule is its zero-indegree set `z`, the ops that can run next. That is the same key: what has
//! not run yet is exactly `z` and everything behind it, so `z` and the executed set determine each other. The executed set is
//! kept because the memory in use follows from it; it is hashed incrementally (one XOR an op).
//!
//! There are at most `2^n` sets, each is extended by at most `n` ops: `O(n * 2^n)` for the whole, far less for real networks, whose
//! precedence leaves few sets.
//!
//! Under a soft budget, partial schedules that exceed it are dropped. Then no complete schedule may remain; the least peak that
//! was dropped is a lower bound for all of them.

use crate::limits::{StopReason, Watch};
use crate::options::StepLimit;
use crate::{Problem, bits};
use hashbrown::HashTable;
use std::time::Instant;

/// How a run ended.
pub(crate) enum Outcome {
    /// The optimum, if it is within the budget.
    Solution { order: Vec<u32>, peak: u64 },
    /// Every order exceeds the budget; none peaks below `at_least`.
    NoSolution { at_least: u64 },
    /// One step cost more than the step limit.
    StepLimit,
    /// A limit of the whole run; no order peaks below `at_least`.
    Stopped { reason: StopReason, at_least: u64 },
}

/// The partial schedules of one step, as columns.
#[derive(Default)]
struct Level {
    hash: Vec<u64>,
    /// `words` words a state.
    done: Vec<u64>,
    /// The zero-indegree sets, likewise.
    ready: Vec<u64>,
    in_use: Vec<u64>,
    peak: Vec<u64>,
    /// The last op of the best partial schedule, and the state before it.
    last: Vec<Link>,
    table: HashTable<u32>,
}

/// One step back along a schedule.
#[derive(Clone, Copy)]
struct Link {
    before: u32,
    op: u32,
}

impl Level {
    fn len(&self) -> usize {
        self.hash.len()
    }

    fn clear(&mut self) {
        self.hash.clear();
        self.done.clear();
        self.ready.clear();
        self.in_use.clear();
        self.peak.clear();
        self.last.clear();
        self.table.clear();
    }

    fn memory(&self) -> u64 {
        let words = self.hash.capacity()
            + self.done.capacity()
            + self.ready.capacity()
            + self.in_use.capacity()
            + self.peak.capacity()
            + self.last.capacity();
        // A slot of the table is an index and a control byte, and a table is at most 7/8 full.
        8 * words as u64 + 6 * self.table.capacity() as u64
    }
}

/// Finds the least peak, looking only at schedules within `budget`.
pub(crate) fn search(
    problem: &Problem,
    budget: u64,
    step_limit: Option<StepLimit>,
    watch: &mut Watch,
) -> Outcome {
    let words = problem.words();
    let keys = hash_keys(problem.ops);
    let mut history: Vec<Vec<Link>> = Vec::with_capacity(problem.len());
    let mut history_memory = 0;
    let mut at_least = crate::bounds::simple(problem);
    let mut least_dropped = u64::MAX;

    let start = problem.at_start();
    if start > budget {
        return Outcome::NoSolution { at_least };
    }
    let mut current = Level::default();
    current.hash.push(0);
    current.done.resize(words, 0);
    current.ready = problem.sources();
    current.in_use.push(start);
    current.peak.push(start);
    let mut next = Level::default();
    let mut done = vec![0; words];

    for _ in 0..problem.len() {
        next.clear();
        let step_started = Instant::now();
        for state in 0..current.len() {
            watch.states += 1;
            if state % 256 == 255 {
                let memory = current.memory() + next.memory() + history_memory;
                if let Some(reason) = watch.stop(memory) {
                    return Outcome::Stopped { reason, at_least };
                }
            }
            if exceeded(step_limit, state, step_started) {
                return Outcome::StepLimit;
            }
            let span = state * words..(state + 1) * words;
            done.copy_from_slice(&current.done[span.clone()]);
            for op in bits::iter(&current.ready[span.clone()]) {
                let during = current.in_use[state] + problem.allocated(&done, op);
                let peak = current.peak[state].max(during);
                if peak > budget {
                    least_dropped = least_dropped.min(peak);
                    continue;
                }
                let link = Link { before: state as u32, op };
                let hash = current.hash[state] ^ keys[op as usize];
                bits::insert(&mut done, op);
                let same = |&other: &u32| {
                    next.hash[other as usize] == hash
                        && next.done[other as usize * words..][..words] == done[..]
                };
                if let Some(&known) = next.table.find(hash, same) {
                    if peak <= next.peak[known as usize] {
                        next.peak[known as usize] = peak;
                        next.last[known as usize] = link;
                    }
                    bits::remove(&mut done, op);
                    continue;
                }
                let id = next.len() as u32;
                next.table.insert_unique(hash, id, |&other| next.hash[other as usize]);
                next.hash.push(hash);
                next.done.extend_from_slice(&done);
                next.ready.extend_from_slice(&current.ready[span.clone()]);
                problem.advance(&done, &mut next.ready[id as usize * words..], op);
                bits::remove(&mut done, op);
                next.in_use.push(during - problem.freed(&done, op));
                next.peak.push(peak);
                next.last.push(link);
            }
        }
        let least = next.peak.iter().copied().min().unwrap_or(u64::MAX);
        at_least = at_least.max(least.min(least_dropped));
        if next.len() == 0 {
            return Outcome::NoSolution { at_least };
        }
        history_memory += 8 * next.last.len() as u64;
        history.push(std::mem::take(&mut next.last));
        std::mem::swap(&mut current, &mut next);
    }
    Outcome::Solution { order: read_back(&history), peak: current.peak[0] }
}

fn exceeded(limit: Option<StepLimit>, states: usize, started: Instant) -> bool {
    match limit {
        None => false,
        Some(StepLimit::States(most)) => states as u64 >= most,
        // Reading the clock costs more than a state.
        Some(StepLimit::Time(most)) => states % 256 == 255 && started.elapsed() > most,
    }
}

fn read_back(history: &[Vec<Link>]) -> Vec<u32> {
    let mut state = 0;
    let mut order: Vec<u32> = history
        .iter()
        .rev()
        .map(|level| {
            let link = level[state as usize];
            state = link.before;
            link.op
        })
        .collect();
    order.reverse();
    order
}

/// One well-mixed word an op (the finaliser of `SplitMix64`), so that the hash of a set is the XOR over its ops.
pub(crate) fn hash_keys(ops: u32) -> Vec<u64> {
    (1..=u64::from(ops))
        .map(|i| {
            let mut x = i.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            x ^ (x >> 31)
        })
        .collect()
}
