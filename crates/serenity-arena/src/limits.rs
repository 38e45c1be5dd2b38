//! When a search must end, and how it tells what it has found so far.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Ends a search from outside: from a signal handler, or another thread.
#[derive(Clone, Debug, Default)]
pub struct CancelFlag(Arc<AtomicBool>);

impl CancelFlag {
    /// Asks every search that holds this flag to end.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Has somebody asked?
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// How much a search may spend.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// Wall-clock time.
    pub time: Option<Duration>,
    /// Bytes for the tables of the search; at most 1 GiB, with or without this limit.
    pub memory: Option<u64>,
    /// Buffers looked at, some ten million a second. Unlike time, this ends the same search at the same point on every machine.
    pub work: Option<u64>,
    /// Ends the search at the next look.
    pub cancel: CancelFlag,
}

/// Why a search ended before it had proved its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopReason {
    /// The planner does not search: it makes one placement and proves nothing beyond the simple bound.
    Heuristic,
    /// [`Options::capacity`](crate::Options::capacity) was met, or was proved to be out of reach.
    Capacity,
    /// [`Limits::time`].
    Time,
    /// [`Limits::memory`].
    Memory,
    /// [`Limits::work`].
    Work,
    /// [`Limits::cancel`].
    Cancelled,
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Heuristic => "the planner is a heuristic",
            Self::Capacity => "it is settled whether the capacity can be met",
            Self::Time => "the time limit was reached",
            Self::Memory => "the memory limit was reached",
            Self::Work => "the limit on its work was reached",
            Self::Cancelled => "it was cancelled",
        })
    }
}

/// Where a search stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The lowest height found.
    pub best: u64,
    /// What is proved: no placement is lower than this.
    pub bound: u64,
    /// Partial placements visited.
    pub states: u64,
    /// Time since the start.
    pub elapsed: Duration,
}

/// Called a few times a second while a search runs.
pub type ProgressFn = Arc<dyn Fn(&Progress) + Send + Sync>;

/// Looks at the clock now and then on behalf of one run.
pub(crate) struct Watch<'a> {
    limits: &'a Limits,
    progress: Option<&'a ProgressFn>,
    started: Instant,
    next_report: Duration,
    /// Buffers looked at since the last look at the clock, and before.
    work: u64,
    work_before: u64,
    /// The lowest height found; shown, not used.
    pub(crate) best: u64,
    /// Proved so far; shown, not used.
    pub(crate) bound: u64,
    /// Partial placements visited so far.
    pub(crate) states: u64,
}

const REPORT_EVERY: Duration = Duration::from_millis(100);

/// Buffers that may be looked at between two looks at the clock: a fraction of a millisecond.
const LOOK_EVERY: u64 = 1 << 15;

impl<'a> Watch<'a> {
    pub(crate) fn new(limits: &'a Limits, progress: Option<&'a ProgressFn>) -> Self {
        let started = Instant::now();
        let next_report = REPORT_EVERY;
        Self {
            limits,
            progress,
            started,
            next_report,
            work: 0,
            work_before: 0,
            best: u64::MAX,
            bound: 0,
            states: 0,
        }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Must the search end, after looking at so many more buffers? Looks at the clock only now and then.
    pub(crate) fn after(&mut self, buffers: usize) -> Option<StopReason> {
        self.work += buffers as u64;
        if self.work < LOOK_EVERY {
            return None;
        }
        self.work_before += std::mem::take(&mut self.work);
        self.look()
    }

    /// Must the search end? Reports progress on the way.
    pub(crate) fn look(&mut self) -> Option<StopReason> {
        let elapsed = self.elapsed();
        if let Some(progress) = self.progress
            && elapsed >= self.next_report
        {
            self.next_report = elapsed + REPORT_EVERY;
            progress(&Progress { best: self.best, bound: self.bound, states: self.states, elapsed });
        }
        if self.limits.cancel.is_cancelled() {
            Some(StopReason::Cancelled)
        } else if self.limits.time.is_some_and(|limit| elapsed >= limit) {
            Some(StopReason::Time)
        } else if self.limits.work.is_some_and(|limit| self.work_before >= limit) {
            Some(StopReason::Work)
        } else {
            None
        }
    }

    pub(crate) fn memory_limit(&self) -> u64 {
        self.limits.memory.unwrap_or(u64::MAX)
    }
}
