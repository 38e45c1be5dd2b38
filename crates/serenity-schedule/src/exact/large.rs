//! Problems too large to store, for every op, all ops before and after it.
//!
//! The engine keeps sets of ops for every op: memory that grows with the square of the problem. But a network of a
//! hundred thousand ops is no harder than one of a thousand, only longer. So it is cut at waypoints that a look around
//! them shows ([`nearby`]), along an order that a sliding beam finds ([`sliding`]); both take memory linear in the ops.
//! The parts between are ordinary problems, and the optimum of the whole is the largest of theirs: those whose best
//! order does not exceed what is proved for another need no search, and the others go through all of the engine, in
//! rounds of growing effort.
//!
//! Parts of a round are searched in batches, each from what was proved before the batch: so threads share them, and the
//! answer does not depend on how many there are.
//!
//! What has no waypoints for thousands of ops stays one part. Up to [`LARGEST_PART`] ops it is the engine's; beyond
//! that its order is improved around its peak alone ([`peaks`](super::peaks)), and its bound is that of cuts.

use super::part::{self, Part};
use super::{cut_bound, fixed_memory, nearby, peaks, search_from, sliding};
use crate::answer::Answer;
use crate::{Options, Problem, bounds, divide, heuristic, walk};
use serenity_search::{StopReason, Watch};
use std::cmp::Reverse;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The engine takes a problem of at most this many ops as a whole.
pub(crate) const LARGEST_WHOLE: usize = 4096;

/// The engine takes a part without waypoints of at most this many ops as a whole.
const LARGEST_PART: usize = 16_384;

/// Parts of fewer ops than this are not worth being told apart: the engine finds their waypoints again.
const SMALLEST_PART: usize = 64;

/// Widths of the sliding beam.
const WIDTHS: [usize; 2] = [1, 8];

/// Ops that one thread takes at a time where an order is gone through.
const STRETCH: usize = 16_384;

/// Minimum cuts over a problem as a whole.
const CUTS_OF_THE_WHOLE: usize = 16;

/// States for each part, round by round.
const ROUNDS: [u64; 3] = [1 << 14, 1 << 18, u64::MAX];

/// Parts that are searched from what was proved before all of them.
const BATCH: usize = 8;

/// Finds the order of least peak, and proves it unless a limit ends the search first.
pub(super) fn search(problem: &Problem, options: &Options, watch: &mut Watch) -> Answer {
    let rules = &options.rules;
    let stop = watch.stopper();
    let (mut order, mut upper) = heuristic::best(problem);
    let mut floor = bounds::simple(problem);
    if rules.beam {
        for width in WIDTHS {
            if upper <= floor {
                break;
            }
            let Some(other) = sliding::order(problem, &order, width, (floor, rules.lazy), &stop) else {
                break;
            };
            let peak = walk::peak_of(problem, &other);
            if peak < upper {
                (order, upper) = (other, peak);
            }
        }
    }
    if rules.cut_bound {
        floor = cut_bound::raise_up_to(problem, &order, floor, (upper, CUTS_OF_THE_WHOLE), &stop);
    }
    let groups = if rules.local_waypoints && upper > floor {
        groups(problem, &order, options.threads, &stop)
    } else {
        vec![order]
    };
    let names: Vec<u32> = (0..problem.ops).collect();
    let parts = part::of_groups(problem, &groups, &names);
    let sizes = parts.iter().map(|part| part.problem.len()).collect();
    let mut large = Large { parts, floor, options, watch };
    let stopped = large.settle();
    let order = large.parts.iter().flat_map(Part::named_order).collect();
    Answer { order, at_least: large.floor, stopped, sizes, refutation: Vec::new() }
}

/// The ops of `order` between waypoints.
fn groups(
    problem: &Problem,
    order: &[u32],
    threads: usize,
    stop: &(dyn Fn() -> bool + Sync),
) -> Vec<Vec<u32>> {
    // Every order runs through the pieces between cut nodes one after the other.
    let mut ends: Vec<usize> = divide::pieces(problem)
        .iter()
        .scan(0, |end, piece| {
            *end += piece.len();
            Some(*end)
        })
        .collect();
    let near = shared(order.len().div_ceil(STRETCH), threads, |i| {
        nearby::prefixes(problem, order, i * STRETCH + 1..(i + 1) * STRETCH + 1, stop)
    });
    ends.extend(near.concat());
    ends.sort_unstable();
    let mut groups = Vec::new();
    let mut start = 0;
    for end in ends {
        if end - start >= SMALLEST_PART {
            groups.push(order[start..end].to_vec());
            start = end;
        }
    }
    if start < order.len() {
        groups.push(order[start..].to_vec());
    }
    groups
}

/// The parts of the whole, and the bound that holds for it.
struct Large<'a, 'w> {
    parts: Vec<Part>,
    /// No order of the whole peaks below this.
    floor: u64,
    options: &'a Options,
    watch: &'a mut Watch<'w>,
}

impl Large<'_, '_> {
    /// Searches the parts until none matters; why, if it ends before that.
    fn settle(&mut self) -> Option<StopReason> {
        self.bound_by_cuts();
        for states in ROUNDS {
            let open = self.open();
            // The last round is for those that the threads have to share.
            let is_last = states == u64::MAX;
            for batch in open.chunks(if is_last { 1 } else { BATCH }) {
                self.report();
                if self.floor >= self.options.wanted_below.unwrap_or(u64::MAX) {
                    return Some(StopReason::Capacity);
                }
                if let Some(reason) = self.watch.limit_reached(0) {
                    return Some(reason);
                }
                // What was proved of the last batch may settle some.
                let batch: Vec<usize> =
                    batch.iter().copied().filter(|&i| self.parts[i].upper > self.floor).collect();
                let stopped = self.search(&batch, states);
                if is_last && stopped.is_some() {
                    return stopped;
                }
            }
        }
        (!self.open().is_empty()).then_some(StopReason::Heuristic)
    }

