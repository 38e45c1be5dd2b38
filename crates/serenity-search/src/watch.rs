//! Keeping count on behalf of one search.

use crate::{Limits, StopReason};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Where a search stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The least that was found.
    pub best: u64,
    /// What is proved: nothing needs less than this.
    pub bound: u64,
    /// States visited.
    pub states: u64,
    /// What states are.
    pub of: &'static str,
    /// Time since the start.
    pub elapsed: Duration,
}

/// Called a few times a second while a search runs.
pub type ProgressFn = Arc<dyn Fn(&Progress) + Send + Sync>;

/// Counts work and looks at the clock now and then.
pub struct Watch<'a> {
    limits: &'a Limits,
    progress: Option<&'a ProgressFn>,
    started: Instant,
    next_report: Duration,
    /// Words of memory touched since the last look at the clock.
    touched: u64,
    work: u64,
    /// The best that is known for the whole problem; shown, not used.
    pub best: u64,
    /// Proved for the whole problem; shown, not used.
    pub bound: u64,
    /// States visited so far.
    pub states: u64,
    /// What states are, for those who look.
    pub of: &'static str,
}

const REPORT_EVERY: Duration = Duration::from_millis(100);

/// Words of memory that may be touched between two looks at the clock: a fraction of a millisecond, and at most half a megabyte of tables.
const LOOK_EVERY: u64 = 1 << 16;

impl<'a> Watch<'a> {
    /// A search that begins now.
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

    /// Must the search end, after so much more work? Looks at the clock only now and then.
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

    /// Is it time to look at the limits, after touching `words` more words of memory? A state may have thousands of successors, and a step of
    /// the search a single state, so this is not counted in states.
    pub fn time_to_look(&mut self, words: u64) -> bool {
        self.touched += words;
        let is_time = self.touched >= LOOK_EVERY;
        if is_time {
            self.touched = 0;
        }
        is_time
    }

    /// Nothing needs less than this.
    pub fn raise_bound(&mut self, bytes: u64) {
        self.bound = self.bound.max(bytes);
    }

    /// Must the search end, now that its tables take `memory` bytes? Reports progress on the way.
    pub fn stop(&mut self, memory: u64) -> Option<StopReason> {
        self.report();
        self.limit_reached(memory)
    }

    /// Tells the caller how it stands, if it is time to.
    pub fn report(&mut self) {
        let elapsed = self.elapsed();
        if let Some(progress) = self.progress
            && elapsed >= self.next_report
        {
            self.next_report = elapsed + REPORT_EVERY;
            let &mut Self { best, bound, states, of, .. } = self;
            progress(&Progress { best, bound, states, of, elapsed });
        }
    }

    /// The limit that is reached, if any, by tables of `memory` bytes. Limits that are counted come first, so that what the clock does not
    /// decide is not put down to it.
    pub fn limit_reached(&self, memory: u64) -> Option<StopReason> {
        if self.is_worked_out() {
            Some(StopReason::Work)
        } else if memory > self.memory_limit() {
            Some(StopReason::Memory)
        } else {
            self.limits.interrupted()
        }
    }

    /// Its limits less the work it has done, for a search within it that keeps count by itself.
    pub fn left(&self) -> Limits {
        let work = self.limits.work.map(|limit| limit.saturating_sub(self.work));
        Limits { work, ..self.limits.clone() }
    }

    fn is_worked_out(&self) -> bool {
        self.limits.work.is_some_and(|limit| self.work >= limit)
    }

    /// Bytes that tables may take.
    pub fn memory_limit(&self) -> u64 {
        self.limits.memory.unwrap_or(u64::MAX)
    }

    /// Says whether time is up or the search was cancelled; for inner loops and other threads.
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
