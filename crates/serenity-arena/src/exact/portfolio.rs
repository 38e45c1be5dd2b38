//! Runs many short searches instead of one long one.
//!
//! It is not known in advance which strategy suits a problem, but some strategy nearly always succeeds at once. So all
//! take turns with few nodes each, and then with twice as many. What one refutes, all know.

use super::beam::{Beam, Shape};
use super::choose::{Key, Rule, Strategy};
use super::memo::Memo;
use super::model::{Direction, Model};
use super::search::{Outcome, Search};
use super::state::{NOWHERE, State};
use crate::{Problem, StopReason};
use serenity_search::Watch;

pub(super) struct Portfolio<'a> {
    problem: &'a Problem,
    /// The problem forwards in time and, once it is asked for, backwards.
    sides: Vec<Model>,
    memory: u64,
    /// The offsets of fixed buffers, 0 for the others.
    fixed: Vec<u64>,
    nodes: u64,
    seed: u64,
    known: Known,
}

/// What is known about one target.
struct Known {
    target: u64,
    memos: [Option<Memo>; 2],
    /// The least height that the branches cut off so far would have needed.
    least_violation: i64,
}

impl Default for Known {
    fn default() -> Self {
        Self { target: 0, memos: [None, None], least_violation: NOWHERE }
    }
}

/// How much to do for a target.
#[derive(Clone, Copy)]
pub(super) enum Thoroughness {
    /// All strategies, remembering what they refute.
    Full,
    /// A few strategies.
    Brief,
}

/// Strategies for a brief look.
const BRIEF: usize = 3;

pub(super) enum Attempt {
    /// A placement within the target.
    Found {
        /// Per buffer.
        offsets: Vec<u64>,
        height: u64,
    },
    /// Every placement needs this much, which is more than the target.
    Refuted { at_least: u64 },
    /// The nodes are used up.
    Unknown,
    /// The time is up, or the search was cancelled.
    Stopped(StopReason),
}

/// What is tried, in this order.
const STRATEGIES: &[(Rule, &[Key])] = &[
    (Rule::MiddleSection, &[Key::Duration]),
    (Rule::LowestSection, &[Key::Duration]),
    (Rule::MiddleSection, &[Key::Size]),
    (Rule::MiddleSection, &[Key::Pressure, Key::Size, Key::Duration]),
    (Rule::MiddleSection, &[Key::Area]),
    (Rule::MiddleItem, &[Key::Neighbours]),
    (Rule::LowestSection, &[Key::Pressure, Key::LongArea, Key::Duration]),
    (Rule::LowestItem, &[Key::Duration, Key::LongArea, Key::Pressure]),
    (Rule::MiddleSection, &[Key::LongArea]),
    (Rule::MiddleItem, &[Key::Duration]),
    (Rule::LowestItem, &[Key::Pressure, Key::Duration, Key::LongArea]),
    (Rule::MiddleSection, &[Key::Neighbours]),
    (Rule::LowestSection, &[Key::Neighbours]),
    (Rule::LowestSection, &[Key::Size]),
];

/// For the tables, if the caller gives no limit: a file from anywhere must not take all the memory there is.
const DEFAULT_MEMORY: u64 = 1 << 30;

impl<'a> Portfolio<'a> {
    /// `None` if there is not enough memory.
    pub(super) fn new(problem: &'a Problem, memory: u64) -> Option<Self> {
        let memory = memory.min(DEFAULT_MEMORY);
        let buffers = problem.buffers();
        Some(Self {
            problem,
            sides: vec![Model::new(problem, Direction::Forwards, memory / 4)?],
            memory,
            fixed: buffers.iter().map(|buffer| buffer.offset.unwrap_or(0)).collect(),
            nodes: 3 * buffers.len() as u64,
            seed: 0,
            known: Known::default(),
        })
    }

