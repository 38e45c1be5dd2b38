//! A lower bound that can be checked cut by cut.
//!
//! What rule L2 finds ([`precedence`](super::precedence)) is a chain of cuts: *in every order within the limit `first`
//! runs before `second`, because while one of them runs, more than the limit is in use otherwise.* Each step may rest on
//! those before it. The chain ends with an op that has no room left at all, so no order is within the limit.
//!
//! The search finds more than its end needs. So the chain is gone through backwards: the maximum flow of a cut runs along
//! the precedence that the cut rests on, and only those steps are kept.
//!
//! The cuts are made in a part between waypoints, and hold for the whole: joining a set with the first waypoint, and
//! intersecting it with the second, does not raise what is in use, and leaves the part's ops as they are.

use super::flow::{Network, UNLIMITED};
use super::inference::{MOST_OPS, states_per_cut};
use super::precedence::{Ended, Precedence};
use super::{LARGEST_WHOLE, Rules, part, waypoints};
use crate::walk::steps_of;
use crate::{OpIndex, Problem, Schedule};

/// One step of the search for precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// `first` runs before `second`: otherwise too much is in use while `running` runs, one of the two.
    Edge { first: u32, second: u32, running: u32 },
    /// From here on `first` is taken to run before `second`.
    Assumption { first: u32, second: u32 },
    /// Too much is in use while `op` runs.
    Contradiction { op: u32 },
    /// The last assumption, of the opposite, was refuted.
    Conclusion { first: u32, second: u32 },
}

/// One step of a proof that no order is within a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CutStep {
    /// `first` runs before `second`. If it does not, more than the limit is in use while `running` runs, one of the two.
    Edge {
        /// Runs before
        first: OpIndex,
        /// this one.
        second: OpIndex,
        /// The one that is cut.
        running: OpIndex,
    },
    /// `first` runs before `second`. If `second` runs before `first`, more steps end in a contradiction.
    Probe {
        /// Runs before
        first: OpIndex,
        /// this one.
        second: OpIndex,
        /// What follows if it does not.
        otherwise: Vec<CutStep>,
    },
    /// More than the limit is in use while `running` runs.
    Contradiction {
        /// The op without room.
        running: OpIndex,
    },
}

impl Found {
    /// The op that has no room, or the two of which one runs first.
    fn ops(&mut self) -> Vec<&mut u32> {
        match self {
            Self::Edge { first, second, running } => vec![first, second, running],
            Self::Assumption { first, second } | Self::Conclusion { first, second } => vec![first, second],
            Self::Contradiction { op } => vec![op],
        }
    }
}

/// The steps in terms of the ops that each op stands for; none if one stands for several.
pub(super) fn renamed(found: &[Found], stands_for: impl Fn(u32) -> Vec<u32>) -> Vec<Found> {
    let mut renamed = found.to_vec();
    for op in renamed.iter_mut().flat_map(Found::ops) {
        let [name] = stands_for(*op)[..] else { return Vec::new() };
        *op = name;
    }
    renamed
}

/// Looks for a chain of cuts that proves that no order of `problem` peaks below the bound of `schedule`, an optimal one. If
/// the search was not settled by one, it may take about as long as a search takes to visit so many `states`.
///
/// There may be none: then the bound rests on the search.
///
/// # Panics
/// If the schedule is for another problem.
pub fn cut_steps(
    problem: &Problem,
    schedule: &Schedule,
    states: u64,
    stop: &dyn Fn() -> bool,
) -> Option<Vec<CutStep>> {
    let limit = schedule.bound.checked_sub(1)?;
    if !problem.hand_overs.is_empty() || problem.len() > LARGEST_WHOLE {
        return None;
    }
    explained(problem, limit, &schedule.refutation, OpIndex).or_else(|| {
        let order: Vec<u32> = schedule.order.iter().map(|op| op.0).collect();
        looked_for(problem, limit, &order, states, stop)
    })
}

