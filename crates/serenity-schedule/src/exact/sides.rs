//! A part searched from its beginning and from its end, in turns.

use super::Rules;
use super::flood::{Event, Flood};
use super::instance::Instance;
use crate::Problem;
use std::collections::HashSet;

/// A round of at least so many states is worth a thread.
const WORTH_A_THREAD: u64 = 1024;

/// A part in both directions of time.
pub(super) struct Directions {
    forward: Instance,
    backward: Instance,
}

impl Directions {
    pub(super) fn of(problem: &Problem, rules: &Rules) -> Self {
        Self {
            forward: Instance::new(problem.clone(), rules.lazy),
            backward: Instance::new(problem.reversed(), rules.lazy),
        }
    }

    /// For floods that branch over what is let go next.
    pub(super) fn by_releases(problem: &Problem) -> Self {
        Self {
            forward: Instance::by_releases(problem.clone()),
            backward: Instance::by_releases(problem.reversed()),
        }
    }
}

/// The floods from both ends; from the beginning alone, if the rules say so.
pub(super) struct Sides<'d> {
    sides: Vec<Side<'d>>,
}

struct Side<'d> {
    instance: &'d Instance,
    is_forward: bool,
    flood: Flood<'d>,
}

impl Side<'_> {
    /// What these heads stand for, in the direction of time.
    fn order(&self, heads: &[u32]) -> Vec<u32> {
        let mut order = self.instance.expand(heads);
        if !self.is_forward {
            order.reverse();
        }
        order
    }
}

/// How far one round may go.
pub(super) struct Round {
    pub(super) states: u64,
    /// Orders that peak as high are of no interest.
    pub(super) ceiling: u64,
    /// Bytes for all tables.
    pub(super) memory: u64,
    pub(super) threads: usize,
}

impl<'d> Sides<'d> {
    pub(super) fn new(directions: &'d Directions, rules: &'d Rules, level: u64) -> Self {
        let mut sides = Self { sides: Vec::new() };
        sides.add(directions, rules, level);
        sides
    }

    /// Adds floods of the same part.
    pub(super) fn add(&mut self, directions: &'d Directions, rules: &'d Rules, level: u64) {
        let Directions { forward, backward } = directions;
        let side = |instance, is_forward| {
            let flood = Flood::new(instance, rules, level);
            Side { instance, is_forward, flood }
        };
        self.sides.push(side(forward, true));
        self.sides.extend(rules.backward.then(|| side(backward, false)));
    }

    /// One round of every flood, in parallel if that is worth a thread. The order that the first of them has found, if
    /// one has, and the states visited up to it one after the other: neither depends on which is faster.
    pub(super) fn run(&mut self, round: &Round, stop: &(dyn Fn() -> bool + Sync)) -> (Option<Vec<u32>>, u64) {
        let Round { states, ceiling, threads, .. } = *round;
        let memory = round.memory / self.sides.len() as u64;
        let before: Vec<u64> = self.sides.iter().map(|side| side.flood.expanded).collect();
        let run = |side: &mut Side| side.flood.run(states, ceiling, memory, &stop);
        let events: Vec<Event> = if threads > 1 && states >= WORTH_A_THREAD {
            std::thread::scope(|scope| {
                let runs: Vec<_> = self.sides.iter_mut().map(|side| scope.spawn(|| run(side))).collect();
                runs.into_iter()
                    .map(|run| run.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                    .collect()
            })
        } else {
            let mut events = Vec::new();
            for side in &mut self.sides {
                let event = run(side);
                let is_last = !matches!(event, Event::Budget);
                events.push(event);
                if is_last {
                    break;
                }
            }
            events
        };
        let mut visited = 0;
        for ((side, before), event) in self.sides.iter().zip(before).zip(events) {
            visited += side.flood.expanded - before;
            match event {
                Event::Solved(heads) => return (Some(side.order(&heads)), visited),
                Event::Ceiling => return (None, visited),
                Event::Budget => {}
            }
        }
        (None, visited)
    }

    /// No order peaks below this.
    pub(super) fn level(&self) -> u64 {
        self.sides.iter().map(|side| side.flood.level).max().unwrap_or(0)
    }

    /// States visited so far.
    pub(super) fn expanded(&self) -> u64 {
        self.sides.iter().map(|side| side.flood.expanded).sum()
    }

    /// Bytes of all tables.
    pub(super) fn memory(&self) -> u64 {
        self.sides.iter().map(|side| side.flood.memory()).sum()
    }

    /// No order peaks below this, as was found elsewhere.
    pub(super) fn raise(&mut self, level: u64) {
        for side in &mut self.sides {
            side.flood.raise(level);
        }
    }

    /// What an order of least peak may begin with and end with. Where both would have the same ops, the longer one alone.
    pub(super) fn commitments(&self) -> (Vec<u32>, Vec<u32>) {
        let (mut prefix, mut suffix) = (Vec::new(), Vec::new());
        for side in &self.sides {
            let end = if side.is_forward { &mut prefix } else { &mut suffix };
            let settled = side.order(&side.flood.committed);
            if settled.len() > end.len() {
                *end = settled;
            }
        }
        let begun: HashSet<&u32> = prefix.iter().collect();
        if suffix.iter().any(|op| begun.contains(op)) {
            if prefix.len() >= suffix.len() { suffix.clear() } else { prefix.clear() }
        }
        (prefix, suffix)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{NEVER, is_order, least_peak, problems};
    use super::*;
    use crate::walk::peak_of;

    #[test]
    fn both_sides_come_to_the_same_whoever_is_faster() {
        for problem in problems() {
            let (least, rules) = (least_peak(&problem), Rules::default());
            let directions = Directions::of(&problem, &rules);
            let mut answers = [1, 2].map(|threads| {
                let mut sides = Sides::new(&directions, &rules, 0);
                // Worth a thread, and more than there are states.
                let round = Round { states: 2048, ceiling: u64::MAX, memory: u64::MAX, threads };
                let (order, visited) = sides.run(&round, NEVER);
                assert!(sides.level() <= least && sides.expanded() >= visited);
                let (prefix, suffix) = sides.commitments();
                assert!(prefix.iter().all(|op| !suffix.contains(op)));
                (order.unwrap(), visited)
            });
            assert_eq!(answers[0], answers[1]);
            let order = std::mem::take(&mut answers[0].0);
            assert!(is_order(&problem, &order));
            assert_eq!(peak_of(&problem, &order), least);
        }
    }
}
