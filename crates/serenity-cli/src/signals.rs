//! What a signal does: the first makes a search return its best, the next ends the program. So does the first if
//! nothing has come of it within [`GRACE`]. Neither leaves a file half-written, or a temporary one.

use serenity::search::CancelFlag;
use serenity::write::exit_without_litter;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::time::Duration;

/// The search that goes on, if one does.
static SEARCH: Mutex<Option<CancelFlag>> = Mutex::new(None);
static LISTENING: Once = Once::new();
/// What to say to the shell about the signal that has come; 0 if none has.
static TOLD: AtomicI32 = AtomicI32::new(0);

/// What whoever was interrupted says to the shell: 128 and the number of the signal.
const INTERRUPTED: i32 = 130;

/// What may be spent on the way from the first signal to the result: time of the processor on Linux, time by the clock elsewhere.
const GRACE: Duration = Duration::from_millis(750);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// From now on signals end the program, without litter.
pub(crate) fn listen() {
    set_search(None);
    LISTENING.call_once(|| {
        // Without a handler Ctrl-C ends the program at once, which is no worse than refusing to run.
        let _ = ctrlc::set_handler(|| take(INTERRUPTED));
        #[cfg(unix)]
        termination::listen();
    });
}

/// A flag that the first signal raises, so that the search returns its best; the second ends the program.
pub(crate) fn cancel_on_signal() -> CancelFlag {
    let flag = CancelFlag::default();
    set_search(Some(flag.clone()));
    flag
}

/// The command is done: what comes now is for whoever started it.
pub(crate) fn done() {
    set_search(None);
}

/// Ends the program if a signal has told it to: for a search that has nothing to return.
pub(crate) fn end_if_told() {
    match TOLD.load(Ordering::SeqCst) {
        0 => {}
        code => exit_without_litter(code),
    }
}

fn set_search(flag: Option<CancelFlag>) {
    *SEARCH.lock().unwrap_or_else(PoisonError::into_inner) = flag;
}

fn take(code: i32) {
    let search = SEARCH.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match search {
        Some(flag) if !flag.is_cancelled() => {
            TOLD.store(code, Ordering::SeqCst);
            flag.cancel();
            std::thread::spawn(move || end_after_grace(code));
        }
        _ => exit_without_litter(code),
    }
}

/// Ends the program as the second signal would, unless the command is done before.
fn end_after_grace(code: i32) {
    let spent = spent::since_now();
    while spent() < GRACE {
        std::thread::sleep(LOOK_EVERY);
        if SEARCH.lock().unwrap_or_else(PoisonError::into_inner).is_none() {
            return;
        }
    }
    exit_without_litter(code);
}

mod spent {
    use std::time::{Duration, Instant};

    /// Tells what was spent since this was called.
    pub(super) fn since_now() -> impl Fn() -> Duration {
        let (started, by_processor) = (Instant::now(), by_processor());
        move || match (by_processor, self::by_processor()) {
            (Some(before), Some(now)) => now.saturating_sub(before),
            _ => started.elapsed(),
        }
    }

    /// What all threads of this process have had of the processor. Only Linux has a file that tells.
    fn by_processor() -> Option<Duration> {
        let line = std::fs::read_to_string("/proc/self/stat").ok()?;
        // The name of the program is in parentheses and may hold spaces; user and system time are fields 14 and 15, in
        // hundredths of a second.
        let mut fields = line.rsplit_once(')')?.1.split_whitespace().skip(11);
        let mut ticks = || fields.next()?.parse::<u64>().ok();
        Some(Duration::from_millis(10 * (ticks()? + ticks()?)))
    }
}

/// `kill`, `timeout`, a shutdown (SIGTERM) and a terminal that is closed (SIGHUP).
#[cfg(unix)]
mod termination {
    use signal_hook::consts::{SIGHUP, SIGTERM};
    use signal_hook::iterator::Signals;

    pub(super) fn listen() {
        // Under `nohup` a terminal that is closed is nothing to us.
        let signals: Vec<i32> = [SIGTERM, SIGHUP].into_iter().filter(|signal| !is_ignored(*signal)).collect();
        // Without this the signal ends the program, as it would any other.
        let Ok(mut signals) = Signals::new(signals) else { return };
        std::thread::spawn(move || signals.forever().for_each(|signal| super::take(128 + signal)));
    }

    /// Did whoever started us ask to have it ignored? Only Linux tells.
    fn is_ignored(signal: i32) -> bool {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
        mask >> (signal - 1) & 1 == 1
    }
}