    /// A portfolio for another problem of the same size, with this one's nodes and seed.
    pub(super) fn on<'b>(&self, problem: &'b Problem) -> Option<Portfolio<'b>> {
        let portfolio = Portfolio::new(problem, self.memory)?;
        Some(Portfolio { nodes: self.nodes, seed: self.seed, ..portfolio })
    }

    /// What follows without any search.
    pub(super) fn bound(&self) -> u64 {
        let model = &self.sides[0];
        let mut state = State::new(model, NOWHERE);
        // Nothing can go wrong with so much room.
        let _ = state.propagate();
        state.least_height().max(model.fixed_top) as u64
    }

    /// Lets later attempts take twice as many nodes.
    pub(super) fn try_harder(&mut self) {
        self.nodes = self.nodes.saturating_mul(2);
    }

    /// Looks for a placement within the target.
    pub(super) fn attempt(&mut self, target: u64, effort: Thoroughness, watch: &mut Watch) -> Attempt {
        match effort {
            Thoroughness::Full => {
                let mut known = std::mem::take(&mut self.known);
                if known.target != target {
                    known = Known { target, ..Known::default() };
                }
                let outcome = self.rotate(&mut known, STRATEGIES, watch);
                self.known = known;
                outcome
            }
            Thoroughness::Brief => {
                self.rotate(&mut Known { target, ..Known::default() }, &STRATEGIES[..BRIEF], watch)
            }
        }
    }

    /// Looks for a placement within the target with a beam, in both directions of time.
    pub(super) fn beam(&mut self, target: u64, shape: Shape, watch: &mut Watch) -> Attempt {
        for side in [0, 1] {
            let memory = self.memory / 4;
            let Some(beam) = Beam::new(self.side(side), target, shape, memory) else { break };
            match beam.run(watch) {
                Ok(None) => {}
                Ok(Some(offsets)) => return self.found(&self.sides[side], &offsets),
                Err(reason) => return Attempt::Stopped(reason),
            }
        }
        Attempt::Unknown
    }

    /// The problem forwards (0) or backwards (1) in time.
    fn side(&mut self, side: usize) -> &Model {
        if side == self.sides.len() {
            // As large as the other, so there is memory for it.
            self.sides.extend(Model::new(self.problem, Direction::Backwards, u64::MAX));
        }
        &self.sides[side]
    }

    /// Every strategy plain, then with shaken keys; each in both directions.
    fn rotate(&mut self, known: &mut Known, strategies: &[(Rule, &[Key])], watch: &mut Watch) -> Attempt {
        for is_shaken in [false, true] {
            for &(rule, keys) in strategies {
                for side in [0, 1] {
                    self.seed += u64::from(is_shaken);
                    let seed = if is_shaken { self.seed } else { 0 };
                    let strategy = Strategy::new(self.side(side), rule, keys, seed);
                    match self.try_one(side, &strategy, known, watch) {
                        Attempt::Unknown => {}
                        settled => return settled,
                    }
                }
            }
        }
        Attempt::Unknown
    }

    fn try_one(&self, side: usize, strategy: &Strategy, known: &mut Known, watch: &mut Watch) -> Attempt {
        let model = &self.sides[side];
        let memo = known.memos[side].get_or_insert_with(|| Memo::new(self.memory / 8));
        let mut search = Search::new(State::new(model, known.target as i64), strategy, memo, self.nodes);
        let outcome = search.run(watch);
        known.least_violation = known.least_violation.min(search.state.least_violation);
        match outcome {
            Outcome::Found => self.found(model, &search.state.offset),
            Outcome::Refuted => Attempt::Refuted { at_least: known.least_violation as u64 },
            Outcome::Unknown => Attempt::Unknown,
            Outcome::Stopped(reason) => Attempt::Stopped(reason),
        }
    }

    fn found(&self, model: &Model, placed: &[i64]) -> Attempt {
        let mut offsets = self.fixed.clone();
        let mut height = model.fixed_top;
        for (item, &offset) in model.items.iter().zip(placed) {
            offsets[item.buffer] = offset as u64;
            height = height.max(offset + item.size);
        }
        Attempt::Found { offsets, height: height as u64 }
    }
}
