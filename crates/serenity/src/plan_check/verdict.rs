//! What became of each claim of a plan.

use crate::PlanFile;
use serde_json::{Value, json};
use serenity_check::Reproved;
use serenity_runtimes::MemoryModel;

/// What became of one claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// It is so.
    Verified {
        /// How that is known.
        how: String,
    },
    /// It may be so.
    NotVerified {
        /// Why that is all that can be said.
        why: String,
    },
    /// It is not so.
    Refuted {
        /// What is wrong.
        fault: String,
    },
}

impl Status {
    /// Its name in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Verified { .. } => "verified",
            Self::NotVerified { .. } => "not_verified",
            Self::Refuted { .. } => "refuted",
        }
    }

    /// How, why, or what is wrong.
    pub fn detail(&self) -> &str {
        match self {
            Self::Verified { how } => how,
            Self::NotVerified { why } => why,
            Self::Refuted { fault } => fault,
        }
    }
}

/// A claim and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedClaim {
    /// The field of the plan that makes it.
    pub claim: String,
    /// What became of it.
    pub status: Status,
}

/// What became of all claims of a plan.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The memory model for which it was checked.
    pub model: MemoryModel,
    /// All claims that it makes.
    pub claims: Vec<CheckedClaim>,
    /// The largest lower bound that was shown for what counts, without a search.
    pub shown_bound: u64,
    /// Why that much is needed.
    pub shown_reason: String,
    /// What became of proving the bounds again, if that was asked for: that on peaks, and that on what counts.
    pub deep: Option<(Reproved, Reproved)>,
}

/// Fields of a plan of which the check says nothing, and why: they claim nothing about the model, or what they claim cannot be recomputed at little cost.
pub const NOT_COVERED: [(&str, &str); 23] = [
    ("graph", "a name"),
    ("input", "a name"),
    ("output", "a name"),
    ("algorithm", "how the order was found"),
    ("states", "how the order was found"),
    ("pieces", "how the order was found"),
    ("seconds", "how long that took"),
    ("stopped", "why the search ended"),
    ("reproducible", "whether the clock ended the search"),
    ("gain", "of one rewrite: what the search found without it"),
    ("sets", "of rewrites: how many the search looked at"),
    ("without", "what the search found without rewrites"),
    ("floor", "what the search proved of all sets of rewrites"),
    ("total", "what TFLM keeps besides the head is an estimate"),
    ("budget", "speaks of a wish"),
    ("fits", "speaks of a budget that is not in the plan"),
    ("missing", "speaks of a budget that is not in the plan"),
    ("boards", "rests on the estimate `total`"),
    ("session_options", "advice"),
    ("session", "how the file came to be, before there was anything to plan"),
    ("memories", "two memories are checked when they are planned, not here"),
    ("slow_bound", "two memories are checked when they are planned, not here"),
    ("memories_proof", "two memories are checked when they are planned, not here"),
];

impl Verdict {
    pub(super) fn new(model: MemoryModel) -> Self {
        Self { model, claims: Vec::new(), shown_bound: 0, shown_reason: String::new(), deep: None }
    }

    /// Nothing that the plan claims was found wrong.
    pub fn is_valid(&self) -> bool {
        self.problems().next().is_none()
    }

    /// All that was found wrong.
    pub fn problems(&self) -> impl Iterator<Item = &str> {
        self.claims.iter().filter_map(|claim| match &claim.status {
            Status::Refuted { fault } => Some(fault.as_str()),
            _ => None,
        })
    }

    /// What became of a claim, by the field that makes it; the first, if there are several.
    pub fn status(&self, claim: &str) -> Option<&Status> {
        self.claims.iter().find(|checked| checked.claim == claim).map(|checked| &checked.status)
    }

    /// Is the plan valid, does it make this claim, and is that verified?
    pub fn is_verified(&self, claim: &str) -> bool {
        self.is_valid() && matches!(self.status(claim), Some(Status::Verified { .. }))
    }

    /// What became of the claims of this plan, as a JSON object.
    pub fn to_json(&self, plan: &PlanFile) -> Value {
        let states = |reproved| match reproved {
            Reproved::Yes { states } | Reproved::GaveUp { states } => Some(states),
            Reproved::No => None,
        };
        let claim = |CheckedClaim { claim, status }: &CheckedClaim| json!({"claim": claim, "status": status.name(), "detail": status.detail()});
        json!({
            "valid": self.is_valid(),
            "problems": self.problems().collect::<Vec<_>>(),
            "runtime": self.model.to_string(),
            "peak": plan.peak,
            "bound": plan.bound,
            "bound_verified": self.is_verified("bound"),
            "optimal_claimed": plan.optimal,
            "optimal_verified": self.is_verified("proof"),
            "deep_states": self.deep.and_then(|deep| states(deep.1)),
            "shown_bound": self.shown_bound,
            "placement_verified": self.is_verified("offsets"),
            "arena_verified": self.is_verified("arena"),
            "claims": self.claims.iter().map(claim).collect::<Vec<_>>(),
        })
    }

    pub(super) fn verified(&mut self, claim: &str, how: impl Into<String>) {
        self.push(claim, Status::Verified { how: how.into() });
    }

    pub(super) fn not_verified(&mut self, claim: &str, why: impl Into<String>) {
        self.push(claim, Status::NotVerified { why: why.into() });
    }

    pub(super) fn refuted(&mut self, claim: &str, fault: impl Into<String>) {
        self.push(claim, Status::Refuted { fault: fault.into() });
    }

    fn push(&mut self, claim: &str, status: Status) {
        self.claims.push(CheckedClaim { claim: claim.to_owned(), status });
    }
}
