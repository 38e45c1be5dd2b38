//! A problem with the moves of its search: **rule R6, lazy ops**.
//!
//! Let `max(u)` be the largest set that can have run before `u` (everything but `u` and its descendants), and let `a(u)` and
//! `d(u)` be what `u` brings to life and lets go after `max(u)`. Call `u` *lazy* if it has a successor, `a(u) >= d(u)`, and
//! `d(u) <= a(v)` for every immediate successor `v`.
//!
//! *There is an optimal order in which every lazy op runs directly before the first other op that needs it (through lazy ops
//! only), and the peak of each such block is reached at its last op.*
//!
//! Proof sketch. By submodularity the change of f by `u` is smallest after `max(u)`, so a lazy op never lowers f. Take any order,
//! keep the others where they are and move every lazy op into the block of the first other op that depends on it.
//! Each new state is an old one without some lazy ops, taken away from the top, which never raises f: so the steps of
//! the other ops do not rise. For a lazy `l` in a block, with `v` the next op of the block that depends on it, after `Y`:
//! `during(l) = f(Y+l) + freed <= f(Y+l) + d(l) <= f(Y') + a(v) <= during(v)`, and so on along the path to the end of the block.
//!
//! So a search branches over the others, the *heads*, alone; a move runs a head with its lazy ops that have not run yet.

use super::closure::{Closure, Rows};
use super::releases::Releases;
use crate::{Problem, bits};

/// Longer blocks would make every move costly.
const LONGEST_BLOCK: usize = 256;

/// A problem and its moves.
pub(super) struct Instance {
    pub(super) problem: Problem,
    /// The ops to branch over, in topological order.
    pub(super) heads: Vec<u32>,
    /// Lazy ops that run with a head unless they have run already, in topological order.
    block: Vec<Vec<u32>>,
    /// Heads that must run before a head, through lazy ops only; and the reverse.
    pub(super) needs: Vec<Vec<u32>>,
    pub(super) enables: Vec<Vec<u32>>,
    /// Heads whose move may cost something else once this head has run.
    pub(super) affects: Rows,
    /// For every op, the heads in whose move it may run.
    pub(super) moved_by: Vec<Vec<u32>>,
    /// What can be let go next, if a search branches over that.
    pub(super) releases: Option<Releases>,
    /// One well-mixed word an op, for hashing sets of heads.
    pub(super) keys: Vec<u64>,
}

/// A set of executed ops, closed under what the search knows.
#[derive(Clone)]
pub(super) struct State {
    pub(super) done: Vec<u64>,
    /// Heads that can run next.
    pub(super) ready: Vec<u64>,
    pub(super) in_use: u64,
}

impl State {
    pub(super) fn is_complete(&self) -> bool {
        self.ready.iter().all(|&word| word == 0)
    }
}

/// What a move costs.
#[derive(Clone, Copy)]
pub(super) struct Cost {
    /// The most memory in use on the way.
    pub(super) during: u64,
    pub(super) after: u64,
}

impl Instance {
    /// With `lazy` off, every op is a head.
    pub(super) fn new(problem: Problem, lazy: bool) -> Self {
        let closure = Closure::new(&problem);
        let predecessors = closure.immediate_predecessors(&problem);
        let is_lazy =
            if lazy { find_lazy(&problem, &closure, &predecessors) } else { vec![false; problem.len()] };
        let mut position = vec![0_u32; problem.len()];
        for (i, &op) in problem.topological.iter().enumerate() {
            position[op as usize] = i as u32;
        }
        let n = problem.len();
        let mut instance = Self {
            heads: problem.topological.iter().copied().filter(|&op| !is_lazy[op as usize]).collect(),
            block: vec![Vec::new(); n],
            needs: vec![Vec::new(); n],
            enables: vec![Vec::new(); n],
            affects: Rows::new(n, problem.words()),
            moved_by: vec![Vec::new(); n],
            releases: None,
            keys: crate::dp::hash_keys(problem.ops),
            problem,
        };
        let mut seen_by = vec![u32::MAX; n];
        for &head in &instance.heads {
            let mut open = vec![head];
            while let Some(op) = open.pop() {
                for &p in &predecessors[op as usize] {
                    if std::mem::replace(&mut seen_by[p as usize], head) == head {
                        continue;
                    }
                    if is_lazy[p as usize] {
                        instance.block[head as usize].push(p);
                        open.push(p);
                    } else {
                        instance.needs[head as usize].push(p);
                        instance.enables[p as usize].push(head);
                    }
                }
            }
            instance.block[head as usize].sort_by_key(|&op| position[op as usize]);
            instance.moved_by[head as usize].push(head);
            for &op in &instance.block[head as usize] {
                instance.moved_by[op as usize].push(head);
            }
        }
        instance.find_affected();
        instance
    }