    /// The parts that matter, the worst first.
    fn open(&self) -> Vec<usize> {
        let mut open: Vec<usize> =
            (0..self.parts.len()).filter(|&i| self.parts[i].upper > self.floor).collect();
        open.sort_by_key(|&i| (Reverse(self.parts[i].upper), i));
        open
    }

    fn report(&mut self) {
        let best = self.parts.iter().map(|part| part.upper).max().unwrap_or(0).max(self.floor);
        (self.watch.best, self.watch.bound) = (best, self.floor);
        self.watch.report();
    }

    /// Bound L1 of the parts, the worst first.
    fn bound_by_cuts(&mut self) {
        let stop = self.watch.stopper();
        for i in self.open() {
            let part = &mut self.parts[i];
            if part.problem.len() <= LARGEST_PART {
                part.bound_by_cuts(self.floor, &self.options.rules, &stop);
                self.floor = self.floor.max(part.lower);
            }
        }
    }

    /// Searches some parts, with so many states for each. Why the last of them ended early, if it did.
    fn search(&mut self, batch: &[usize], states: u64) -> Option<StopReason> {
        let threads = self.options.threads.max(1);
        let shares = batch.len().max(1) as u64;
        let limits = self.watch.left();
        let work = limits.work.map_or(states, |left| states.min(left / shares));
        let limits = limits.working(work).holding(self.watch.memory_limit() / shares.min(threads as u64));
        let options = Options {
            threads: if batch.len() > 1 { 1 } else { threads },
            progress: None,
            limits,
            ..self.options.clone()
        };
        let (parts, floor) = (&self.parts, self.floor);
        let answers = shared(batch.len(), threads, |i| {
            let part = &parts[batch[i]];
            let mut watch = Watch::new(&options.limits, None);
            let memory = fixed_memory(&part.problem);
            let found = if part.problem.len() <= LARGEST_PART && memory <= watch.memory_limit() / 2 {
                search_from(&part.problem, (part.order.clone(), floor), &options, &mut watch)
            } else {
                peaks::lower(&part.problem, (part.order.clone(), floor), &options, &mut watch)
            };
            (found, watch.states)
        });
        let mut stopped = None;
        for (&i, (found, visited)) in batch.iter().zip(answers) {
            self.watch.visit(visited);
            self.parts[i].offer(found.order);
            self.floor = self.floor.max(found.at_least);
            stopped = found.stopped;
        }
        stopped
    }
}

/// What `work` makes of `0..count`, shared by so many threads.
fn shared<T: Send>(count: usize, threads: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    if threads.min(count) <= 1 {
        return (0..count).map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut made = Vec::new();
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            if i >= count {
                return made;
            }
            made.push((i, work(i)));
        }
    };
    let mut made: Vec<(usize, T)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.min(count)).map(|_| scope.spawn(worker)).collect();
        let join = |worker: std::thread::ScopedJoinHandle<'_, Vec<(usize, T)>>| {
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        workers.into_iter().flat_map(join).collect()
    });
    made.sort_by_key(|&(i, _)| i);
    made.into_iter().map(|(_, made)| made).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{is_order, layers, least_peak, problems, side_by_side};
    use super::*;
    use serenity_search::Limits;

    fn found(problem: &Problem, options: &Options) -> (Answer, u64) {
        let limits = Limits::default();
        let mut watch = Watch::new(&limits, None);
        let found = search(problem, options, &mut watch);
        (found, watch.states)
    }

    #[test]
    fn small_problems_are_settled_at_the_least_peak() {
        let mut small = problems().peekable();
        while let Some(problem) = small.next() {
            let next = small.peek().filter(|next| next.len() + problem.len() < 10);
            let problem = next.map_or(problem.clone(), |next| side_by_side(&problem, next));
            let (answer, _) = found(&problem, &Options::default());
            assert!(is_order(&problem, &answer.order));
            let least = least_peak(&problem);
            let peak = walk::peak_of(&problem, &answer.order);
            assert_eq!((peak, answer.at_least, answer.stopped), (least, least, None));
        }
    }

    #[test]
    fn the_answer_does_not_depend_on_threads() {
        assert_eq!(shared(100, 3, |i| i * i), (0..100).map(|i| i * i).collect::<Vec<_>>());
        let mut parts = 0;
        for seed in 0..8 {
            let problem = layers(600, 5, seed);
            let told = [1, 2, 8].map(|threads| {
                let (answer, states) = found(&problem, &Options { threads, ..Options::default() });
                (answer.order, answer.at_least, answer.sizes, states)
            });
            parts += told[0].2.len();
            assert!(told[1..].iter().all(|other| *other == told[0]), "{seed}");
        }
        assert!(parts > 16, "{parts}");
    }

    #[test]
    fn as_good_as_the_engine_on_the_whole() {
        for seed in 0..6 {
            let problem = layers(500, 6, seed);
            let (answer, _) = found(&problem, &Options::default());
            let limits = Limits::default();
            let whole = super::super::search(&problem, &Options::default(), &mut Watch::new(&limits, None));
            let peaks = [&answer, &whole].map(|answer| walk::peak_of(&problem, &answer.order));
            assert_eq!((peaks[0], answer.at_least, answer.stopped), (peaks[1], peaks[1], None), "{seed}");
        }
    }
}
