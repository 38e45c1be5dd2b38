//! The decision procedure: can the end be reached within a limit?
//!
//! **Rule R8, inner commitments.** A *valley* of `X` is a set `T ≠ X` reachable from it within the limit with `f(T) <=
//! f(X)`. To find one, make a move to `Y`; while `f(Y) > f(X)`, look for a valley of `Y` in the same way and go there
//! (to its largest minimiser, R3). If `Y` has none, this first move was in vain. *The search finds a valley of `X` if
//! there is one.* Proof sketch. R1 lets `Y` be replaced by its minimised valley: what could be reached from `Y` can be
//! reached from there. If `Y` has no valley, everything reachable from it has more in use than `Y`, hence more than
//! `X`. States without a valley are remembered.
//!
//! **Rule R9, components.** When looking for a valley of `Y`, which was reached from `X` by running `D = Y \ X`, *only
//! moves in those connected components of the remaining ops need be tried that `D` touches* (connected by precedence,
//! or by a buffer whose state can still change). Proof sketch. f is a sum over components, so if a valley is a union of
//! parts in several components, one part alone is a valley: take an inclusion-minimal one, it lies in one component. If
//! that does not touch `D`, it is a valley of `X` already, with less in use on the way, and will be found from there.

use super::commit;
use super::instance::{Instance, State};
use crate::bits;
use std::collections::HashSet;

/// What came of looking for a valley.
pub(super) enum Found {
    /// These moves lead to a minimised valley.
    Valley(Vec<u32>),
    /// These moves lead to the end.
    End(Vec<u32>),
    /// There is none: the end is out of reach within the limit.
    Nothing,
    /// The budget is spent.
    Budget,
}

/// Looks for valleys under one limit.
pub(super) struct Descent<'a> {
    instance: &'a Instance,
    limit: u64,
    components: bool,
    /// States that have no valley within the allowed moves.
    hopeless: HashSet<Box<[u64]>>,
    /// States explored.
    pub(super) expanded: u64,
    /// For every head, the buffers it may bring to life or let go.
    buffers_of: Vec<Vec<u32>>,
}

/// Looking for a valley of one state.
struct Frame {
    state: State,
    allowed: Vec<u64>,
    /// Moves still to be tried, the most promising last.
    untried: Vec<(u64, u32)>,
    /// How many moves led here.
    moves_before: usize,
    /// Where the current excursion has come to.
    excursion: State,
}

impl<'a> Descent<'a> {
    pub(super) fn new(instance: &'a Instance, limit: u64, components: bool) -> Self {
        let mut buffers_of = vec![Vec::new(); instance.problem.len()];
        for (b, buffer) in instance.problem.buffers.iter().enumerate() {
            for op in buffer.writers.iter().chain(&buffer.readers) {
                for &head in &instance.moved_by[op.index()] {
                    buffers_of[head as usize].push(b as u32);
                }
            }
        }
        for list in &mut buffers_of {
            list.sort_unstable();
            list.dedup();
        }
        Self { instance, limit, components, hopeless: HashSet::new(), expanded: 0, buffers_of }
    }

    /// Bytes taken by what is remembered.
    pub(super) fn memory(&self) -> u64 {
        self.hopeless.capacity() as u64 * (16 * self.instance.problem.words() as u64 + 32)
    }

    /// Looks for a valley of `start`, or the end. Explores at most `budget` states in all over the life of this object.
    /// Ends when that or the memory is spent.
    pub(super) fn find_valley(
        &mut self,
        start: &State,
        budget: u64,
        memory: u64,
        stop: &dyn Fn() -> bool,
    ) -> Found {
        let mut moves: Vec<u32> = Vec::new();
        let Some(root) = self.enter(start.clone(), start.ready.clone(), 0) else {
            return Found::Nothing;
        };
        let mut stack = vec![root];
        // Explicit, because excursions may nest as deep as the graph.
        while let Some(frame) = stack.last_mut() {
            let Some((after, head)) = frame.untried.pop() else {
                // No move helps: remember, and give up the move that led here.
                self.hopeless.insert(memory_key(&frame.state, &frame.allowed));
                stack.pop();
                if let Some(parent) = stack.last() {
                    moves.truncate(parent.moves_before);
                }
                continue;
            };
            if self.expanded > budget
                || (self.expanded.is_multiple_of(64) && (stop() || self.memory() > memory))
            {
                return Found::Budget;
            }
            frame.excursion.clone_from(&frame.state);
            self.instance.advance(&mut frame.excursion, head, after);
            moves.push(head);
            // Follow the excursion down as far as it goes, then hand its valley to whoever was waiting for it.
            loop {
                let Some(frame) = stack.last_mut() else { return Found::Nothing };
                if frame.excursion.is_complete() {
                    return Found::End(moves);
                }
                if frame.excursion.in_use > frame.state.in_use {
                    let (before, state) = (moves.len(), frame.excursion.clone());
                    let allowed = self.touched(&frame.state, &state);
                    match self.enter(state, allowed, before) {
                        Some(inner) => stack.push(inner),
                        None => moves.truncate(frame.moves_before),
                    }
                    break;
                }
                let valley = self.minimise(frame, &mut moves);
                stack.pop();
                match stack.last_mut() {
                    Some(parent) => parent.excursion = valley,
                    None => return Found::Valley(moves),
                }
            }
        }
        Found::Nothing
    }

