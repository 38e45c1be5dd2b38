//! How the peaks of all orders, or of random ones, are distributed.
//!
//! 'A random order' must be defined. [`sample`] draws uniformly among the ready ops at every step, which favours some orders over
//! others; [`count`] weighs every order the same.

use crate::limits::{Limits, StopReason, Watch};
use crate::{Problem, bits, dp};
use hashbrown::HashTable;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::collections::BTreeMap;

/// How many orders reach each peak.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Distribution {
    peaks: BTreeMap<u64, u128>,
    total: u128,
}

/// Why orders could not be counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CountError {
    /// There are 2^128 orders or more.
    #[error("there are more than 2^128 orders")]
    TooMany,
    /// A limit was reached first.
    #[error("counting stopped: {0}")]
    Stopped(StopReason),
}

impl Distribution {
    fn new(peaks: BTreeMap<u64, u128>) -> Self {
        let total = peaks.values().sum();
        Self { peaks, total }
    }

    /// How many orders there are in all.
    pub fn total(&self) -> u128 {
        self.total
    }

    /// Every peak that occurs, ascending, and how many orders have it.
    pub fn peaks(&self) -> impl Iterator<Item = (u64, u128)> {
        self.peaks.iter().map(|(&peak, &orders)| (peak, orders))
    }

    /// How many orders peak at or below `bytes`.
    pub fn within(&self, bytes: u64) -> u128 {
        self.peaks.range(..=bytes).map(|(_, orders)| orders).sum()
    }

    /// The share of orders that peak at or below `bytes`.
    pub fn share_within(&self, bytes: u64) -> f64 {
        if self.total == 0 { 0.0 } else { self.within(bytes) as f64 / self.total as f64 }
    }

    /// The least peak such that a share of at least `q` (0 to 1) of the orders does not exceed it; `None` if there are no orders.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        let wanted = q.clamp(0.0, 1.0) * self.total as f64;
        let mut seen = 0_u128;
        for (&peak, &orders) in &self.peaks {
            seen += orders;
            if seen as f64 >= wanted {
                return Some(peak);
            }
        }
        self.peaks.last_key_value().map(|(&peak, _)| peak)
    }
}

/// Draws `count` orders, each by picking uniformly among the ready ops at every step. The same seed gives the same orders on every
/// machine. If a limit ends it early, the orders drawn until then are returned with the reason.
pub fn sample(
    problem: &Problem,
    count: u64,
    seed: u64,
    limits: &Limits,
) -> (Distribution, Option<StopReason>) {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut watch = Watch::new(limits, None);
    let mut peaks = BTreeMap::new();
    for drawn in 0..count {
        if drawn % 64 == 63
            && let Some(reason) = watch.stop(0)
        {
            return (Distribution::new(peaks), Some(reason));
        }
        *peaks.entry(random_peak(problem, &mut random)).or_insert(0) += 1;
    }
    (Distribution::new(peaks), None)
}

fn random_peak(problem: &Problem, random: &mut Pcg64Mcg) -> u64 {
    let mut done = vec![0; problem.words()];
    let mut waits_for: Vec<u32> = problem.predecessors.iter().map(|p| p.len() as u32).collect();
    let mut ready: Vec<u32> = bits::iter(&problem.sources()).collect();
    let mut in_use = problem.at_start();
    let mut peak = in_use;
    while !ready.is_empty() {
        let op = ready.swap_remove(random.random_range(0..ready.len() as u32) as usize);
        let during = in_use + problem.allocated(&done, op);
        in_use = during - problem.freed(&done, op);
        peak = peak.max(during);
        bits::insert(&mut done, op);
        for &s in &problem.successors[op as usize] {
            waits_for[s as usize] -= 1;
            if waits_for[s as usize] == 0 {
                ready.push(s);
            }
        }
    }
    peak
}

/// The sets of executed ops of one size; each with how many orders reach it at which peak.
#[derive(Default)]
struct Level {
    hash: Vec<u64>,
    done: Vec<Vec<u64>>,
    ready: Vec<Vec<u64>>,
    in_use: Vec<u64>,
    orders: Vec<BTreeMap<u64, u128>>,
    table: HashTable<u32>,
}

