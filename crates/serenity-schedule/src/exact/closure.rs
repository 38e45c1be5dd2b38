//! The transitive closure of the precedence of ops.

use crate::{Problem, bits};

/// One set of ops per op, in one allocation.
#[derive(Clone)]
pub(super) struct Rows {
    words: usize,
    bits: Vec<u64>,
}

impl Rows {
    pub(super) fn new(rows: usize, words: usize) -> Self {
        Self { words, bits: vec![0; rows * words] }
    }

    pub(super) fn row(&self, op: u32) -> &[u64] {
        &self.bits[op as usize * self.words..][..self.words]
    }

    pub(super) fn row_mut(&mut self, op: u32) -> &mut [u64] {
        &mut self.bits[op as usize * self.words..][..self.words]
    }

    /// Adds the row of `from`, and `from` itself, to the row of `to`.
    fn absorb(&mut self, to: u32, from: u32) {
        let (to_start, from_start) = (to as usize * self.words, from as usize * self.words);
        for word in 0..self.words {
            self.bits[to_start + word] |= self.bits[from_start + word];
        }
        bits::insert(self.row_mut(to), from);
    }
}

/// All ancestors and all descendants of every op.
pub(super) struct Closure {
    pub(super) ancestors: Rows,
    pub(super) descendants: Rows,
}

impl Closure {
    pub(super) fn new(problem: &Problem) -> Self {
        let mut ancestors = Rows::new(problem.len(), problem.words());
        let mut descendants = Rows::new(problem.len(), problem.words());
        for &op in &problem.topological {
            for &p in &problem.predecessors[op as usize] {
                ancestors.absorb(op, p);
            }
        }
        for &op in problem.topological.iter().rev() {
            for &s in &problem.successors[op as usize] {
                descendants.absorb(op, s);
            }
        }
        Self { ancestors, descendants }
    }

    /// The predecessors of each op that are not implied by others.
    pub(super) fn immediate_predecessors(&self, problem: &Problem) -> Vec<Vec<u32>> {
        let immediate = |list: &Vec<u32>| {
            let implied = |p: u32| list.iter().any(|&q| bits::contains(self.ancestors.row(q), p));
            list.iter().copied().filter(|&p| !implied(p)).collect()
        };
        problem.predecessors.iter().map(immediate).collect()
    }
}

/// All that can be reached from `op` along `edges`.
pub(super) fn reached(op: u32, edges: &[Vec<u32>], words: usize) -> Vec<u64> {
    let mut set = vec![0; words];
    let mut open = vec![op];
    while let Some(op) = open.pop() {
        for &next in &edges[op as usize] {
            if !bits::contains(&set, next) {
                bits::insert(&mut set, next);
                open.push(next);
            }
        }
    }
    set
}

#[cfg(test)]
mod tests {
    use super::super::testing::problems;
    use super::*;

    #[test]
    fn ancestors_and_descendants_are_what_can_be_reached() {
        for problem in problems() {
            let closure = Closure::new(&problem);
            let immediate = closure.immediate_predecessors(&problem);
            for op in 0..problem.ops {
                let ancestors = reached(op, &problem.predecessors, problem.words());
                assert_eq!(closure.ancestors.row(op), ancestors);
                assert_eq!(closure.descendants.row(op), reached(op, &problem.successors, problem.words()));
                // What was left out is implied, and nothing else was kept.
                assert_eq!(reached(op, &immediate, problem.words()), ancestors);
                for &p in &immediate[op as usize] {
                    let without = immediate[op as usize].iter().filter(|&&other| other != p);
                    assert!(without.copied().all(|q| !bits::contains(closure.ancestors.row(q), p)));
                }
            }
        }
    }
}