    /// Begins to look for a valley of `state`, unless it is known to have none.
    fn enter(&mut self, mut state: State, allowed: Vec<u64>, moves_before: usize) -> Option<Frame> {
        if self.hopeless.contains(&memory_key(&state, &allowed)) {
            return None;
        }
        self.expanded += 1;
        let mut untried = Vec::new();
        for head in bits::iter(&allowed) {
            let cost = self.instance.cost(&mut state.done, state.in_use, head);
            if cost.during <= self.limit {
                untried.push((cost.after, head));
            }
        }
        untried.sort_unstable_by(|a, b| b.cmp(a));
        let excursion = state.clone();
        Some(Frame { state, allowed, untried, moves_before, excursion })
    }

    /// The largest minimiser between a frame's state and the valley its excursion has reached; `moves` is cut to match.
    fn minimise(&self, frame: &Frame, moves: &mut Vec<u32>) -> State {
        let taken = &moves[frame.moves_before..];
        if taken.len() == 1 {
            return frame.excursion.clone();
        }
        let kept = commit::minimised(self.instance, &frame.state, taken);
        if kept.len() == taken.len() || kept.is_empty() {
            return frame.excursion.clone();
        }
        moves.truncate(frame.moves_before);
        let mut state = frame.state.clone();
        for head in kept {
            let cost = self.instance.cost(&mut state.done, state.in_use, head);
            self.instance.advance(&mut state, head, cost.after);
            moves.push(head);
        }
        state
    }

    /// The heads that can run after `now` and are connected to what ran since `before`.
    fn touched(&self, before: &State, now: &State) -> Vec<u64> {
        if !self.components {
            return now.ready.clone();
        }
        let instance = self.instance;
        let mut seen = vec![0; now.done.len()];
        let mut open: Vec<u32> = Vec::new();
        let mut buffer_seen = vec![false; instance.problem.buffers.len()];
        let visit = |head: u32, seen: &mut Vec<u64>, open: &mut Vec<u32>| {
            if !bits::contains(&now.done, head) && !bits::contains(seen, head) {
                bits::insert(seen, head);
                open.push(head);
            }
        };
        for op in bits::iter(&now.done).filter(|&op| !bits::contains(&before.done, op)) {
            for head in bits::iter(instance.affects.row(op)) {
                visit(head, &mut seen, &mut open);
            }
        }
        while let Some(head) = open.pop() {
            for &other in instance.needs[head as usize].iter().chain(&instance.enables[head as usize]) {
                visit(other, &mut seen, &mut open);
            }
            for &b in &self.buffers_of[head as usize] {
                if std::mem::replace(&mut buffer_seen[b as usize], true) {
                    continue;
                }
                let buffer = &instance.problem.buffers[b as usize];
                let alive =
                    buffer.from_start || buffer.writers.iter().any(|w| bits::contains(&now.done, w.0));
                // Once it is alive, only its readers can still change anything.
                let writers = if alive { &[][..] } else { &buffer.writers[..] };
                for op in writers.iter().chain(&buffer.readers) {
                    for &other in &instance.moved_by[op.index()] {
                        visit(other, &mut seen, &mut open);
                    }
                }
            }
        }
        for (seen, &ready) in seen.iter_mut().zip(&now.ready) {
            *seen &= ready;
        }
        seen
    }
}

fn memory_key(state: &State, allowed: &[u64]) -> Box<[u64]> {
    state.done.iter().chain(allowed).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{NEVER, least_peak, problems, reachable};
    use super::*;
    use crate::walk::peak_of;

    #[test]
    fn a_valley_is_found_just_where_there_is_one() {
        let mut hopeless = 0;
        for problem in problems() {
            let instance = Instance::new(problem.clone(), false);
            let (start, all) = (instance.start(), (1 << problem.ops) - 1);
            for limit in [least_peak(&problem) - 1, least_peak(&problem)] {
                let is_valley = |&set: &u64| problem.in_use_after(&[set]) <= start.in_use;
                let has_valley = reachable(&problem, 0, limit).iter().skip(1).any(is_valley);
                for components in [false, true] {
                    let mut descent = Descent::new(&instance, limit, components);
                    match descent.find_valley(&start, u64::MAX, u64::MAX, NEVER) {
                        Found::Valley(moves) | Found::End(moves) => {
                            let set = moves.iter().fold(0, |set, head| set | 1 << head);
                            assert!(peak_of(&problem, &moves) <= limit && (is_valley(&set) || set == all));
                        }
                        Found::Nothing => assert!(!has_valley),
                        Found::Budget => panic!("there is no end to the budget"),
                    }
                    hopeless += usize::from(!has_valley);
                }
            }
        }
        assert!(hopeless > 20, "{hopeless}");
    }
}
