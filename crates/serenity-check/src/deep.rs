//! Proving a lower bound again, by a search of our own.
//!
//! To show that no order peaks below `bound`, all sets of ops that can be reached with less are visited. One reduction
//! makes that possible for real networks: **an op that can run within the limit and leaves no more in use than before
//! is run at once.** Whatever could be done without it can be done after it with no more memory, since the memory in
//! use is a submodular function of what has run, and whoever writes over what it reads last can do so the more, the
//! more has run. Everything else is plain enumeration, written without a look at the engine whose claims it checks.

use crate::holdings::{Figure, Holding, Holdings, holdings};
use serenity_facts::MemoryModel;
use serenity_ir::{Graph, OpId};
use std::collections::HashSet;

/// What became of trying to prove a bound again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reproved {
    /// No order peaks below the bound.
    Yes {
        /// How many sets of executed ops were visited.
        states: u64,
    },
    /// Some order peaks below the bound.
    No,
    /// More sets than the limit would have to be visited.
    GaveUp {
        /// How many sets were visited.
        states: u64,
    },
}

/// Tries to prove that no order of `graph` peaks below `bound`, visiting at most `most_states` sets of executed ops.
/// `stop` is asked now and then.
pub fn reprove(
    graph: &Graph,
    model: MemoryModel,
    bound: u64,
    most_states: u64,
    stop: &dyn Fn() -> bool,
) -> Reproved {
    reprove_figure(graph, model, Figure::Peak, bound, most_states, stop)
}

/// Tries to prove that no order holds less than `bound` at some step, as `figure` counts. For the arena,
/// [`Reproved::No`] only says that this cannot be shown in this way, whatever the plan.
pub(crate) fn reprove_figure(
    graph: &Graph,
    model: MemoryModel,
    figure: Figure,
    bound: u64,
    most_states: u64,
    stop: &dyn Fn() -> bool,
) -> Reproved {
    let Some(limit) = bound.checked_sub(1) else { return Reproved::Yes { states: 0 } };
    let limit = i128::from(limit);
    let search = Search::new(graph, model, figure, limit);
    let start = State { run: vec![0; search.words], in_use: search.at_start() };
    if start.in_use > limit {
        return Reproved::Yes { states: 0 };
    }
    let mut seen: HashSet<Box<[u64]>> = HashSet::new();
    let mut open = vec![start];
    while let Some(mut state) = open.pop() {
        search.run_what_costs_nothing(&mut state);
        if !seen.insert(state.run.clone().into_boxed_slice()) {
            continue;
        }
        let states = seen.len() as u64;
        // What is still open takes memory too.
        if states + open.len() as u64 >= most_states || (states.is_multiple_of(64) && stop()) {
            return Reproved::GaveUp { states };
        }
        let mut is_complete = true;
        for op in search.ready(&state) {
            is_complete = false;
            open.extend(search.after(&state, op));
        }
        if is_complete {
            return Reproved::No;
        }
    }
    Reproved::Yes { states: seen.len() as u64 }
}

/// A set of executed ops, and what it leaves in use.
struct State {
    run: Vec<u64>,
    in_use: i128,
}

fn has_run(state: &State, op: OpId) -> bool {
    state.run[op.index() / 64] >> (op.index() % 64) & 1 == 1
}

struct Search {
    words: usize,
    limit: i128,
    predecessors: Vec<Vec<OpId>>,
    holdings: Holdings,
    memory: Vec<Holding>,
    /// The memory each op writes or reads.
    touched: Vec<Vec<usize>>,
}

impl Search {
    fn new(graph: &Graph, model: MemoryModel, figure: Figure, limit: i128) -> Self {
        let ops = graph.ops().len();
        let holdings = holdings(graph, model, figure);
        let memory: Vec<Holding> = holdings.iter().cloned().collect();
        let mut touched = vec![Vec::new(); ops];
        for (i, holding) in memory.iter().enumerate() {
            for op in holding.writers.iter().chain(&holding.readers) {
                if touched[op.index()].last() != Some(&i) {
                    touched[op.index()].push(i);
                }
            }
        }
        Self {
            words: ops.div_ceil(64),
            limit,
            predecessors: graph.op_ids().map(|op| graph.predecessors(op)).collect(),
            holdings,
            memory,
            touched,
        }
    }

    fn at_start(&self) -> i128 {
        self.memory.iter().filter(|m| m.writers.is_empty()).map(|m| m.bytes).sum()
    }

    fn ready<'a>(&'a self, state: &'a State) -> impl Iterator<Item = OpId> + 'a {
        (0..self.predecessors.len()).map(OpId::from_index).filter(|&op| {
            !has_run(state, op) && self.predecessors[op.index()].iter().all(|&p| has_run(state, p))
        })
    }

    /// The state after running `op`, if that stays within the limit.
    fn after(&self, state: &State, op: OpId) -> Option<State> {
        let mut during = state.in_use;
        let mut freed = 0;
        for &i in &self.touched[op.index()] {
            let memory = &self.memory[i];
            let is_new = memory.writers.contains(&op) && !memory.writers.iter().any(|&w| has_run(state, w));
            if is_new {
                during += memory.bytes;
            }
            let is_last = !memory.kept
                && memory.readers.contains(&op)
                && memory.readers.iter().all(|&r| r == op || has_run(state, r));
            if is_last {
                freed += memory.bytes;
            }
        }
        let is_free = |old: &Holding| !old.kept && old.readers.iter().all(|&r| r == op || has_run(state, r));
        if during - self.holdings.in_place.saved(op, &self.holdings.tensors, is_free) > self.limit {
            return None;
        }
        let mut run = state.run.clone();
        run[op.index() / 64] |= 1 << (op.index() % 64);
        Some(State { run, in_use: during - freed })
    }

    fn run_what_costs_nothing(&self, state: &mut State) {
        loop {
            let free = self
                .ready(state)
                .find_map(|op| self.after(state, op).filter(|next| next.in_use <= state.in_use));
            match free {
                Some(next) => *state = next,
                None => return,
            }
        }
    }
}
