//! Nodes that turn constants into constants, put back where a new list needs them.

use super::{NodeSource, names};
use crate::proto::Graph;
use std::collections::{HashMap, HashSet};

/// The list with the folded nodes that it reads from and leaves out, each directly before the first node that needs it.
pub(super) fn with_folded(listed: Vec<NodeSource>, folded: &[usize], graph: &Graph<'_>) -> Vec<NodeSource> {
    let is_listed: HashSet<usize> = listed.iter().filter_map(NodeSource::origin).collect();
    let mut written: HashSet<String> = HashSet::new();
    for source in &listed {
        written.extend(source.writes(graph).into_iter().map(str::to_owned));
    }
    let mut missing: HashMap<&str, usize> = HashMap::new();
    for &node in folded.iter().filter(|node| !is_listed.contains(node)) {
        let outputs = graph.nodes[node].outputs.iter().copied();
        missing.extend(outputs.filter(|name| !written.contains(*name)).map(|name| (name, node)));
    }
    let mut result = Vec::with_capacity(listed.len());
    let mut is_back = HashSet::new();
    for source in listed {
        let mut needed = Vec::new();
        let mut waiting = source.reads(graph);
        while let Some(name) = waiting.pop() {
            if let Some(&node) = missing.get(name)
                && is_back.insert(node)
            {
                needed.push(node);
                waiting.extend(names::reads(&graph.nodes[node]));
            }
        }
        // The file's order is one in which they can run.
        needed.sort_unstable();
        result.extend(needed.into_iter().map(NodeSource::Kept));
        result.push(source);
    }
    result
}