    /// For a search that branches over what is let go next. Every op is a head: such a search does not know of lazy ops.
    pub(super) fn by_releases(problem: Problem) -> Self {
        let releases = Some(Releases::new(&problem));
        Self { releases, ..Self::new(problem, false) }
    }

    fn find_affected(&mut self) {
        let words = self.problem.words();
        let mut touching = Rows::new(self.problem.buffers.len(), words);
        for (b, buffer) in self.problem.buffers.iter().enumerate() {
            for op in buffer.writers.iter().chain(&buffer.readers) {
                for &head in &self.moved_by[op.index()] {
                    bits::insert(touching.row_mut(b as u32), head);
                }
            }
        }
        for &head in &self.heads {
            let row = self.affects.row_mut(head);
            for &next in &self.enables[head as usize] {
                bits::insert(row, next);
            }
            for &op in self.block[head as usize].iter().chain([&head]) {
                for &other in &self.moved_by[op as usize] {
                    bits::insert(row, other);
                }
                let buffers = self.problem.writes[op as usize].iter().chain(&self.problem.reads[op as usize]);
                for &b in buffers {
                    for (word, &more) in row.iter_mut().zip(touching.row(b)) {
                        *word |= more;
                    }
                }
            }
        }
    }

    pub(super) fn start(&self) -> State {
        let mut ready = vec![0; self.problem.words()];
        for &head in self.heads.iter().filter(|&&head| self.needs[head as usize].is_empty()) {
            bits::insert(&mut ready, head);
        }
        State { done: vec![0; self.problem.words()], ready, in_use: self.problem.at_start() }
    }

    /// What running `head` costs. `done` is changed on the way and restored.
    pub(super) fn cost(&self, done: &mut [u64], in_use: u64, head: u32) -> Cost {
        let problem = &self.problem;
        let block = &self.block[head as usize];
        if block.is_empty() {
            let during = in_use + problem.allocated(done, head);
            return Cost { during, after: during - problem.freed(done, head) };
        }
        let mut in_use = in_use;
        // Which ops of the block were new, 64 at a time; the block's own order makes them easy to find again.
        let mut fresh = [0_u64; 4];
        let mut overflow: Vec<u32> = Vec::new();
        for (i, &op) in block.iter().enumerate() {
            if !bits::contains(done, op) {
                in_use = in_use + problem.allocated(done, op) - problem.freed(done, op);
                bits::insert(done, op);
                match fresh.get_mut(i / 64) {
                    Some(word) => *word |= 1 << (i % 64),
                    None => overflow.push(op),
                }
            }
        }
        let during = in_use + problem.allocated(done, head);
        let after = during - problem.freed(done, head);
        for i in bits::iter(&fresh) {
            bits::remove(done, block[i as usize]);
        }
        for op in overflow {
            bits::remove(done, op);
        }
        Cost { during, after }
    }

    /// Marks `head` and its block as run and finds what can run next.
    pub(super) fn apply(&self, done: &mut [u64], ready: &mut [u64], head: u32) {
        for &op in &self.block[head as usize] {
            bits::insert(done, op);
        }
        bits::insert(done, head);
        bits::remove(ready, head);
        for &next in &self.enables[head as usize] {
            if self.needs[next as usize].iter().all(|&p| bits::contains(done, p)) {
                bits::insert(ready, next);
            }
        }
    }

