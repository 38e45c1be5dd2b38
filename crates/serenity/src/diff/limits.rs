//! What may be asked of the second of two models.

use super::{ChangedNeed, Side};
use schemars::JsonSchema;
use serde::Serialize;

/// What is asked of the second model.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// The memory that a device has.
    pub budget: Option<u64>,
    /// How much more it may need than the first model.
    pub max_growth: Option<Growth>,
}

/// How much more a model may need.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Growth {
    /// So many bytes.
    Bytes(u64),
    /// This share of what was needed before.
    Share(f64),
}

/// Whether the second model is within its limits.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StatedLimits {
    /// The budget, as given by --budget.
    pub budget: Option<u64>,
    /// Is the need of the second model, with its margin, within the budget? Null without one.
    pub fits: Option<bool>,
    /// Bytes over the budget, 0 if it fits; null without one, and if more bytes would not help.
    pub missing: Option<u64>,
    /// The bytes by which the need may grow, by --max-growth.
    pub max_growth: Option<u64>,
    /// Bytes by which the need grows; negative if it shrinks.
    pub growth: i64,
    /// Is the growth within --max-growth? With any kernels, it must be for each set of kernels as well. False if not
    /// all of the memory is known; null without a limit.
    pub within_growth: Option<bool>,
    /// Does the second model keep all limits?
    pub passed: bool,
}

impl Growth {
    /// The bytes by which a need of `before` bytes may grow.
    fn allowed(self, before: u64) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Share(share) => (before as f64 * share) as u64,
        }
    }
}

impl StatedLimits {
    pub(super) fn of(limits: &Limits, [old, new]: [&Side; 2], by_kernels: &[ChangedNeed]) -> Self {
        let is_known = new.counts_everything() && new.can_run();
        let wanted = new.need().to_be_safe();
        let fits = limits.budget.map(|budget| is_known && wanted <= budget);
        let counted = by_kernels.iter().filter(|need| need.counted).map(|need| (need.before, need.after));
        let mut needs = counted.chain([(old.needs, new.needs)]);
        let within_growth = limits.max_growth.map(|growth| {
            old.counts_everything()
                && new.counts_everything()
                && needs.all(|(before, after)| after.saturating_sub(before) <= growth.allowed(before))
        });
        Self {
            budget: limits.budget,
            fits,
            missing: limits.budget.filter(|_| is_known).map(|budget| wanted.saturating_sub(budget)),
            max_growth: limits.max_growth.map(|growth| growth.allowed(old.needs)),
            growth: new.needs as i64 - old.needs as i64,
            within_growth,
            passed: fits != Some(false) && within_growth != Some(false),
        }
    }
}
