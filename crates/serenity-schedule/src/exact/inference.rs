//! When to look for the precedence that all better orders of a part have in common ([`precedence`](super::precedence)).
//!
//! It settles irregular graphs at once and regular ones not at all, where the floods are strong. So it begins when a part
//! takes long, may take about as long as the floods have, and ends where it finds nothing more. Then the floods begin
//! anew with what it has found.

use super::Rules;
use super::part::Part;
use super::precedence::{Ended, Precedence};
use super::refutation::Found;
use crate::Problem;
use crate::walk::steps_of;

/// A cut takes as long as so many states of a flood,
const STATES_PER_CUT: u64 = 4;
/// and more for parts of more ops than this, by the third power.
const MOST_OPS_OF_USUAL_CUTS: u64 = 224;

/// In units of [`Rules::patience`]: it begins after so many states.
const INFER_AFTER: u64 = 32;

/// The fixed point of a larger part is out of reach.
pub(super) const MOST_OPS: usize = 512;

/// Floods begin anew if one pair in so many that could run in either order has been settled.
const WORTH_A_RESTART: u32 = 16;

/// How many states a flood visits while one cut is made in a part of so many ops.
pub(super) fn states_per_cut(ops: u32) -> u64 {
    let usual = MOST_OPS_OF_USUAL_CUTS;
    STATES_PER_CUT * u64::from(ops).max(usual).pow(3) / usual.pow(3)
}

pub(super) struct Inference {
    search: Option<Precedence>,
    stage: Stage,
    probing: bool,
    states_per_cut: u64,
    begins_after: u64,
    /// Cuts made.
    spent: u64,
    /// Pairs of ops of which one comes first, as the floods know it.
    pairs: u32,
    ops: u32,
    /// Do the floods know what was found?
    pub(super) is_given: bool,
}

#[derive(PartialEq, Eq)]
enum Stage {
    Inferring,
    Probing,
    Refuted,
    /// There is nothing more to find.
    Over,
}

impl Inference {
    pub(super) fn new(rules: &Rules, part: &Part) -> Self {
        let is_on = rules.precedence && part.problem.len() <= MOST_OPS;
        Self {
            search: None,
            stage: if is_on { Stage::Inferring } else { Stage::Over },
            probing: rules.probing,
            states_per_cut: states_per_cut(part.problem.ops),
            begins_after: INFER_AFTER.saturating_mul(rules.patience.max(1)),
            spent: 0,
            pairs: 0,
            ops: part.problem.ops,
            is_given: false,
        }
    }

    /// The cuts of the next round, if it is time for it now that the floods have visited so many states.
    pub(super) fn cuts_after(&self, expanded: u64) -> Option<u64> {
        let is_over = matches!(self.stage, Stage::Refuted | Stage::Over);
        let cuts = (expanded / self.states_per_cut).saturating_sub(self.spent);
        (!is_over && expanded >= self.begins_after && cuts > 0).then_some(cuts)
    }

    /// One round for orders that are better than the part's best.
    pub(super) fn run(&mut self, part: &Part, cuts: u64) {
        let Some(limit) = part.upper.checked_sub(1) else { return };
        let search = self.search.get_or_insert_with(|| {
            let mut needs = vec![0; part.problem.len()];
            for (&op, step) in part.order.iter().zip(steps_of(&part.problem, &part.order)) {
                needs[op as usize] = step.during;
            }
            let search = Precedence::new(part.problem.clone(), limit, |op| needs[op as usize]);
            self.pairs = search.pairs();
            search
        });
        search.lower_limit(limit);
        let before = search.cuts;
        let ended = match self.stage {
            Stage::Probing => search.probe(cuts),
            _ => search.infer(cuts),
        };
        self.spent += search.cuts - before;
        self.stage = match (ended, &self.stage) {
            (Ended::Refuted, _) => Stage::Refuted,
            (Ended::Exhausted, Stage::Inferring) if self.probing => Stage::Probing,
            (Ended::Exhausted, _) => Stage::Over,
            (Ended::Tired, Stage::Probing) => Stage::Probing,
            (Ended::Tired, _) => Stage::Inferring,
        };
    }

    /// The cuts made so far, counted in states of a flood. They are no reason to look for larger modules.
    pub(super) fn states(&self) -> u64 {
        self.spent.saturating_mul(self.states_per_cut)
    }

    /// Is there no order within the limit?
    pub(super) fn is_refuted(&self) -> bool {
        self.stage == Stage::Refuted
    }

    /// How all that is known was found.
    pub(super) fn found(&self) -> &[Found] {
        self.search.as_ref().map_or(&[], |search| &search.found)
    }

    /// Is it time to give the floods what was found? From then on they are taken to know it.
    pub(super) fn give(&mut self) -> bool {
        let Some(search) = self.search.as_ref().filter(|_| self.stage != Stage::Inferring) else {
            return false;
        };
        let (pairs, all) = (search.pairs(), self.ops * self.ops.saturating_sub(1) / 2);
        let is_worth_it = pairs > self.pairs + all.saturating_sub(self.pairs) / WORTH_A_RESTART;
        if is_worth_it {
            (self.pairs, self.is_given) = (pairs, true);
        }
        is_worth_it
    }

    /// The part with what was found; none if nothing was looked for.
    pub(super) fn constrained(&self) -> Option<Problem> {
        self.search.as_ref().map(Precedence::constrained)
    }
}
