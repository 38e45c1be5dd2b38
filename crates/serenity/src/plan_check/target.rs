//! Checks that a plan is checked for the runtime that it is for.

use super::verdict::Verdict;
use crate::PlanFile;

/// All figures are for one runtime: the plan's own, unless the caller asks for another.
pub(super) fn check(plan: &PlanFile, verdict: &mut Verdict) {
    let is_own = plan.model.is_none_or(|model| model == verdict.model);
    for field in ["runtime", "kernels", "ort_order", "ort_reuse"] {
        if !plan.fields.contains_key(field) {
            continue;
        }
        if is_own {
            verdict.verified(field, "all figures were counted for it");
        } else {
            let why = format!("all figures were counted for `{}`, as asked", verdict.model);
            verdict.not_verified(field, why);
        }
    }
}
