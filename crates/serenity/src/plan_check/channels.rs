//! Checks that the channels which a plan removes can be removed.

use super::verdict::Verdict;
use crate::{Input, PlanFile};
use serenity_search::Limits;

/// The model without the channels that the plan removes; `None` if they cannot be removed, with the reason in the
/// verdict.
pub(super) fn redo(input: &Input, plan: &PlanFile, verdict: &mut Verdict) -> Option<Input> {
    let Some(claimed) = &plan.constant_channels else { return Some(input.clone()) };
    // The model came as another file, which ONNX Runtime has optimised.
    if input.file.session().is_some() {
        verdict
            .not_verified("constant_channels", "they were left out before ONNX Runtime optimised the model");
        return Some(input.clone());
    }
    let advice = "check the plan with the model that was optimised, not with the file that was written";
    let refutation = match input.without_constant_channels(&Limits::default()) {
        Err(error) => format!("channels cannot be left out: {error}"),
        Ok(None) => format!("there are no channels that could be left out; {advice}"),
        Ok(Some((_, made))) if made != *claimed => {
            let [said, is] = [claimed, &made].map(|channels| (channels.removed, channels.tensors.len()));
            format!(
                "{} channels of {} tensors can be left out, or others, or they save something else; the plan says {} of {}; {advice}",
                is.0, is.1, said.0, said.1
            )
        }
        Ok(Some((model, made))) => {
            verdict.verified(
                "constant_channels",
                format!(
                    "{} channels found again by the pipeline's own code to be the same number everywhere, or read by nobody, and left out; `serenity verify` runs both models and compares",
                    made.removed
                ),
            );
            return Some(model);
        }
    };
    verdict.refuted("constant_channels", refutation);
    None
}
