//! Counts the work of one search.

use crate::{Instant, Limits, StopReason};
use std::sync::Arc;
use std::time::Duration;

/// The state of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The best result so far.
    pub best: u64,
    /// The lower bound that is proved so far.
    pub bound: u64,
    /// States visited.
    pub states: u64,
    /// What a state is, in words.
    pub of: &'static str,
    /// The stage of a larger search that this search belongs to; empty if there is none. The best of one stage may be
    /// larger than that of the stage before.
    pub stage: &'static str,
    /// Time since the start.
    pub elapsed: Duration,
}

/// Called a few times a second while a search runs.
pub type ProgressFn = Arc<dyn Fn(&Progress) + Send + Sync>;

/// Counts work and checks the clock now and then.
pub struct Watch<'a> {
    limits: &'a Limits,
    progress: Option<&'a ProgressFn>,
    started: Instant,
    next_report: Duration,
    /// Words of memory touched since the last look at the clock.
    touched: u64,
    work: u64,
    /// The best known result for the whole problem; for display only.
    pub best: u64,
    /// The proved bound for the whole problem; for display only.
    pub bound: u64,
    /// States visited so far.
    pub states: u64,
    /// What a state is, in words, for display.
    pub of: &'static str,
}

const REPORT_EVERY: Duration = Duration::from_millis(100);

/// Words of memory that may be touched between two looks at the clock: a fraction of a millisecond, and at most half a
/// megabyte of tables.
const LOOK_EVERY: u64 = 1 << 16;

impl<'a> Watch<'a> {
    /// A watch for a search that begins now.
    pub fn new(limits: &'a Limits, progress: Option<&'a ProgressFn>) -> Self {
        Self {
            limits,
            progress,
            started: Instant::now(),
            next_report: REPORT_EVERY,
            touched: 0,
            work: 0,
            best: u64::MAX,
            bound: 0,
            states: 0,
            of: "states",
        }
    }

    /// Time since it began.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Must the search end, after `work` more work? Checks the clock only now and then.
    pub fn after(&mut self, work: u64) -> Option<StopReason> {
        self.work += work;
        if self.is_worked_out() {
            return Some(StopReason::Work);
        }
        if self.time_to_look(work) { self.stop(0) } else { None }
    }

    /// Counts states, each of which is one unit of work.
    pub fn visit(&mut self, states: u64) {
        self.states += states;
        self.work += states;
    }

    /// Is it time to check the limits, after touching `words` more words of memory? A state may have thousands of
    /// successors, and a step of the search a single state, so this is not counted in states.
    pub fn time_to_look(&mut self, words: u64) -> bool {
        self.touched += words;
        let is_time = self.touched >= LOOK_EVERY;
        if is_time {
            self.touched = 0;
        }
        is_time
    }

    /// Raises the bound to `bytes`, if it is lower.
    pub fn raise_bound(&mut self, bytes: u64) {
        self.bound = self.bound.max(bytes);
    }

    /// Must the search end, now that its tables take `memory` bytes? Reports progress on the way.
    pub fn stop(&mut self, memory: u64) -> Option<StopReason> {
        self.report();
        self.limit_reached(memory)
    }

    /// Reports progress to the caller, if it is time to.
    pub fn report(&mut self) {
        let elapsed = self.elapsed();
        if let Some(progress) = self.progress
            && elapsed >= self.next_report
        {
            self.next_report = elapsed + REPORT_EVERY;
            let &mut Self { best, bound, states, of, .. } = self;
            progress(&Progress { best, bound, states, of, stage: "", elapsed });
        }
    }

    /// The limit that tables of `memory` bytes reach, if any. Counted limits come first, so that the clock is blamed
    /// only if it decides.
    pub fn limit_reached(&self, memory: u64) -> Option<StopReason> {
        if self.is_worked_out() {
            Some(StopReason::Work)
        } else if memory > self.memory_limit() {
            Some(StopReason::Memory)
        } else {
            self.limits.interrupted()
        }
    }

    /// The limits less the work done so far, for an inner search that counts by itself.
    pub fn left(&self) -> Limits {
        let work = self.limits.work.map(|limit| limit.saturating_sub(self.work));
        Limits { work, ..self.limits.clone() }
    }

    fn is_worked_out(&self) -> bool {
        self.limits.work.is_some_and(|limit| self.work >= limit)
    }

    /// The most bytes that tables may take.
    pub fn memory_limit(&self) -> u64 {
        self.limits.memory.unwrap_or(u64::MAX)
    }

    /// A function that tells whether time is up or the search was cancelled; for inner loops and other threads.
    pub fn stopper(&self) -> impl Fn() -> bool + Sync + 'a {
        let limits = self.limits;
        move || limits.are_over()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_counted_to_the_unit() {
        let limits = Limits { work: Some(7), ..Limits::default() };
        let mut watch = Watch::new(&limits, None);
        watch.visit(3);
        assert_eq!(watch.after(3), None);
        assert_eq!(watch.left().work, Some(1));
        assert_eq!(watch.after(1), Some(StopReason::Work));
    }

    #[test]
    fn what_is_counted_comes_before_the_clock() {
        let limits = Limits { work: Some(0), ..Limits::lasting(Duration::ZERO) };
        assert_eq!(Watch::new(&limits, None).stop(0), Some(StopReason::Work));
        let limits = Limits { memory: Some(5), ..Limits::lasting(Duration::ZERO) };
        let mut watch = Watch::new(&limits, None);
        assert_eq!((watch.stop(6), watch.stop(5)), (Some(StopReason::Memory), Some(StopReason::Time)));
    }
}
