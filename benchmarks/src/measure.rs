//! One search: what it found, and the CPU time it took.

use crate::clock;
use serenity::schedule::{CancelFlag, Limits, Options, Problem, Proof, Schedule, StopReason, schedule};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// For the tables of one search.
const MEMORY_LIMIT: u64 = 8 << 30;
/// How often the clock of a running search is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// A search that takes no longer is repeated so often, and the median counts.
const SHORT: Duration = Duration::from_millis(200);
const REPEATS: usize = 9;

/// What became of one search.
pub(crate) struct Run {
    pub(crate) found: Schedule,
    /// CPU time.
    pub(crate) time: Duration,
    /// The cap was reached.
    was_cut: bool,
}

impl Run {
    pub(crate) fn is_proved(&self) -> bool {
        self.found.proof == Proof::Optimal
    }

    /// Did it end by itself? A search that was cut may still be lucky: what it had until then may just prove its first
    /// order. When, the cap decides, so this is no time to compare with.
    pub(crate) fn has_finished(&self) -> bool {
        self.is_proved() && !self.was_cut
    }

    pub(crate) fn is_out_of_memory(&self) -> bool {
        self.found.proof == Proof::Gap { stopped: StopReason::Memory }
    }

    /// `0.31 ms`, or `> 20 s` if that was not enough.
    pub(crate) fn time_in_words(&self) -> String {
        if self.has_finished() { in_words(self.time) } else { format!("> {}", in_words(self.time)) }
    }
}

/// Searches once or, if that is short, several times for a steadier time.
pub(crate) fn steady(problem: &Problem, options: &Options, cap: Duration) -> Run {
    let first = once(problem, options, cap);
    if first.time > SHORT || !first.has_finished() {
        return first;
    }
    let mut times = vec![first.time];
    times.extend((1..REPEATS).map(|_| once(problem, options, cap).time));
    times.sort_unstable();
    Run { time: times[REPEATS / 2], ..first }
}

/// Searches until it is proved, or for `cap` of CPU time. The limits of the scheduler itself count wall-clock time,
/// which on a busy machine would cut one search shorter than another; so another thread looks at the CPU clock and
/// cancels.
pub(crate) fn once(problem: &Problem, options: &Options, cap: Duration) -> Run {
    let cancel = CancelFlag::default();
    let limits = Limits { memory: Some(MEMORY_LIMIT), cancel: cancel.clone(), ..Limits::default() };
    let options = Options { limits, ..options.clone() };
    let has_ended = AtomicBool::new(false);
    thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let last = clock::process() + cap;
            while !has_ended.load(Ordering::Acquire) {
                if clock::process() >= last {
                    cancel.cancel();
                }
                thread::park_timeout(LOOK_EVERY);
            }
        });
        let started = clock::thread();
        let found = schedule(problem, &options);
        let time = clock::thread().saturating_sub(started);
        has_ended.store(true, Ordering::Release);
        watcher.thread().unpark();
        Run { found, time, was_cut: cancel.is_cancelled() }
    })
}

/// Three digits, and a unit that fits.
pub(crate) fn in_words(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 0.001 {
        format!("{:.0} us", seconds * 1e6)
    } else if seconds < 1.0 {
        format!("{:.1} ms", seconds * 1e3)
    } else {
        format!("{seconds:.1} s")
    }
}
