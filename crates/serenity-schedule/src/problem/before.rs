//! Finds the ops that have always run when another op runs.

use super::Problem;
use std::collections::BTreeSet;

/// Who has run whenever an op runs.
pub(super) struct Before<'a> {
    problem: &'a Problem,
    position: Vec<u32>,
}

impl<'a> Before<'a> {
    pub(super) fn new(problem: &'a Problem) -> Self {
        // Ops on a cycle have no position; the problem is refused for that later.
        let mut position = vec![u32::MAX; problem.len()];
        for (i, &op) in (0_u32..).zip(&problem.topological) {
            position[op as usize] = i;
        }
        Self { problem, position }
    }

    /// Have all of `others` run whenever `op` runs? Looks no further back than the first of them.
    pub(super) fn have_run(&self, others: &[u32], op: u32) -> bool {
        let at = |op: u32| self.position[op as usize];
        let Some(first) = others.iter().map(|&other| at(other)).min() else { return true };
        if others.iter().any(|&other| at(other) >= at(op)) {
            return false;
        }
        let mut before = BTreeSet::new();
        let mut open = vec![op];
        while let Some(op) = open.pop() {
            let predecessors = self.problem.predecessors[op as usize].iter();
            open.extend(predecessors.filter(|&&p| at(p) >= first && before.insert(p)));
        }
        others.iter().all(|other| before.contains(other))
    }
}
