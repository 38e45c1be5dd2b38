//! When a search must end.

use crate::Instant;
use std::time::Duration;

/// The end of a time limit: it has passed when so much time has gone by, *and* the process has used so much of a
/// processor, where the platform tells. So a machine that is busy with other things cuts a search short where an idle
/// one does. Threads that run at the same time use a processor each, and do not shorten the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline {
    wall: Instant,
    /// By the clock that counts what all threads of the process have had of the processors.
    processor: Option<Duration>,
}

impl Deadline {
    /// After `time` from now; `None` if that is more than the clocks can hold.
    pub fn after(time: Duration) -> Option<Self> {
        let wall = Instant::now().checked_add(time)?;
        Some(Self { wall, processor: processor_time().and_then(|spent| spent.checked_add(time)) })
    }

    /// Has it passed?
    pub fn has_passed(&self) -> bool {
        self.has_passed_on_the_wall()
            && self.processor.is_none_or(|end| processor_time().is_none_or(|spent| spent >= end))
    }

    /// Has it passed for whoever only waits?
    pub fn has_passed_on_the_wall(&self) -> bool {
        Instant::now() >= self.wall
    }

    /// The end of the shorter of two limits.
    pub(crate) fn earlier(self, other: Self) -> Self {
        let processor = match (self.processor, other.processor) {
            (Some(one), Some(two)) => Some(one.min(two)),
            (one, two) => one.or(two),
        };
        Self { wall: self.wall.min(other.wall), processor }
    }
}

/// What all threads of this process have had of the processors, if the platform tells.
#[cfg(any(target_os = "linux", target_vendor = "apple"))]
fn processor_time() -> Option<Duration> {
    use rustix::time::{ClockId, clock_gettime};
    Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).ok()
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
fn processor_time() -> Option<Duration> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn both_clocks_must_have_passed() {
        let now = Instant::now();
        for (wall, processor, has_passed) in [
            (now, None, true),
            (now, Some(Duration::ZERO), true),
            (now + HOUR, Some(Duration::ZERO), false),
            (now + HOUR, None, false),
        ] {
            assert_eq!(Deadline { wall, processor }.has_passed(), has_passed);
        }
        assert!(Deadline { wall: now, processor: Some(Duration::MAX) }.has_passed_on_the_wall());
        assert_eq!(Deadline::after(Duration::MAX), None);
    }

    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    #[test]
    fn a_process_that_gets_no_processor_goes_on() {
        let deadline = Deadline { processor: Some(HOUR), ..Deadline::after(Duration::ZERO).unwrap() };
        assert!(deadline.has_passed_on_the_wall() && !deadline.has_passed());
        let before = processor_time().unwrap();
        let deadline = Deadline::after(Duration::from_millis(20)).unwrap();
        while !deadline.has_passed() {
            std::hint::black_box((0..1000).sum::<u64>());
        }
        assert!(processor_time().unwrap() >= before + Duration::from_millis(20));
    }

    #[test]
    fn the_shorter_of_two_limits_counts() {
        let (soon, late) = (Deadline::after(Duration::ZERO).unwrap(), Deadline::after(HOUR).unwrap());
        assert_eq!(late.earlier(soon), soon);
        assert_eq!(soon.earlier(late), soon);
    }
}
