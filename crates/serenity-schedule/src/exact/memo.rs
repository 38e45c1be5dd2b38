//! Remembers results for problems that resemble each other, as when one network is rewritten in many ways: most of its
//! modules stay as they were.

use super::Rules;
use super::contract::ProfileStep;
use super::profile::{self, ProfileWork};
use crate::answer::Answer;
use crate::savings::{Until, WithSavings};
use crate::{Buffer, Options, Problem};
use serenity_search::{StopReason, Watch};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Ops of all modules that are remembered, at most.
const MOST_OPS: usize = 1 << 20;

/// Best orders of problems, profiles of modules and least peaks of parts, shared by all clones. A remembered result counts
/// as if it had been found again. It has the same peak and proof; of equal orders, it may be another than a new search
/// would find.
#[derive(Clone, Default)]
pub struct Memo(Arc<Mutex<Known>>);

#[derive(Default)]
struct Known {
    orders: HashMap<(ProblemKey, Rules), Vec<FoundOrder>>,
    profiles: HashMap<Key, Found>,
    peaks: HashMap<PeakKey, (WithSavings, u64)>,
    ops: usize,
}

/// A problem without hand-overs.
#[derive(PartialEq, Eq, Hash)]
struct ProblemKey {
    predecessors: Vec<Vec<u32>>,
    buffers: Vec<Buffer>,
    base: u64,
}

impl ProblemKey {
    fn new(problem: &Problem) -> Self {
        Self {
            predecessors: problem.predecessors.clone(),
            buffers: problem.buffers.clone(),
            base: problem.base,
        }
    }
}

/// The best order that a search has found, and what it was asked for.
#[derive(Clone)]
struct FoundOrder {
    answer: Answer,
    states: u64,
    work: Option<u64>,
    wanted_below: u64,
}

impl FoundOrder {
    /// Would a search with so much work, for an order that peaks below this, find nothing else?
    fn serves(&self, work: Option<u64>, wanted_below: u64) -> bool {
        match self.answer.stopped {
            None => true,
            Some(StopReason::Capacity) => wanted_below <= self.answer.at_least,
            Some(_) => work == self.work && wanted_below <= self.wanted_below,
        }
    }
}

/// All that the least peak of a part depends on.
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct PeakKey {
    part: ProblemKey,
    sure: Vec<u64>,
    floor: u64,
    until: Until,
}

impl PeakKey {
    /// The key of a problem without hand-overs.
    pub(crate) fn new(problem: &Problem, sure: &[u64], floor: u64, until: Until) -> Self {
        Self { part: ProblemKey::new(problem), sure: sure.to_vec(), floor, until }
    }
}

/// All that a profile depends on: the module, the rules, and the states that it may take.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    module: ProblemKey,
    rules: Rules,
    states: u64,
}

#[derive(Clone)]
struct Found {
    steps: Option<Vec<ProfileStep>>,
    spent: u64,
}

impl Memo {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The result of `search` for a problem without hand-overs, unless it was found before.
    pub(super) fn order_of(
        &self,
        problem: &Problem,
        options: &Options,
        watch: &mut Watch,
        search: impl FnOnce(&mut Watch) -> Answer,
    ) -> Answer {
        let key = (ProblemKey::new(problem), options.rules.clone());
        let (work, wanted_below) = (watch.left().work, options.wanted_below.unwrap_or(u64::MAX));
        let serves = |found: &&FoundOrder| found.serves(work, wanted_below);
        let known = self.known().orders.get(&key).and_then(|found| found.iter().find(serves).cloned());
        if let Some(found) = known {
            watch.visit(found.states);
            return found.answer;
        }
        let before = watch.states;
        let answer = search(watch);
        let states = watch.states - before;
        let is_repeatable = matches!(answer.stopped, None | Some(StopReason::Capacity | StopReason::Work));
        let mut known = self.known();
        if is_repeatable && known.ops + problem.len() <= MOST_OPS {
            known.ops += problem.len();
            let found = FoundOrder { answer: answer.clone(), states, work, wanted_below };
            known.orders.entry(key).or_default().push(found);
        }
        answer
    }

    /// The least peak of a part, and the moves that it took to find.
    pub(crate) fn peak_of(&self, part: &PeakKey) -> Option<(WithSavings, u64)> {
        self.known().peaks.get(part).cloned()
    }

    pub(crate) fn keep_peak(&self, part: PeakKey, found: WithSavings, moves: u64) {
        let mut known = self.known();
        if known.ops + part.sure.len() <= MOST_OPS {
            known.ops += part.sure.len();
            known.peaks.insert(part, (found, moves));
        }
    }

    /// As [`profile::of`].
    pub(super) fn profile_of(
        &self,
        module: &Problem,
        rules: &Rules,
        effort: &mut ProfileWork,
    ) -> Option<Vec<ProfileStep>> {
        let key = Key { module: ProblemKey::new(module), rules: rules.clone(), states: effort.states };
        if let Some(found) = self.known().profiles.get(&key) {
            effort.spent += found.spent;
            return found.steps.clone();
        }
        let before = effort.spent;
        effort.is_cut = false;
        let steps = profile::of(module, rules, effort);
        let spent = effort.spent - before;
        let mut known = self.known();
        if !effort.is_cut && known.ops + module.len() <= MOST_OPS {
            known.ops += module.len();
            known.profiles.insert(key, Found { steps: steps.clone(), spent });
        }
        steps
    }
}

impl fmt::Debug for Memo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Memo")
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{NEVER, problems};
    use super::*;

    fn effort(states: u64, stop: &dyn Fn() -> bool) -> ProfileWork<'_> {
        ProfileWork { states, spent: 0, memory: u64::MAX, stop, is_cut: false }
    }

    #[test]
    fn what_is_known_takes_no_search_and_counts_as_if_it_did() {
        let (memo, rules) = (Memo::default(), Rules::default());
        let told = |steps: Vec<ProfileStep>| {
            steps.into_iter().map(|step| (step.ops, step.during, step.after)).collect::<Vec<_>>()
        };
        for problem in problems() {
            let mut fresh = effort(1000, NEVER);
            let steps = memo.profile_of(&problem, &rules, &mut fresh).unwrap();
            let mut known = effort(1000, &|| true);
            let again = memo.profile_of(&problem, &rules, &mut known).unwrap();
            assert_eq!((told(again), known.spent), (told(steps), fresh.spent));
        }
    }

    #[test]
    fn what_was_cut_or_asked_otherwise_is_not_known() {
        let problem = problems().next().unwrap();
        let (memo, rules) = (Memo::default(), Rules::default());
        assert!(memo.profile_of(&problem, &rules, &mut effort(1000, &|| true)).is_none());
        assert!(memo.profile_of(&problem, &rules, &mut effort(1000, NEVER)).is_some());
        let others = Rules { lazy: false, ..rules.clone() };
        assert!(memo.profile_of(&problem, &others, &mut effort(1000, &|| true)).is_none());
        assert!(memo.profile_of(&problem, &rules, &mut effort(1001, &|| true)).is_none());
    }
}
