//! How the peaks of all orders, or of random ones, are distributed.
//!
//! 'A random order' must be defined. [`sample`] draws uniformly among the ready ops at every step, which favours some orders over
//! others; [`count`] weighs every order the same.

use crate::rng::{Rng, hash_keys};
use crate::set_table::{Move, SetTable};
use crate::walk::{Waiting, Walk};
use crate::{Problem, bits, bounds};
use serenity_search::{Limits, ProgressFn, StopReason, Watch};
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

    /// The number of orders.
    pub fn total(&self) -> u128 {
        self.total
    }

    /// Every peak that occurs, ascending, with the number of orders that have it.
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

    /// The least peak that at least a share `q` (0 to 1) of the orders does not exceed; `None` if there are no orders.
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

/// Draws `count` orders, each by picking uniformly among the ready ops at every step. Equal seeds give equal orders on
/// every machine. If a limit ends it early, the orders drawn until then are returned with the reason.
///
/// `progress` receives the best peak drawn and, as states, the number of orders.
pub fn sample(
    problem: &Problem,
    count: u64,
    seed: u64,
    limits: &Limits,
    progress: Option<&ProgressFn>,
) -> (Distribution, Option<StopReason>) {
    let mut random = Rng::new(seed);
    let mut watch = Watch::new(limits, progress);
    watch.bound = bounds::simple(problem);
    let mut peaks = BTreeMap::new();
    let start = (Walk::new(problem), Waiting::new(problem));
    for _ in 0..count {
        // An op and a buffer are a few words each, and an edge is one.
        let work = 8 * (problem.len() + problem.buffers.len()) as u64;
        if watch.time_to_look(work)
            && let Some(reason) = watch.stop(0)
        {
            return (Distribution::new(peaks), Some(reason));
        }
        let peak = random_peak(problem, start.clone(), &mut random);
        watch.best = watch.best.min(peak);
        watch.visit(1);
        *peaks.entry(peak).or_insert(0) += 1;
    }
    (Distribution::new(peaks), None)
}

fn random_peak(problem: &Problem, (mut walk, mut waiting): (Walk, Waiting), random: &mut Rng) -> u64 {
    let mut ready: Vec<u32> = waiting.ready().collect();
    let mut peak = problem.at_start();
    while !ready.is_empty() {
        let op = ready.swap_remove(random.below(ready.len() as u64) as usize);
        peak = peak.max(walk.run(op).during);
        waiting.run(problem, op, |next| ready.push(next));
    }
    peak
}

/// How many orders reach each peak, ascending by peak.
type Counts = Vec<(u64, u128)>;

/// The sets of executed ops of one size, each with how many orders reach it at which peak.
struct Level {
    sets: SetTable,
    orders: Vec<Counts>,
    /// Bytes taken by `orders`.
    orders_memory: u64,
}

impl Level {
    fn new(sets: SetTable) -> Self {
        Self { sets, orders: Vec::new(), orders_memory: 0 }
    }

    fn memory(&self) -> u64 {
        self.sets.memory() + self.orders_memory
    }

    /// Adds the orders of `more`, continued by a step that needs `during`, to those of set `set`. `None` if there are
    /// 2^128 or more.
    fn add(&mut self, set: usize, more: &[(u64, u128)], during: u64, merged: &mut Counts) -> Option<()> {
        /// A list beside the entries it holds: its place in the column, and what the allocator keeps for it.
        const LIST: usize = size_of::<Counts>() + 16;
        let bytes = |counts: &Counts| (LIST + counts.capacity() * size_of::<(u64, u128)>()) as u64;
        if set == self.orders.len() {
            self.orders.push(Counts::new());
        } else {
            self.orders_memory -= bytes(&self.orders[set]);
        }
        merged.clear();
        let counts = &mut self.orders[set];
        let mut known = counts.iter().copied().peekable();
        for &(peak, orders) in more {
            let peak = peak.max(during);
            while let Some(before) = known.next_if(|&(p, _)| p <= peak) {
                push(merged, before)?;
            }
            push(merged, (peak, orders))?;
        }
        known.try_for_each(|rest| push(merged, rest))?;
        counts.clear();
        counts.extend_from_slice(merged);
        self.orders_memory += bytes(counts);
        Some(())
    }
}

