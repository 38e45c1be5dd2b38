//! The bottleneck search: the least level at which the end can be reached.
//!
//! States are sets of executed ops. A move is open if it stays within the current level, and waits at the level it
//! needs otherwise. Open states are explored in order of memory in use, larger sets first. When nothing is open any
//! more, no order peaks within the level: it rises to the least one that something waits for, which is thereby a proved
//! lower bound. Reaching the end proves the level to be the optimum.
//!
//! Children are closed under eager moves (R2). When a state has no more in use than the root, the search commits to the
//! valley between them (R1, R3), throws its table away and starts again from there.

use super::Rules;
use super::commit;
use super::eager;
use super::instance::{Instance, State};
use super::releases::Releases;
use crate::bits;
use hashbrown::HashTable;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const NONE: u32 = u32::MAX;

/// Why a run ended.
pub(super) enum Event {
    /// The end was reached at the current level: these heads, in this order.
    Solved(Vec<u32>),
    /// The level has reached the ceiling: no order peaks below it.
    Ceiling,
    /// The budget is spent.
    Budget,
}

/// A search in one direction.
pub(super) struct Flood<'a> {
    instance: &'a Instance,
    rules: &'a Rules,
    /// No order peaks below this, and nothing above it has been explored.
    pub(super) level: u64,
    /// Moves that are part of every answer from here on.
    pub(super) committed: Vec<u32>,
    /// See [`Flood::commitments`].
    commitments: Vec<(u64, usize)>,
    /// States explored.
    pub(super) expanded: u64,
    table: Table,
    open: BinaryHeap<Reverse<(u64, Reverse<u32>, u32)>>,
    waiting: BinaryHeap<Reverse<(u64, u32)>>,
}

/// Room to work in, so that exploring a state allocates nothing.
struct Scratch {
    state: State,
    child: State,
    candidates: Vec<u64>,
    moves: Vec<(u32, u64)>,
    trail: Vec<u32>,
}

/// All states since the last commitment, as columns. Where many moves are open, most states are never explored, so sets of
/// ops are kept only of those that are: the sets of another state follow from its parent, which has been explored, and the
/// moves from there.
#[derive(Default)]
struct Table {
    words: usize,
    /// What has run and what is ready in each explored state.
    sets: Vec<u64>,
    /// Which of `sets` belong to a state; `NONE` if it has not been explored.
    row: Vec<u32>,
    /// How many ops have run.
    size: Vec<u32>,
    in_use: Vec<u64>,
    hash: Vec<u64>,
    /// The state before, and the moves that led from there to here (a slice of `moves`).
    parent: Vec<u32>,
    moves_end: Vec<u32>,
    moves: Vec<u32>,
    index: HashTable<u32>,
}

impl Table {
    fn clear(&mut self) {
        *self = Self { words: self.words, ..Self::default() };
    }

    /// The state that the table began with.
    fn root(&self) -> State {
        let (done, ready) = self.sets[..2 * self.words].split_at(self.words);
        State { done: done.to_vec(), ready: ready.to_vec(), in_use: self.in_use[0] }
    }

    /// The nearest explored state, which is the state itself or its parent, and the moves from there.
    fn origin(&self, id: u32) -> (&[u64], &[u64], &[u32]) {
        let (row, moves) = match self.row[id as usize] {
            NONE => (self.row[self.parent[id as usize] as usize], self.moves_into(id)),
            row => (row, [].as_slice()),
        };
        let (done, ready) = self.sets[row as usize * 2 * self.words..][..2 * self.words].split_at(self.words);
        (done, ready, moves)
    }

    fn load(&self, instance: &Instance, id: u32, state: &mut State) {
        let (done, ready, moves) = self.origin(id);
        state.done.copy_from_slice(done);
        state.ready.copy_from_slice(ready);
        for &head in moves {
            instance.apply(&mut state.done, &mut state.ready, head);
        }
        state.in_use = self.in_use[id as usize];
    }

    /// Keeps the sets of a state, because it is explored.
    fn keep(&mut self, id: u32, state: &State) {
        if self.row[id as usize] == NONE {
            self.row[id as usize] = (self.sets.len() / (2 * self.words).max(1)) as u32;
            self.sets.extend_from_slice(&state.done);
            self.sets.extend_from_slice(&state.ready);
        }
    }

