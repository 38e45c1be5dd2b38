//! Which buffers fill the peak of two models.

use crate::Input;
use crate::inspect::{Inspection, buffer_label};
use schemars::JsonSchema;
use serde::Serialize;
use serenity_ir::BufferId;
use std::collections::{BTreeMap, BTreeSet};

/// A buffer in use at the peak of at least one of two models.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ChangedBuffer {
    /// The name of its first tensor, or of the op whose scratch it is.
    pub name: String,
    /// Its bytes at the peak of the first model; 0 if it is not in use there.
    pub before: u64,
    /// Its bytes at the peak of the second model; 0 if it is not in use there.
    pub after: u64,
    /// Its size in the first model, at the peak or not; null if that has no such buffer.
    pub size_before: Option<u64>,
    /// Its size in the second model, at the peak or not; null if that has no such buffer.
    pub size_after: Option<u64>,
}

/// A name, and how many buffers before it have the same: files may use a name twice.
type Key = (String, usize);

/// A buffer of one model.
#[derive(Clone, Copy)]
struct Sized {
    bytes: u64,
    is_at_peak: bool,
}

/// All buffers in use at either peak: those that changed most first, then the largest.
pub(super) fn changed(models: [(&Input, &Inspection); 2]) -> Vec<ChangedBuffer> {
    let [old, new] = models.map(|(input, found)| buffers(input, found));
    let keys = old.keys().chain(new.keys().filter(|&key| !old.contains_key(key)));
    let at_peak = |one: Option<&Sized>| one.filter(|one| one.is_at_peak).map_or(0, |one| one.bytes);
    let is_used =
        |key: &&Key| [&old, &new].iter().any(|model| model.get(*key).is_some_and(|one| one.is_at_peak));
    let change = |key: &Key| {
        let (before, after) = (old.get(key), new.get(key));
        ChangedBuffer {
            name: key.0.clone(),
            before: at_peak(before),
            after: at_peak(after),
            size_before: before.map(|one| one.bytes),
            size_after: after.map(|one| one.bytes),
        }
    };
    let mut changes: Vec<ChangedBuffer> = keys.filter(is_used).map(change).collect();
    changes.sort_by_key(|one| std::cmp::Reverse((one.before.abs_diff(one.after), one.after.max(one.before))));
    changes
}

fn buffers(input: &Input, found: &Inspection) -> BTreeMap<Key, Sized> {
    let mut met: BTreeMap<String, usize> = BTreeMap::new();
    let at_peak: BTreeSet<BufferId> = found.alive_at_peak.iter().copied().collect();
    let ids = (0..found.lifetimes.buffers().len()).map(BufferId::from_index);
    ids.map(|id| {
        let buffer = found.lifetimes.buffer(id);
        let name = buffer_label(input.graph(), buffer);
        let nth = met.entry(name.clone()).or_default();
        *nth += 1;
        ((name, *nth), Sized { bytes: buffer.bytes, is_at_peak: at_peak.contains(&id) })
    })
    .collect()
}
