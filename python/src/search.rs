//! Runs searches without holding the interpreter, and keeps an ear open for whoever waits.
//!
//! The search runs in threads of its own; the thread that called waits, a tick at a time. Between two ticks it looks
//! for Ctrl-C and calls the callback, so that Python code only ever runs in the thread that called. Nothing outlives
//! the call: a process may fork before and after.

use crate::errors::Failure;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use serenity::search::{CancelFlag, Progress, ProgressFn};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// How long Ctrl-C may go unnoticed.
const TICK: Duration = Duration::from_millis(50);

/// The main thread of a program has as much; searches were never run with less.
const STACK: usize = 8 << 20;

/// What the threads tell the one that waits.
struct News<R> {
    latest: Option<R>,
    running: usize,
}

/// Where threads leave their news.
pub(crate) struct Board<R> {
    news: Mutex<News<R>>,
    changed: Condvar,
}

impl<R> Board<R> {
    /// Only the latest news counts.
    pub(crate) fn report(&self, latest: R) {
        self.news().latest = Some(latest);
    }

    fn news(&self) -> MutexGuard<'_, News<R>> {
        // Whoever panicked has not left it half changed.
        self.news.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits a tick, or until nobody runs any more. Returns what is new, and whether all are done.
    fn wait(&self) -> (Option<R>, bool) {
        let waited = self.changed.wait_timeout_while(self.news(), TICK, |news| news.running > 0);
        let mut news = waited.unwrap_or_else(PoisonError::into_inner).0;
        (news.latest.take(), news.running == 0)
    }
}

/// Counts a thread out, also if it panics.
struct Leaving<'a, R>(&'a Board<R>);

impl<R> Drop for Leaving<'_, R> {
    fn drop(&mut self) {
        self.0.news().running -= 1;
        self.0.changed.notify_all();
    }
}

/// Runs `work` in so many threads. What it reported last is handed to `tell` now and then. Ctrl-C raises the flag, and
/// the work ends with the best so far; so does an exception in `tell`, which is then raised.
pub(crate) fn run_in<R: Send, T: Send>(
    py: Python<'_>,
    threads: usize,
    cancel: &CancelFlag,
    work: impl Fn(&Arc<Board<R>>) -> T + Sync,
    mut tell: impl FnMut(R) -> PyResult<()>,
) -> PyResult<Vec<T>> {
    let news = Mutex::new(News { latest: None, running: threads });
    let board = Arc::new(Board { news, changed: Condvar::new() });
    let mut raised = None;
    let results: Result<Vec<T>, Failure> = thread::scope(|scope| {
        let begin = |_| {
            let run = || {
                let _leaving = Leaving(&board);
                work(&board)
            };
            let handle = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, run);
            handle.inspect_err(|_| drop(Leaving(&board)))
        };
        let handles: Vec<_> = (0..threads).map(begin).collect();
        loop {
            let (latest, is_done) = py.detach(|| board.wait());
            let heard = py.check_signals().and_then(|()| latest.map_or(Ok(()), &mut tell));
            if let Err(error) = heard {
                cancel.cancel();
                // Whoever presses Ctrl-C wants the best so far, not to lose it.
                if !error.is_instance_of::<PyKeyboardInterrupt>(py) {
                    raised.get_or_insert(error);
                }
            }
            if is_done {
                break;
            }
        }
        let join = |handle: std::io::Result<thread::ScopedJoinHandle<'_, T>>| match handle {
            Ok(handle) => handle.join().map_err(|_| Failure::bug("the search failed")),
            Err(error) => Err(Failure::request(
                format!("cannot start a thread: {error}"),
                "ask for fewer workers, or raise the limit on threads",
            )),
        };
        handles.into_iter().map(join).collect()
    });
    raised.map_or_else(|| Ok(results?), Err)
}

/// Runs one search, which reports to the callback: `callback(best, bound, states, seconds)`.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    callback: Option<Bound<'_, PyAny>>,
    cancel: &CancelFlag,
    work: impl Fn(Option<ProgressFn>) -> T + Sync,
) -> PyResult<T> {
    run_with(py, callback, cancel, work, |callback, Progress { best, bound, states, elapsed, .. }| {
        // Nothing is found yet.
        if best == u64::MAX {
            return Ok(());
        }
        callback.call1((best, bound, states, elapsed.as_secs_f64())).map(drop)
    })
}

/// Runs one search, whose reports `tell` hands to the callback.
pub(crate) fn run_with<T: Send>(
    py: Python<'_>,
    callback: Option<Bound<'_, PyAny>>,
    cancel: &CancelFlag,
    work: impl Fn(Option<ProgressFn>) -> T + Sync,
    tell: impl Fn(&Bound<'_, PyAny>, Progress) -> PyResult<()>,
) -> PyResult<T> {
    let is_asked = callback.is_some();
    let search = |board: &Arc<Board<Progress>>| {
        let board = Arc::clone(board);
        let progress: ProgressFn = Arc::new(move |progress: &Progress| board.report(*progress));
        work(is_asked.then_some(progress))
    };
    let tell = |progress| callback.as_ref().map_or(Ok(()), |callback| tell(callback, progress));
    let results = run_in(py, 1, cancel, search, tell)?;
    Ok(results.into_iter().next().ok_or_else(|| Failure::bug("the search gave no result"))?)
}