/// A chain of cuts in the shortest part that may decide.
fn looked_for(
    problem: &Problem,
    limit: u64,
    order: &[u32],
    states: u64,
    stop: &dyn Fn() -> bool,
) -> Option<Vec<CutStep>> {
    let names: Vec<u32> = (0..problem.ops).collect();
    let groups = waypoints::split(problem, order, &Rules::default(), stop);
    let mut parts = part::of_groups(problem, &groups, &names);
    parts.retain(|part| part.upper > limit && part.problem.len() <= MOST_OPS);
    parts.sort_by_key(|part| part.problem.len());
    let mut left = states;
    parts.iter().find_map(|part| {
        let mut needs = vec![0; part.problem.len()];
        for (&op, step) in part.order.iter().zip(steps_of(&part.problem, &part.order)) {
            needs[op as usize] = step.during;
        }
        let mut search = Precedence::new(part.problem.clone(), limit, |op| needs[op as usize]);
        let states_per_cut = states_per_cut(part.problem.ops);
        let cuts = left / states_per_cut;
        let mut ended = search.infer(cuts);
        if ended == Ended::Exhausted {
            ended = search.probe(cuts.saturating_sub(search.cuts));
        }
        left = left.saturating_sub(search.cuts * states_per_cut);
        if ended != Ended::Refuted || stop() {
            return None;
        }
        explained(&part.problem, limit, &search.found, |op| OpIndex(part.names[op as usize]))
    })
}

/// The steps that the last one needs; `None` if they do not hold in this problem.
fn explained(
    problem: &Problem,
    limit: u64,
    found: &[Found],
    name: impl Fn(u32) -> OpIndex,
) -> Option<Vec<CutStep>> {
    if !matches!(found.last(), Some(Found::Contradiction { .. })) {
        return None;
    }
    let needed = needed(problem, limit, found)?;
    Some(steps(found, &needed, &mut 0, &name))
}

/// Which of the steps found the last one rests on; `None` if one of them does not hold.
fn needed(problem: &Problem, limit: u64, found: &[Found]) -> Option<Vec<bool>> {
    let mut needed = vec![false; found.len()];
    if let Some(last) = needed.last_mut() {
        *last = true;
    }
    let mut assumption = None;
    for at in (0..found.len()).rev() {
        match found[at] {
            Found::Conclusion { .. } => {
                // What comes before it down to its assumption holds under that alone.
                assumption = (0..at).rev().find(|&i| matches!(found[i], Found::Assumption { .. }));
                needed[at - 1] = needed[at];
            }
            Found::Assumption { .. } => {
                needed[at] = needed_until_concluded(found, &needed, at);
                assumption = None;
            }
            Found::Edge { .. } | Found::Contradiction { .. } if needed[at] => {
                let visible = visible(found, at, assumption);
                if !rests_on(problem, limit, found, at, &visible, &mut needed) {
                    return None;
                }
            }
            _ => {}
        }
    }
    Some(needed)
}

/// Is the conclusion of an assumption needed?
fn needed_until_concluded(found: &[Found], needed: &[bool], assumption: usize) -> bool {
    let end = (assumption..found.len()).find(|&i| matches!(found[i], Found::Conclusion { .. }));
    end.is_none_or(|end| needed[end])
}

/// The steps before `at` that state a precedence there: under the assumption, if there is one, or under none.
fn visible(found: &[Found], at: usize, assumption: Option<usize>) -> Vec<usize> {
    let mut visible = Vec::new();
    let mut outside = 0;
    for (i, step) in found[..at].iter().enumerate() {
        match step {
            Found::Assumption { .. } => {
                outside = visible.len();
                visible.push(i);
            }
            Found::Conclusion { .. } => {
                visible.truncate(outside);
                visible.push(i);
            }
            Found::Edge { .. } => visible.push(i),
            Found::Contradiction { .. } => {}
        }
    }
    debug_assert!(assumption.is_none_or(|assumption| visible.contains(&assumption)));
    visible
}