    /// Have these `size` ops run in the state, and no others?
    fn has_run(&self, instance: &Instance, id: u32, done: &[u64], size: u32) -> bool {
        let (before, _, moves) = self.origin(id);
        // Sets of one size are equal if one holds the other.
        self.size[id as usize] == size
            && before.iter().zip(done).all(|(before, done)| before & !done == 0)
            && moves.iter().all(|&head| instance.has_run(done, head))
    }

    /// Adds a state unless it is known.
    fn insert(
        &mut self,
        instance: &Instance,
        state: &State,
        hash: u64,
        parent: u32,
        moves: &[u32],
    ) -> Option<u32> {
        let size = state.done.iter().map(|word| word.count_ones()).sum();
        let same = |&other: &u32| {
            self.hash[other as usize] == hash && self.has_run(instance, other, &state.done, size)
        };
        if self.index.find(hash, same).is_some() {
            return None;
        }
        let id = self.in_use.len() as u32;
        self.index.insert_unique(hash, id, |&other| self.hash[other as usize]);
        self.row.push(NONE);
        self.size.push(size);
        self.in_use.push(state.in_use);
        self.hash.push(hash);
        self.parent.push(parent);
        self.moves.extend_from_slice(moves);
        self.moves_end.push(self.moves.len() as u32);
        if parent == NONE {
            self.keep(id, state);
        }
        Some(id)
    }

    fn moves_into(&self, id: u32) -> &[u32] {
        let start = if id == 0 { 0 } else { self.moves_end[id as usize - 1] };
        &self.moves[start as usize..self.moves_end[id as usize] as usize]
    }

    /// All moves from the root to a state.
    fn path_to(&self, id: u32) -> Vec<u32> {
        let mut parts = Vec::new();
        let mut state = id;
        while state != NONE {
            parts.push(self.moves_into(state));
            state = self.parent[state as usize];
        }
        parts.iter().rev().flat_map(|part| part.iter().copied()).collect()
    }

    fn memory(&self) -> u64 {
        let wide = self.sets.capacity() + self.in_use.capacity() + self.hash.capacity();
        let narrow = self.row.capacity()
            + self.size.capacity()
            + self.parent.capacity()
            + self.moves_end.capacity()
            + self.moves.capacity();
        8 * wide as u64 + 4 * narrow as u64 + 6 * self.index.capacity() as u64
    }
}

impl<'a> Flood<'a> {
    pub(super) fn new(instance: &'a Instance, rules: &'a Rules, level: u64) -> Self {
        let start = instance.start();
        let mut flood = Self {
            instance,
            rules,
            level: level.max(start.in_use),
            committed: Vec::new(),
            commitments: Vec::new(),
            expanded: 0,
            table: Table { words: instance.problem.words(), ..Table::default() },
            open: BinaryHeap::new(),
            waiting: BinaryHeap::new(),
        };
        flood.add(&start, 0, NONE, &[]);
        flood
    }

    /// For each commitment, the level it needed and how many moves were committed after it.
    pub(super) fn commitments(&self) -> impl Iterator<Item = (u64, usize)> {
        self.commitments.iter().copied()
    }

    /// Bytes taken by the tables.
    pub(super) fn memory(&self) -> u64 {
        self.table.memory() + 24 * self.open.capacity() as u64 + 16 * self.waiting.capacity() as u64
    }

    /// Somebody else has proved that no order peaks below `level`.
    pub(super) fn raise(&mut self, level: u64) {
        if level > self.level {
            self.level = level;
            self.wake();
        }
    }

