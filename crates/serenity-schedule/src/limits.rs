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
    /// Bytes for the tables of the search.
    pub memory: Option<u64>,
    /// Ends the search at the next look.
    pub cancel: CancelFlag,
}

/// Why a search ended before it had proved its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopReason {
    /// The algorithm does not search: it makes one order and proves nothing beyond the simple bound.
    Heuristic,
    /// [`Limits::time`].
    Time,
    /// [`Limits::memory`].
    Memory,
    /// [`Limits::cancel`].
    Cancelled,
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Heuristic => "the algorithm is a heuristic",
            Self::Time => "the time limit was reached",
            Self::Memory => "the memory limit was reached",
            Self::Cancelled => "it was cancelled",
        })
    }
}

/// Where a search stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The best peak known.
    pub best: u64,
    /// What is proved: no order peaks below this.
    pub bound: u64,
    /// States visited.
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
    work: u64,
    /// The best peak known for the whole problem; shown, not used.
    pub(crate) best: u64,
    /// Proved for the whole problem; shown, not used.
    pub(crate) bound: u64,
    /// States visited so far.
    pub(crate) states: u64,
}

const REPORT_EVERY: Duration = Duration::from_millis(100);

/// Words of memory that may be touched between two looks at the limits: some ten microseconds, and at most half a megabyte
/// of tables.
const LOOK_EVERY: u64 = 1 << 16;

impl<'a> Watch<'a> {
    pub(crate) fn new(limits: &'a Limits, progress: Option<&'a ProgressFn>) -> Self {
        Self {
            limits,
            progress,
            started: Instant::now(),
            next_report: REPORT_EVERY,
            work: 0,
            best: u64::MAX,
            bound: 0,
            states: 0,
        }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Is it time to look at the limits, after touching `words` more words of memory? Work is what is counted, not states: a state may
    /// have thousands of successors, and a step of the search a single state.
    pub(crate) fn time_to_look(&mut self, words: u64) -> bool {
        self.work += words;
        let is_time = self.work >= LOOK_EVERY;
        if is_time {
            self.work = 0;
        }
        is_time
    }

    /// No order of some piece peaks below `bytes`, so none of the whole does.
    pub(crate) fn raise_bound(&mut self, bytes: u64) {
        self.bound = self.bound.max(bytes);
    }

    /// Must the search end, now that its tables take `memory` bytes? Reports progress on the way.
    pub(crate) fn stop(&mut self, memory: u64) -> Option<StopReason> {
        self.report();
        self.limit_reached(memory)
    }

    /// Tells the caller how it stands, if it is time to.
    pub(crate) fn report(&mut self) {
        let elapsed = self.elapsed();
        if let Some(progress) = self.progress
            && elapsed >= self.next_report
        {
            self.next_report = elapsed + REPORT_EVERY;
            progress(&Progress { best: self.best, bound: self.bound, states: self.states, elapsed });
        }
    }

    /// The limit that is reached, if any, by tables of `memory` bytes.
    pub(crate) fn limit_reached(&self, memory: u64) -> Option<StopReason> {
        if self.limits.cancel.is_cancelled() {
            Some(StopReason::Cancelled)
        } else if self.limits.time.is_some_and(|limit| self.elapsed() >= limit) {
            Some(StopReason::Time)
        } else if memory > self.memory_limit() {
            Some(StopReason::Memory)
        } else {
            None
        }
    }

    pub(crate) fn memory_limit(&self) -> u64 {
        self.limits.memory.unwrap_or(u64::MAX)
    }

    /// Says whether time is up or the search was cancelled; for inner loops and other threads.
    pub(crate) fn stopper(&self) -> impl Fn() -> bool + Sync + 'a {
        let (limits, started) = (self.limits, self.started);
        move || limits.cancel.is_cancelled() || limits.time.is_some_and(|limit| started.elapsed() >= limit)
    }
}
