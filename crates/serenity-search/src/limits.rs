//! The limits of a search, and how to cancel it.

use crate::{Deadline, StopReason};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Cancels a search from outside: from a signal handler, or another thread.
#[derive(Clone, Debug, Default)]
pub struct CancelFlag(Arc<AtomicBool>);

impl CancelFlag {
    /// Asks every search that holds this flag to end.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Was the search cancelled?
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The limits of a search. By default there are none.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// The search ends when it first checks the clocks after this. A safety net: runs that it cuts short may differ.
    pub deadline: Option<Deadline>,
    /// Bytes for the tables of the search.
    pub memory: Option<u64>,
    /// Work, counted in the search's own unit. Unlike time, this ends the same search at the same point on every machine.
    pub work: Option<u64>,
    /// Ends the search at its next check.
    pub cancel: CancelFlag,
}

impl Limits {
    /// Limits that end after `time` from now, in processor time where the platform tells it ([`Deadline`]).
    pub fn lasting(time: Duration) -> Self {
        Self::default().within(time)
    }

    /// These limits, ending after `time` from now unless they end sooner.
    #[must_use]
    pub fn within(&self, time: Duration) -> Self {
        let deadline = match (self.deadline, Deadline::after(time)) {
            (Some(deadline), Some(end)) => Some(deadline.earlier(end)),
            (deadline, end) => deadline.or(end),
        };
        Self { deadline, ..self.clone() }
    }

    /// These limits, with at most this much work.
    #[must_use]
    pub fn working(&self, work: u64) -> Self {
        Self { work: Some(self.work.map_or(work, |limit| limit.min(work))), ..self.clone() }
    }

    /// These limits, with at most this many bytes of tables.
    #[must_use]
    pub fn holding(&self, memory: u64) -> Self {
        Self { memory: Some(self.memory.map_or(memory, |limit| limit.min(memory))), ..self.clone() }
    }

    /// The reason to end at once: the search was cancelled, or its deadline has passed.
    pub fn interrupted(&self) -> Option<StopReason> {
        self.interrupted_by(Deadline::has_passed)
    }

    /// The reason to wait no longer for another program. While we wait, our own processor time stands still, so the clock
    /// on the wall decides.
    pub fn interrupted_while_waiting(&self) -> Option<StopReason> {
        self.interrupted_by(Deadline::has_passed_on_the_wall)
    }

    fn interrupted_by(&self, has_passed: impl Fn(&Deadline) -> bool) -> Option<StopReason> {
        if self.cancel.is_cancelled() {
            Some(StopReason::Cancelled)
        } else {
            self.deadline.as_ref().is_some_and(has_passed).then_some(StopReason::Time)
        }
    }

    /// Was the search cancelled, or has its deadline passed? For inner loops.
    pub fn are_over(&self) -> bool {
        self.interrupted().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tighter_limit_counts() {
        let limits = Limits { work: Some(10), memory: None, ..Limits::lasting(Duration::ZERO) };
        let tighter = limits.within(Duration::from_secs(60)).working(20).holding(5);
        assert_eq!((tighter.work, tighter.memory), (Some(10), Some(5)));
        assert_eq!(tighter.deadline, limits.deadline);
        assert_eq!(tighter.interrupted(), Some(StopReason::Time));
    }

    #[test]
    fn a_time_beyond_all_clocks_is_no_limit() {
        assert_eq!(Limits::lasting(Duration::MAX).deadline, None);
    }

    #[test]
    fn cancelling_ends_every_copy() {
        let limits = Limits::default();
        let copy = limits.working(5);
        assert!(!copy.are_over());
        limits.cancel.cancel();
        assert_eq!(copy.interrupted(), Some(StopReason::Cancelled));
    }
}