/// Counts all orders by peak, exactly, by dynamic programming over sets of executed ops.
///
/// # Errors
/// If there are too many orders, or too many sets for the limits.
pub fn count(problem: &Problem, limits: &Limits) -> Result<Distribution, CountError> {
    let keys = dp::hash_keys(problem.ops);
    let mut watch = Watch::new(limits, None);
    let start = problem.at_start();
    let mut level = Level {
        hash: vec![0],
        done: vec![vec![0; problem.words()]],
        ready: vec![problem.sources()],
        in_use: vec![start],
        orders: vec![BTreeMap::from([(start, 1)])],
        table: HashTable::new(),
    };
    for _ in 0..problem.len() {
        let mut next = Level::default();
        let mut entries = 0_u64;
        for state in 0..level.hash.len() {
            // A set costs its two bit sets and bookkeeping; a peak in a map about 48 bytes.
            let memory = next.hash.len() as u64 * (16 * problem.words() as u64 + 128) + 48 * entries;
            if state % 64 == 63
                && let Some(reason) = watch.stop(2 * memory)
            {
                return Err(CountError::Stopped(reason));
            }
            for op in bits::iter(&level.ready[state]) {
                let during = level.in_use[state] + problem.allocated(&level.done[state], op);
                let to = next.reach(problem, &level, state, op, keys[op as usize], during);
                for (&peak, &orders) in &level.orders[state] {
                    let sum = next.orders[to].entry(peak.max(during)).or_insert_with(|| {
                        entries += 1;
                        0
                    });
                    *sum = sum.checked_add(orders).ok_or(CountError::TooMany)?;
                }
            }
        }
        level = next;
    }
    let peaks = level.orders.swap_remove(0);
    peaks.values().try_fold(0_u128, |sum, &orders| sum.checked_add(orders)).ok_or(CountError::TooMany)?;
    Ok(Distribution::new(peaks))
}

impl Level {
    /// The state of running `op` after state `from` of the level before, new or known.
    fn reach(
        &mut self,
        problem: &Problem,
        before: &Self,
        from: usize,
        op: u32,
        key: u64,
        during: u64,
    ) -> usize {
        let hash = before.hash[from] ^ key;
        let mut done = before.done[from].clone();
        bits::insert(&mut done, op);
        if let Some(&known) = self.table.find(hash, |&other| self.done[other as usize] == done) {
            return known as usize;
        }
        let id = self.hash.len();
        self.table.insert_unique(hash, id as u32, |&other| self.hash[other as usize]);
        let mut ready = before.ready[from].clone();
        problem.advance(&done, &mut ready, op);
        self.hash.push(hash);
        self.done.push(done);
        self.ready.push(ready);
        self.in_use.push(during - problem.freed(&before.done[from], op));
        self.orders.push(BTreeMap::new());
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Buffer, OpIndex};

    /// Three ops that wait for nothing, with results of 1, 2 and 4 bytes that are kept.
    fn antichain() -> Problem {
        let keep = |i: u32| Buffer::produced(1 << i, OpIndex(i), []).kept();
        Problem::new(3, (0..3).map(keep).collect(), []).unwrap()
    }

    #[test]
    fn counting_and_sampling_agree_on_what_there_is() {
        let all = count(&antichain(), &Limits::default()).unwrap();
        assert_eq!((all.total(), all.within(7), all.within(6)), (6, 6, 0));
        let (drawn, stopped) = sample(&antichain(), 100, 1, &Limits::default());
        assert_eq!((drawn.total(), drawn.quantile(0.5), stopped), (100, Some(7), None));
    }

    #[test]
    fn orders_beyond_128_bits_are_refused() {
        let wide = Problem::new(40, Vec::new(), []).unwrap();
        let limits = Limits { memory: Some(1 << 20), ..Limits::default() };
        assert_eq!(count(&wide, &limits), Err(CountError::Stopped(StopReason::Memory)));
    }

    #[test]
    fn the_quantile_of_one_is_the_largest_and_of_zero_the_smallest() {
        let d = Distribution::new(BTreeMap::from([(3, 1), (5, 2), (9, 1)]));
        assert_eq!([0.0, 0.25, 0.5, 0.75, 1.0].map(|q| d.quantile(q)), [3, 3, 5, 5, 9].map(Some));
        assert!((d.share_within(5) - 0.75).abs() < 1e-12);
    }
}
