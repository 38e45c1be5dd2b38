//! Time of the processor, for tests of limits: unlike time by the clock, it does not depend on what else the machine does.

use std::time::Duration;

/// What `work` gives, and what this thread had of the processor meanwhile; zero where the system does not tell (only Linux does).
///
/// # Panics
/// If `work` does.
pub fn spent<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let before = by_this_thread();
    let result = work();
    (result, by_this_thread().saturating_sub(before))
}

fn by_this_thread() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split_whitespace().next().and_then(|number| number.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or(0))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::spent;
    use std::time::Duration;

    #[test]
    fn who_sleeps_spends_nothing_and_who_works_does() {
        let asleep = spent(|| std::thread::sleep(Duration::from_millis(50))).1;
        let awake = spent(|| (0..20_000_000_u64).fold(0, |sum, i| std::hint::black_box(sum ^ i))).1;
        assert!(asleep < awake, "{asleep:?} {awake:?}");
    }
}