    /// Explores up to `budget` states. Levels of `ceiling` and above are of no interest. Ends early if the tables outgrow
    /// `memory`, or if told to.
    pub(super) fn run(&mut self, budget: u64, ceiling: u64, memory: u64, stop: &dyn Fn() -> bool) -> Event {
        let last = self.expanded.saturating_add(budget);
        let start = self.table.root();
        let mut scratch = Scratch {
            child: start.clone(),
            candidates: start.done.clone(),
            state: start,
            moves: Vec::new(),
            trail: Vec::new(),
        };
        loop {
            if self.level >= ceiling {
                return Event::Ceiling;
            }
            let Some(&Reverse((_, _, id))) = self.open.peek() else {
                match self.waiting.peek() {
                    Some(&Reverse((level, _))) => self.raise(level),
                    None => self.level = ceiling,
                }
                continue;
            };
            if self.expanded >= last
                || self.memory() > memory
                || (self.expanded.is_multiple_of(256) && stop())
            {
                return Event::Budget;
            }
            self.open.pop();
            self.expanded += 1;
            self.table.load(self.instance, id, &mut scratch.state);
            self.table.keep(id, &scratch.state);
            if scratch.state.is_complete() {
                let mut heads = self.committed.clone();
                heads.extend(self.table.path_to(id));
                return Event::Solved(heads);
            }
            match &self.instance.releases {
                None => self.expand(id, ceiling, &mut scratch),
                Some(releases) => self.expand_by(releases, id, ceiling, &mut scratch),
            }
        }
    }

    /// Explores the state `id`, which has been loaded.
    fn expand(&mut self, id: u32, ceiling: u64, scratch: &mut Scratch) {
        let instance = self.instance;
        let Scratch { state, child, candidates, moves, trail } = scratch;
        let mut blocked = u64::MAX;
        let mut is_closed = true;
        moves.clear();
        for head in bits::iter(&state.ready) {
            let cost = instance.cost(&mut state.done, state.in_use, head);
            if cost.during > self.level {
                blocked = blocked.min(cost.during);
            } else {
                is_closed &= cost.after > state.in_use;
                moves.push((head, cost.after));
            }
        }
        let hash = self.table.hash[id as usize];
        let key = |heads: &[u32]| heads.iter().fold(hash, |hash, &head| hash ^ instance.keys[head as usize]);
        trail.clear();
        if self.rules.eager && !is_closed {
            // The level has risen since this state was made, or it is the root.
            eager::close(instance, state, self.level, trail);
            self.add(state, key(trail), id, trail);
            return;
        }
        for &(head, after) in moves.iter() {
            child.done.copy_from_slice(&state.done);
            child.ready.copy_from_slice(&state.ready);
            instance.advance(child, head, after);
            trail.clear();
            trail.push(head);
            if self.rules.eager {
                eager::close_after(instance, child, self.level, trail, (head, state.in_use), candidates);
            }
            if self.add(child, key(trail), id, trail) {
                // The table is gone, and with it this state.
                return;
            }
        }
        if blocked < ceiling {
            self.waiting.push(Reverse((blocked, id)));
        }
    }

    /// Explores the state `id`, which has been loaded, by what can be let go next.
    fn expand_by(&mut self, releases: &Releases, id: u32, ceiling: u64, scratch: &mut Scratch) {
        let instance = self.instance;
        let Scratch { state, child, trail, .. } = scratch;
        let hash = self.table.hash[id as usize];
        let key = |heads: &[u32]| heads.iter().fold(hash, |hash, &head| hash ^ instance.keys[head as usize]);
        trail.clear();
        if self.rules.eager {
            eager::close(instance, state, self.level, trail);
            if !trail.is_empty() {
                // The level has risen since this state was made, or it is the root.
                self.add(state, key(trail), id, trail);
                return;
            }
        }
        let (next, blocked) = releases.next(&instance.problem, state, self.level);
        for release in next {
            child.clone_from(state);
            for &op in &release.ops {
                let cost = instance.cost(&mut child.done, child.in_use, op);
                instance.advance(child, op, cost.after);
            }
            trail.clone_from(&release.ops);
            if self.rules.eager {
                eager::close(instance, child, self.level, trail);
            }
            if self.add(child, key(trail), id, trail) {
                // The table is gone, and with it this state.
                return;
            }
        }
        if let Some(blocked) = blocked.filter(|&blocked| blocked < ceiling) {
            self.waiting.push(Reverse((blocked, id)));
        }
    }

    /// Adds a state; true if that made the search commit and begin anew.
    fn add(&mut self, state: &State, hash: u64, parent: u32, moves: &[u32]) -> bool {
        if self.rules.commit
            && parent != NONE
            && state.in_use <= self.table.in_use[0]
            && self.commit(parent, moves)
        {
            return true;
        }
        if let Some(id) = self.table.insert(self.instance, state, hash, parent, moves) {
            self.enqueue(id);
        }
        false
    }

