//! Which tensors of the old file the new one does not have.
//!
//! Whatever nothing writes any more is gone, and so is a constant that was read and is not read now. A constant that nothing
//! read before stays: nobody asked for its removal.

use super::{NodeSource, names};
use crate::proto::{Annotation, Model};
use std::collections::{HashMap, HashSet};

/// The names that are gone. `defined`: all that the new nodes define, and all constants.
pub(super) fn gone<'n>(
    nodes: &'n [NodeSource],
    defined: &HashSet<&'n str>,
    model: &Model<'n>,
) -> HashSet<&'n str> {
    let graph = &model.graph;
    let always: Vec<&str> =
        graph.outputs.iter().map(|output| output.name).chain(names::training_reads(model)).collect();
    let mut before: HashSet<&str> = always.iter().copied().collect();
    before.extend(graph.nodes.iter().flat_map(names::reads));
    before.extend(graph.annotations.iter().flat_map(|annotation| &annotation.parameters));
    let mut now: HashSet<&str> = always.into_iter().collect();
    now.extend(nodes.iter().flat_map(|source| source.reads(graph)));
    let mut unread: HashSet<&str> = graph.initializers.iter().map(|tensor| tensor.name).collect();
    unread.retain(|name| before.contains(name) && !now.contains(name));

    let old = names::defined(graph);
    let is_written = |name: &str| defined.contains(name) || !old.contains(name);
    spare_annotated(&graph.annotations, &mut unread, is_written);
    let lost = old.into_iter().filter(|name| !defined.contains(name));
    lost.chain(unread.iter().copied()).collect()
}

/// Takes from `unread` the constants that annotations of remaining tensors name, and so on from there.
fn spare_annotated<'n>(
    annotations: &[Annotation<'n>],
    unread: &mut HashSet<&'n str>,
    is_written: impl Fn(&str) -> bool,
) {
    let mut of_unread: HashMap<&str, Vec<&Annotation<'n>>> = HashMap::new();
    let mut waiting = Vec::new();
    for annotation in annotations {
        if unread.contains(annotation.tensor) {
            of_unread.entry(annotation.tensor).or_default().push(annotation);
        } else if is_written(annotation.tensor) {
            waiting.push(annotation);
        }
    }
    while let Some(annotation) = waiting.pop() {
        for name in &annotation.parameters {
            if unread.remove(name) {
                waiting.extend(of_unread.remove(name).unwrap_or_default());
            }
        }
    }
}
