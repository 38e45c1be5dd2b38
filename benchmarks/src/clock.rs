//! CPU time: other processes on the machine do not disturb it.

#[cfg(unix)]
pub(crate) use unix::{process, thread};

#[cfg(not(unix))]
pub(crate) use elsewhere::{wall as process, wall as thread};

#[cfg(unix)]
mod unix {
    use rustix::time::{ClockId, clock_gettime};
    use std::time::Duration;

    /// What all threads have used: another thread can watch a search by it.
    pub(crate) fn process() -> Duration {
        read(ClockId::ProcessCPUTime)
    }

    /// What this thread has used: the time of a search alone, without whoever watches it.
    pub(crate) fn thread() -> Duration {
        read(ClockId::ThreadCPUTime)
    }

    fn read(clock: ClockId) -> Duration {
        let time = clock_gettime(clock);
        Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
    }
}

#[cfg(not(unix))]
mod elsewhere {
    use std::sync::LazyLock;
    use std::time::{Duration, Instant};

    static START: LazyLock<Instant> = LazyLock::new(Instant::now);

    /// Wall-clock time, where there is no other.
    pub(crate) fn wall() -> Duration {
        START.elapsed()
    }
}
