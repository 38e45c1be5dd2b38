//! Checks that the inputs and outputs of a plan can be made.

use super::verdict::Verdict;
use crate::{Input, PlanFile};

/// The model with the inputs and outputs of the plan; `None` if they cannot be made, with the reason in the verdict.
pub(super) fn redo(input: &Input, plan: &PlanFile, verdict: &mut Verdict) -> Option<Input> {
    let Some(claimed) = &plan.int8_io else { return Some(input.clone()) };
    let (model, made) = match input.with_quantized_io() {
        Ok(made) => made,
        Err(error) => {
            verdict.refuted("int8_io", format!("inputs and outputs cannot be changed: {error}"));
            return None;
        }
    };
    if made != *claimed {
        let advice = if made.is_unchanged() && !claimed.is_unchanged() {
            "; check the plan with the model that was optimised, not with the file that was written"
        } else {
            ""
        };
        verdict.refuted(
            "int8_io",
            format!("other inputs and outputs become whole numbers, or in another way{advice}"),
        );
        return None;
    }
    if made.is_unchanged() {
        verdict.verified("int8_io", "there is nothing to change");
    } else {
        let ports = made.changed().count();
        let how = format!(
            "{ports} inputs and outputs converted again by the pipeline's own code; with real = scale * (q - zero_point), `serenity verify` runs both models and compares"
        );
        verdict.verified("int8_io", how);
    }
    Some(model)
}