/// Appends to an ascending list, adding up equal peaks.
fn push(counts: &mut Counts, (peak, orders): (u64, u128)) -> Option<()> {
    match counts.last_mut() {
        Some((last, sum)) if *last == peak => *sum = sum.checked_add(orders)?,
        _ => counts.push((peak, orders)),
    }
    Some(())
}

/// Counts all orders by peak, exactly, by dynamic programming over sets of executed ops.
///
/// `progress` hears how many sets were visited, as states; a best peak is not known before the end.
///
/// # Errors
/// If there are too many orders, or too many sets for the limits.
pub fn count(
    problem: &Problem,
    limits: &Limits,
    progress: Option<&ProgressFn>,
) -> Result<Distribution, CountError> {
    let keys = hash_keys(problem.ops);
    let mut watch = Watch::new(limits, progress);
    let mut level = Level::new(SetTable::start(problem));
    level.orders.push(vec![(problem.at_start(), 1)]);
    let mut merged = Counts::new();
    for _ in 0..problem.len() {
        let mut next = Level::new(SetTable::new(problem));
        for from in 0..level.sets.len() {
            watch.visit(1);
            let orders = &level.orders[from];
            let work = 2 * problem.words() as u64 + 16 + 4 * orders.len() as u64;
            for op in bits::iter(level.sets.ready(from)) {
                if watch.time_to_look(work)
                    && let Some(reason) = watch.stop(level.memory() + next.memory())
                {
                    return Err(CountError::Stopped(reason));
                }
                let during = level.sets.in_use(from) + problem.allocated(level.sets.done(from), op);
                let step = Move { from, op, key: keys[op as usize], during };
                let (set, _) = next.sets.reach(problem, &level.sets, step);
                next.add(set, orders, during, &mut merged).ok_or(CountError::TooMany)?;
            }
        }
        level = next;
    }
    let counts = level.orders.swap_remove(0);
    counts.iter().try_fold(0_u128, |sum, &(_, orders)| sum.checked_add(orders)).ok_or(CountError::TooMany)?;
    Ok(Distribution::new(counts.into_iter().collect()))
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
        let all = count(&antichain(), &Limits::default(), None).unwrap();
        assert_eq!((all.total(), all.within(7), all.within(6)), (6, 6, 0));
        let (drawn, stopped) = sample(&antichain(), 100, 1, &Limits::default(), None);
        assert_eq!((drawn.total(), drawn.quantile(0.5), stopped), (100, Some(7), None));
    }

    /// `stages` times `width` ops that wait only for the one op between them and the stage before.
    fn hourglass(stages: u32, width: u32) -> Problem {
        let waist = |stage: u32| OpIndex(stage * (width + 1));
        let edges = (0..stages).flat_map(|stage| {
            (1..=width).flat_map(move |i| {
                let op = OpIndex(waist(stage).0 + i);
                [(waist(stage), op), (op, waist(stage + 1))]
            })
        });
        Problem::new(stages * (width + 1) + 1, Vec::new(), edges).unwrap()
    }

    #[test]
    fn orders_beyond_128_bits_are_refused() {
        // 8! to the eighth is below 2^128, to the ninth it is above.
        let all = count(&hourglass(8, 8), &Limits::default(), None).unwrap();
        assert_eq!(all.total(), 40_320_u128.pow(8));
        assert_eq!(count(&hourglass(9, 8), &Limits::default(), None), Err(CountError::TooMany));
    }

    #[test]
    fn limits_are_looked_at_in_wide_and_in_narrow_levels() {
        let wide = Problem::new(2000, Vec::new(), []).unwrap();
        let limits = Limits { memory: Some(1 << 20), ..Limits::default() };
        assert_eq!(count(&wide, &limits, None), Err(CountError::Stopped(StopReason::Memory)));
        let narrow = Problem::new(5000, Vec::new(), (1..5000).map(|i| (OpIndex(i - 1), OpIndex(i)))).unwrap();
        let limits = Limits::lasting(std::time::Duration::ZERO);
        assert_eq!(count(&narrow, &limits, None), Err(CountError::Stopped(StopReason::Time)));
    }

    #[test]
    fn the_quantile_of_one_is_the_largest_and_of_zero_the_smallest() {
        let d = Distribution::new(BTreeMap::from([(3, 1), (5, 2), (9, 1)]));
        assert_eq!([0.0, 0.25, 0.5, 0.75, 1.0].map(|q| d.quantile(q)), [3, 3, 5, 5, 9].map(Some));
        assert!((d.share_within(5) - 0.75).abs() < 1e-12);
    }
}
