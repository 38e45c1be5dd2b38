//! The note in a model that says how its stored memory plan was made.

use serde_json::{Value, json};
use serenity_runtimes::Kernels;

/// For what a plan of the arena was made, and by whom. Runtimes do not read it.
#[derive(Clone, Debug, PartialEq, Eq)]
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

    /// The note as a JSON object.
    pub fn to_json(&self) -> Value {
        let Self { version, kernels, arena, bound } = self;
        json!({"version": version, "kernels": kernels, "arena": arena, "bound": bound})
    }

    /// Reads it back; `None` if it is something else.
    pub fn from_json(json: &Value) -> Option<Self> {
        let text = |name: &str| Some(json[name].as_str()?.to_owned());
        let number = |name: &str| json[name].as_u64();
        let (version, kernels) = (text("version")?, text("kernels")?);
        Some(Self { version, kernels, arena: number("arena")?, bound: number("bound")? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_goes_both_ways_and_says_whom_it_serves() {
        let note = |kernels: &str| PlanNote {
            version: "1.2.3".to_owned(),
            kernels: kernels.to_owned(),
            arena: 5,
            bound: 4,
        };
        let any = note("any");
        assert_eq!(PlanNote::from_json(&any.to_json()), Some(any.clone()));
        assert_eq!(PlanNote::from_json(&json!({"kernels": "any"})), None);
        assert!(Kernels::all().all(|(_, kernels)| any.serves(kernels)));
        let cmsis_nn = note("cmsis-nn");
        assert!(cmsis_nn.serves(Kernels::CmsisNn));
        assert!(!cmsis_nn.serves(Kernels::Any) && !cmsis_nn.serves(Kernels::Reference));
        // Of kernels that are newer than this program, nothing is known.
        assert!(!note("next").serves(Kernels::Reference));
    }
}
