//! What is remembered from one problem to the next that resembles it, as when one network is rewritten in many ways: most of its modules stay as they were.

use super::Rules;
use super::contract::ProfileStep;
use super::profile::{self, Effort};
use crate::{Buffer, Problem};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Ops of all modules that are remembered, at most.
const MOST_OPS: usize = 1 << 20;

/// Profiles of modules, shared by all clones. It saves work and changes nothing else: what was found once counts as if it had been found again.
#[derive(Clone, Default)]
pub struct Memo(Arc<Mutex<Known>>);

#[derive(Default)]
struct Known {
    profiles: HashMap<Key, Found>,
    ops: usize,
}

/// All that a profile depends on: the module, the rules, and the states that it may take.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    predecessors: Vec<Vec<u32>>,
    buffers: Vec<Buffer>,
    base: u64,
    rules: Rules,
    states: u64,
}

#[derive(Clone)]
struct Found {
    steps: Option<Vec<ProfileStep>>,
    spent: u64,
}

impl Memo {
    /// As [`profile::of`].
    pub(super) fn profile_of(
        &self,
        module: &Problem,
        rules: &Rules,
        effort: &mut Effort,
    ) -> Option<Vec<ProfileStep>> {
        let key = Key {
            predecessors: module.predecessors.clone(),
            buffers: module.buffers.clone(),
            base: module.base,
            rules: rules.clone(),
            states: effort.states,
        };
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known().profiles.get(&key) {
            effort.spent += found.spent;
            return found.steps.clone();
        }
        let before = effort.spent;
        effort.is_cut = false;
        let steps = profile::of(module, rules, effort);
        let spent = effort.spent - before;
        let mut known = known();
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