    /// Have `head` and its block run?
    pub(super) fn has_run(&self, done: &[u64], head: u32) -> bool {
        let block = &self.block[head as usize];
        bits::contains(done, head) && block.iter().all(|&op| bits::contains(done, op))
    }

    /// The state after running `head`, which costs `after`.
    pub(super) fn advance(&self, state: &mut State, head: u32, after: u64) {
        self.apply(&mut state.done, &mut state.ready, head);
        state.in_use = after;
    }

    /// The ops of a sequence of heads, in the order in which they run.
    pub(super) fn expand(&self, heads: &[u32]) -> Vec<u32> {
        let mut done = vec![0; self.problem.words()];
        let mut order = Vec::with_capacity(self.problem.len());
        for &head in heads {
            for &op in self.block[head as usize].iter().chain([&head]) {
                if !bits::contains(&done, op) {
                    bits::insert(&mut done, op);
                    order.push(op);
                }
            }
        }
        order
    }
}

fn find_lazy(problem: &Problem, closure: &Closure, predecessors: &[Vec<u32>]) -> Vec<bool> {
    let n = problem.len();
    let mut successors = vec![Vec::new(); n];
    for (op, list) in predecessors.iter().enumerate() {
        for &p in list {
            successors[p as usize].push(op as u32);
        }
    }
    let mut latest = vec![0; problem.words()];
    let (allocated, freed): (Vec<u64>, Vec<u64>) = (0..problem.ops)
        .map(|op| {
            for (word, &descendants) in latest.iter_mut().zip(closure.descendants.row(op)) {
                *word = !descendants;
            }
            bits::remove(&mut latest, op);
            (problem.allocated(&latest, op), problem.freed(&latest, op))
        })
        .unzip();
    let mut lazy = vec![false; n];
    // How many lazy ops lead to an op through lazy ops, at most. Any of them may be taken for a head: that keeps blocks short.
    let mut behind = vec![0_usize; n];
    for &op in &problem.topological {
        let u = op as usize;
        let before = predecessors[u].iter().filter(|&&p| lazy[p as usize]).map(|&p| 1 + behind[p as usize]);
        behind[u] = before.fold(0, usize::saturating_add);
        lazy[u] = behind[u] < LONGEST_BLOCK
            && !successors[u].is_empty()
            && allocated[u] >= freed[u]
            && successors[u].iter().all(|&v| freed[u] <= allocated[v as usize]);
    }
    lazy
}

#[cfg(test)]
mod tests {
    use super::super::testing::{is_order, least_peak, problems};
    use super::*;
    use std::collections::BTreeMap;

    /// The least peak of all sequences of heads.
    fn least_of_heads(instance: &Instance, state: &State, peak: u64, known: &mut BTreeMap<u64, u64>) -> u64 {
        if state.is_complete() {
            return peak;
        }
        let best = known.entry(state.done[0]).or_insert(u64::MAX);
        if *best <= peak {
            return u64::MAX;
        }
        *best = peak;
        let after = |head: u32| {
            let mut next = state.clone();
            let cost = instance.cost(&mut next.done, next.in_use, head);
            assert_eq!(next.done, state.done, "it was put back");
            instance.advance(&mut next, head, cost.after);
            assert_eq!(next.in_use, instance.problem.in_use_after(&next.done));
            least_of_heads(instance, &next, peak.max(cost.during), known)
        };
        bits::iter(&state.ready).map(after).min().unwrap_or(u64::MAX)
    }

    #[test]
    fn an_optimal_order_can_be_had_from_heads_alone() {
        let mut lazy = 0;
        for problem in problems() {
            let instance = Instance::new(problem.clone(), true);
            let start = instance.start();
            let least = least_of_heads(&instance, &start, start.in_use, &mut BTreeMap::new());
            assert_eq!(least, least_peak(&problem));
            assert!(is_order(&problem, &instance.expand(&instance.heads)));
            lazy += problem.len() - instance.heads.len();
            assert_eq!(Instance::new(problem.clone(), false).heads.len(), problem.len());
        }
        assert!(lazy > 100, "{lazy}");
    }
}
