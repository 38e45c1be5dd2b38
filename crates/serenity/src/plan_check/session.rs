//! Checks that the model was made for the session that a plan names.

use super::verdict::Verdict;
use crate::{Input, PlanFile};
use serde_json::Value;

pub(super) fn check(input: &Input, plan: &PlanFile, verdict: &mut Verdict) {
    let Some(session) = plan.fields.get("session") else { return };
    let is_fast = input.file.session().is_some();
    match session.get("session").and_then(Value::as_str) {
        Some("fast") if !is_well_formed(session) => verdict.refuted(
            "session",
            "`session` must have `onnxruntime`, `default_requested` or `unmeasured`, `nodes` and `rewrites`",
        ),
        Some("fast") if !is_fast => verdict.refuted(
            "session",
            "ONNX Runtime has not optimised this model for a fast session; check the plan with the file that was written",
        ),
        Some("fast") => verdict.not_verified(
            "session",
            "the file is for a fast session, but the model that it was made of, and what a default session of that asks for, are not here",
        ),
        Some("plain") if is_fast => {
            verdict.refuted("session", "the file is for a fast session, the plan says it is not");
        }
        Some("plain") if session.get("reason").is_some_and(Value::is_string) => {
            verdict.verified("session", "the file says nothing of a fast session");
        }
        _ => verdict.refuted("session", "`session` must be `fast`, or `plain` with a `reason`"),
    }
}

fn is_well_formed(session: &Value) -> bool {
    let field = |name: &str| session.get(name).unwrap_or(&Value::Null);
    let is_measured = field("default_requested").is_u64() && field("unmeasured").is_null();
    let is_unmeasured = field("default_requested").is_null() && field("unmeasured").is_string();
    let are_words = |list: &Vec<Value>| list.iter().all(Value::is_string);
    field("onnxruntime").is_string()
        && (is_measured || is_unmeasured)
        && field("nodes").is_u64()
        && field("rewrites").as_array().is_some_and(are_words)
}
