//! The note in a model that says how its stored memory plan was made.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serenity_runtimes::Kernels;

/// For what a plan of the arena was made, and by whom. Runtimes do not read it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanNote {
    /// The version of the program that made it.
    pub version: String,
    /// The kernels for which it is safe, by their name.
    pub kernels: String,
    /// What the runtime needs with it.
    pub arena: u64,
    /// What no plan was found to go below; 0 if nothing is known.
    pub bound: u64,
}

impl PlanNote {
    /// Does the plan give right results with these kernels, as far as the note tells? One for kernels of any kind does with all.
    pub fn serves(&self, kernels: Kernels) -> bool {
        self.kernels.parse().is_ok_and(|made_for: Kernels| made_for == Kernels::Any || made_for == kernels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_note_goes_both_ways_and_says_whom_it_serves() {
        let note = |kernels: &str| PlanNote {
            version: "1.2.3".to_owned(),
            kernels: kernels.to_owned(),
            arena: 5,
            bound: 4,
        };
        let any = note("any");
        assert_eq!(serde_json::from_value::<PlanNote>(json!(any)).unwrap(), any);
        assert!(serde_json::from_value::<PlanNote>(json!({"kernels": "any"})).is_err());
        assert!(Kernels::all().all(|(_, kernels)| any.serves(kernels)));
        let cmsis_nn = note("cmsis-nn");
        assert!(cmsis_nn.serves(Kernels::CmsisNn));
        assert!(!cmsis_nn.serves(Kernels::Any) && !cmsis_nn.serves(Kernels::Reference));
        // Of kernels that are newer than this program, nothing is known.
        assert!(!note("next").serves(Kernels::Reference));
    }
}