/// Marks the visible steps that a cut needs: as few new ones as one maximum flow can tell. Does the cut hold?
fn rests_on(
    problem: &Problem,
    limit: u64,
    found: &[Found],
    at: usize,
    visible: &[usize],
    needed: &mut [bool],
) -> bool {
    let (running, assumed) = match found[at] {
        Found::Edge { first, second, running } if running == first => (running, Some((second, true))),
        Found::Edge { first, running, .. } => (running, Some((first, false))),
        Found::Contradiction { op } => (op, None),
        Found::Assumption { .. } | Found::Conclusion { .. } => return true,
    };
    let mut cut = Cut { network: Network::new(problem.len() + 2), running };
    cut.add_problem(problem);
    match assumed {
        Some((op, true)) => _ = cut.network.add_edge(SOURCE, cut.end(op), UNLIMITED),
        Some((op, false)) => _ = cut.network.add_edge(cut.start(op), SINK, UNLIMITED),
        None => {}
    }
    let Some(room) = limit.checked_sub(problem.base) else { return true };
    let mut new = Vec::new();
    for &step in visible {
        let (Found::Edge { first, second, .. }
        | Found::Assumption { first, second }
        | Found::Conclusion { first, second }) = found[step]
        else {
            continue;
        };
        let is_known = needed[step];
        let capacity = if is_known { UNLIMITED } else { 0 };
        let edge = cut.network.add_edge(cut.start(second), cut.end(first), capacity);
        if !is_known {
            new.push((step, edge));
        }
    }
    let mut flow = cut.network.maximise_beyond(SOURCE, SINK, room);
    if flow <= room {
        for &(_, edge) in &new {
            cut.network.open(edge);
        }
        flow += cut.network.maximise_beyond(SOURCE, SINK, room - flow);
        for (step, edge) in new {
            needed[step] |= cut.network.is_used(edge);
        }
    }
    flow > room
}

/// The steps that are needed, from `at` to the end of what follows from one assumption.
fn steps(found: &[Found], needed: &[bool], at: &mut usize, name: &impl Fn(u32) -> OpIndex) -> Vec<CutStep> {
    let mut steps = Vec::new();
    while let Some(&step) = found.get(*at) {
        let is_needed = needed[*at];
        *at += 1;
        match step {
            Found::Edge { first, second, running } if is_needed => {
                let (first, second, running) = (name(first), name(second), name(running));
                steps.push(CutStep::Edge { first, second, running });
            }
            Found::Contradiction { op } if is_needed => {
                steps.push(CutStep::Contradiction { running: name(op) });
            }
            Found::Assumption { first, second } => {
                let otherwise = self::steps(found, needed, at, name);
                if is_needed {
                    let (first, second) = (name(second), name(first));
                    steps.push(CutStep::Probe { first, second, otherwise });
                }
            }
            Found::Conclusion { .. } => return steps,
            _ => {}
        }
    }
    steps
}

const SOURCE: u32 = 0;
const SINK: u32 = 1;

/// The network of a problem in which one op runs ([`cuts`](super::cuts)), with an edge for every precedence.
struct Cut {
    network: Network,
    running: u32,
}

impl Cut {
    /// In the set once the op has begun.
    fn start(&self, op: u32) -> u32 {
        if op == self.running { SOURCE } else { op + 2 }
    }

    /// In the set once the op has ended.
    fn end(&self, op: u32) -> u32 {
        if op == self.running { SINK } else { op + 2 }
    }

    fn add_problem(&mut self, problem: &Problem) {
        for op in 0..problem.ops {
            for &p in &problem.predecessors[op as usize] {
                self.network.add_edge(self.start(op), self.end(p), UNLIMITED);
            }
        }
        for buffer in &problem.buffers {
            let alloc = if buffer.from_start { SOURCE } else { self.network.add_node() };
            let kept = if buffer.to_end { SINK } else { self.network.add_node() };
            if !buffer.from_start {
                for writer in &buffer.writers {
                    self.network.add_edge(self.start(writer.0), alloc, UNLIMITED);
                }
            }
            if !buffer.to_end {
                for reader in &buffer.readers {
                    self.network.add_edge(kept, self.end(reader.0), UNLIMITED);
                }
            }
            self.network.add_edge(alloc, kept, buffer.bytes);
        }
    }
}
