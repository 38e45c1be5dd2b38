//! The verdict on each claim of a plan.

use crate::PlanFile;
use schemars::JsonSchema;
use serde::Serialize;
use serenity_check::Reproved;
use serenity_runtimes::MemoryModel;

/// The result of checking one claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Status {
    /// The claim is true.
    Verified {
        /// How that is known.
        #[serde(rename = "detail")]
        how: String,
    },
    /// The claim may be true.
    NotVerified {
        /// Why it is not verified.
        #[serde(rename = "detail")]
        why: String,
    },
    /// The claim is false.
    Refuted {
        /// What is wrong.
        #[serde(rename = "detail")]
        fault: String,
    },
    /// The field is there, and says nothing of the model that could be true or false.
    NoClaim {
        /// What the field is for.
        #[serde(rename = "detail")]
        why: String,
    },
}

/// A claim and its status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CheckedClaim {
    /// The field of the plan that makes the claim.
    pub claim: String,
    /// The result of checking it.
    #[serde(flatten)]
    pub status: Status,
}

/// The results for all claims of a plan.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The memory model that the plan was checked for.
    pub model: MemoryModel,
    /// All claims of the plan.
    pub claims: Vec<CheckedClaim>,
    /// The largest lower bound on the need that was shown without a search.
    pub shown_bound: u64,
    /// Why that much is needed, in words.
    pub shown_reason: String,
    /// If asked for: the results of proving the bounds again, on peaks and on the need.
    pub deep: Option<(Reproved, Reproved)>,
}

/// A verdict as JSON states it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[allow(clippy::struct_excessive_bools, reason = "each answers a question of its own")]
pub struct StatedVerdict<'a> {
    /// Is nothing refuted?
    pub valid: bool,
    /// Is every claim verified?
    pub verified: bool,
    /// The fields whose claims are neither verified nor refuted. The exit code is 1 unless --allow-unverified names
    /// them all.
    pub unverified: Vec<&'a str>,
    /// One sentence per fault.
    pub problems: Vec<&'a str>,
    /// The memory model that the plan was checked for: --runtime, else the plan's, else the input's default.
    pub runtime: MemoryModel,
    /// The peak that the plan claims.
    pub peak: u64,
    /// The lower bound that the plan claims.
    pub bound: u64,
    /// Is the bound shown by one op alone, proved by the plan's witness, or proved again by --deep? False means that it
    /// rests on the search, not that it is wrong.
    pub bound_verified: bool,
    /// Does the plan claim to be optimal?
    pub optimal_claimed: bool,
    /// Is that verified?
    pub optimal_verified: bool,
    /// Sets of executed ops that --deep has visited.
    pub deep_states: Option<u64>,
    /// The largest lower bound that is shown without a search.
    pub shown_bound: u64,
    /// Does the plan place tensors, and are the offsets right?
    pub placement_verified: bool,
    /// Is the arena that the plan states what the runtime's planner, followed independently, arrives at?
    pub arena_verified: bool,
    /// Every claim of the plan, and the result of checking it.
    pub claims: &'a [CheckedClaim],
}

/// Fields of a plan that claim nothing about the model, and what they are instead. Of objects, only the parts named here.
pub const NO_CLAIM: [(&str, &str); 19] = [
    ("schema", "what kind of object this is"),
    ("graph", "a name"),
    ("input", "a name"),
    ("output", "a name"),
    ("report", "a name"),
    ("pictures", "names"),
    ("attempts", "what else was tried"),
    ("algorithm", "how the order was found"),
    ("states", "how the order was found"),
    ("pieces", "how the order was found"),
    ("soft_budgets", "how the order was found"),
    ("seconds", "how long that took"),
    ("stopped", "why the search ended"),
    ("reproducible", "whether the clock ended the search"),
    (
        "proofs.*.stopped",
        "why the search ended; that it says so, and only where nothing is proved, is checked",
    ),
    ("budget", "a wish: `fits` and `missing` speak of it"),
    ("memories[].name", "a name"),
    ("memories[].capacity", "a wish; that `used` is no more is checked"),
    ("session.reason", "why ONNX Runtime was not asked"),
];

impl Verdict {
    pub(super) fn new(model: MemoryModel) -> Self {
        Self { model, claims: Vec::new(), shown_bound: 0, shown_reason: String::new(), deep: None }
    }

    /// Nothing that the plan claims was found wrong.
    pub fn is_valid(&self) -> bool {
        self.problems().next().is_none()
    }

    /// The faults that were found.
    pub fn problems(&self) -> impl Iterator<Item = &str> {
        self.claims.iter().filter_map(|claim| match &claim.status {
            Status::Refuted { fault } => Some(fault.as_str()),
            _ => None,
        })
    }

    /// The fields whose claims were neither verified nor refuted, each once.
    pub fn unverified(&self) -> Vec<&str> {
        let mut open: Vec<&str> = Vec::new();
        for CheckedClaim { claim, status } in &self.claims {
            if matches!(status, Status::NotVerified { .. }) && !open.contains(&claim.as_str()) {
                open.push(claim);
            }
        }
        open
    }

    /// The status of a claim, by the field that makes it; the first, if there are several.
    pub fn status(&self, claim: &str) -> Option<&Status> {
        self.claims.iter().find(|checked| checked.claim == claim).map(|checked| &checked.status)
    }

    /// Is the plan valid, does it make this claim, and is that verified?
    pub fn is_verified(&self, claim: &str) -> bool {
        self.is_valid() && matches!(self.status(claim), Some(Status::Verified { .. }))
    }

    /// The verdict on this plan as JSON states it.
    pub fn stated(&self, plan: &PlanFile) -> StatedVerdict<'_> {
        let states = |reproved| match reproved {
            Reproved::Yes { states } | Reproved::GaveUp { states } => Some(states),
            Reproved::No => None,
        };
        StatedVerdict {
            valid: self.is_valid(),
            verified: self.is_valid() && self.unverified().is_empty(),
            unverified: self.unverified(),
            problems: self.problems().collect(),
            runtime: self.model,
            peak: plan.peak,
            bound: plan.bound,
            bound_verified: self.is_verified("bound"),
            optimal_claimed: plan.optimal,
            optimal_verified: self.is_verified("proof"),
            deep_states: self.deep.and_then(|deep| states(deep.1)),
            shown_bound: self.shown_bound,
            placement_verified: self.is_verified("offsets"),
            arena_verified: self.is_verified("arena"),
            claims: &self.claims,
        }
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

    pub(super) fn no_claim(&mut self, claim: &str, why: impl Into<String>) {
        self.push(claim, Status::NoClaim { why: why.into() });
    }

    fn push(&mut self, claim: &str, status: Status) {
        self.claims.push(CheckedClaim { claim: claim.to_owned(), status });
    }
}