    /// The moves to `parent` and then `moves` lead to a valley of the root: commit to it.
    fn commit(&mut self, parent: u32, moves: &[u32]) -> bool {
        let mut path = self.table.path_to(parent);
        path.extend_from_slice(moves);
        let mut root = self.table.root();
        let kept = commit::minimised(self.instance, &root, &path);
        if kept.is_empty() || (!self.rules.minimise_valleys && kept.len() < path.len()) {
            return false;
        }
        for &head in &kept {
            let cost = self.instance.cost(&mut root.done, root.in_use, head);
            self.instance.advance(&mut root, head, cost.after);
        }
        self.committed.extend(kept);
        self.commitments.push((self.level, self.committed.len()));
        self.table.clear();
        self.open.clear();
        self.waiting.clear();
        self.add(&root, 0, NONE, &[]);
        true
    }

    fn wake(&mut self) {
        while let Some(&Reverse((level, id))) = self.waiting.peek() {
            if level > self.level {
                break;
            }
            self.waiting.pop();
            self.enqueue(id);
        }
    }

    fn enqueue(&mut self, id: u32) {
        let (in_use, size) = (self.table.in_use[id as usize], self.table.size[id as usize]);
        self.open.push(Reverse((in_use, Reverse(size), id)));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{NEVER, is_order, least_peak, problems};
    use super::*;
    use crate::walk::peak_of;
    use std::collections::BTreeMap;

    /// Runs to the end, in small pieces.
    fn solve(instance: &Instance, rules: &Rules, ceiling: u64) -> (Option<Vec<u32>>, u64) {
        let mut flood = Flood::new(instance, rules, 0);
        loop {
            match flood.run(3, ceiling, u64::MAX, NEVER) {
                Event::Solved(heads) => return (Some(heads), flood.level),
                Event::Ceiling => return (None, flood.level),
                Event::Budget => {}
            }
        }
    }

    #[test]
    fn the_level_at_the_end_is_the_least_peak() {
        for problem in problems() {
            let least = least_peak(&problem);
            for rule in ["", "commit", "eager", "minimise-valleys", "lazy"] {
                let mut rules = Rules::default();
                rules.turn_off(rule);
                for problem in [problem.clone(), problem.reversed()] {
                    let instance = Instance::new(problem, rules.lazy);
                    let (heads, level) = solve(&instance, &rules, u64::MAX);
                    let order = instance.expand(&heads.unwrap());
                    assert!(is_order(&instance.problem, &order), "{rule}");
                    assert_eq!((level, peak_of(&instance.problem, &order)), (least, least), "{rule}");
                    assert_eq!(solve(&instance, &rules, least).0, None, "{rule}");
                    let instance = Instance::by_releases(instance.problem);
                    let (heads, level) = solve(&instance, &rules, u64::MAX);
                    let order = instance.expand(&heads.unwrap());
                    assert!(is_order(&instance.problem, &order), "{rule}");
                    assert_eq!((level, peak_of(&instance.problem, &order)), (least, least), "{rule}");
                    assert_eq!(solve(&instance, &rules, least).0, None, "{rule}");
                }
            }
        }
    }

    /// States are told apart by what has run, also where their hashes are equal, explored or not.
    #[test]
    fn a_state_is_known_by_its_set() {
        for (problem, lazy) in problems().step_by(7).zip([false, true].into_iter().cycle()) {
            let instance = Instance::new(problem, lazy);
            let start = instance.start();
            let mut table = Table { words: instance.problem.words(), ..Table::default() };
            table.insert(&instance, &start, 0, NONE, &[]);
            let mut known = BTreeMap::from([(start.done.clone(), start.ready.clone())]);
            let mut state = start;
            let mut id = 0;
            while (id as usize) < table.in_use.len() {
                table.load(&instance, id, &mut state);
                assert_eq!(known.get(&state.done), Some(&state.ready));
                table.keep(id, &state);
                for head in bits::iter(&state.ready) {
                    let mut child = state.clone();
                    instance.advance(&mut child, head, 0);
                    let is_new = known.insert(child.done.clone(), child.ready.clone()).is_none();
                    assert_eq!(table.insert(&instance, &child, 0, id, &[head]).is_some(), is_new);
                }
                id += 1;
            }
            assert_eq!(known.len(), id as usize);
        }
    }
}
