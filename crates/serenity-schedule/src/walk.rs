//! Follows a single order by counters.
//!
//! A search that holds many sets at once must test which writers and readers of each buffer are in the set. Along a
//! single order one counter per buffer and one per op tell, and a whole order costs no more than its edges.

use crate::{OpIndex, Problem, Step, bits};

/// What each op still waits for.
#[derive(Clone)]
pub(crate) struct Waiting {
    predecessors_left: Vec<u32>,
}

impl Waiting {
    pub(crate) fn new(problem: &Problem) -> Self {
        Self { predecessors_left: problem.predecessors.iter().map(|list| list.len() as u32).collect() }
    }

    /// The ops that wait for nothing, ascending.
    pub(crate) fn ready(&self) -> impl Iterator<Item = u32> {
        (0..self.predecessors_left.len() as u32).filter(|&op| self.predecessors_left[op as usize] == 0)
    }

    /// `op` has run; calls `ready` with each op that waited for it last.
    pub(crate) fn run(&mut self, problem: &Problem, op: u32, mut ready: impl FnMut(u32)) {
        for &next in &problem.successors[op as usize] {
            let left = &mut self.predecessors_left[next as usize];
            *left -= 1;
            if *left == 0 {
                ready(next);
            }
        }
    }

    /// Takes `op` back, the last that has run; calls `no_longer_ready` with each op that must wait for it again.
    pub(crate) fn take_back(&mut self, problem: &Problem, op: u32, mut no_longer_ready: impl FnMut(u32)) {
        for &next in &problem.successors[op as usize] {
            let left = &mut self.predecessors_left[next as usize];
            if *left == 0 {
                no_longer_ready(next);
            }
            *left += 1;
        }
    }
}

/// The memory in use along one order.
#[derive(Clone)]
pub(crate) struct Walk<'a> {
    problem: &'a Problem,
    in_use: u64,
    alive: Vec<bool>,
    readers_left: Vec<u32>,
    /// The XOR of the readers left: the reader itself once there is only one.
    last_reader: Vec<u32>,
    /// What each op would bring to life and let go if it ran next.
    allocated: Vec<u64>,
    freed: Vec<u64>,
    /// What has run; kept only where hand-overs depend on it.
    done: Vec<u64>,
}

impl<'a> Walk<'a> {
    pub(crate) fn new(problem: &'a Problem) -> Self {
        let mut walk = Self {
            problem,
            in_use: problem.at_start(),
            alive: problem.buffers.iter().map(|buffer| buffer.from_start).collect(),
            readers_left: problem.buffers.iter().map(|buffer| buffer.readers.len() as u32).collect(),
            last_reader: Vec::with_capacity(problem.buffers.len()),
            allocated: vec![0; problem.len()],
            freed: vec![0; problem.len()],
            done: vec![0; if problem.hand_overs.is_empty() { 0 } else { problem.words() }],
        };
        for buffer in &problem.buffers {
            for writer in &buffer.writers {
                walk.allocated[writer.index()] += buffer.bytes;
            }
            if let [only] = buffer.readers[..] {
                walk.freed[only.index()] += buffer.bytes;
            }
            walk.last_reader.push(buffer.readers.iter().fold(0, |all, reader| all ^ reader.0));
        }
        walk
    }

    /// Bytes that `op` brings to life if it runs next, less those that it writes over what it lets go.
    pub(crate) fn allocated(&self, op: u32) -> u64 {
        self.allocated[op as usize] - self.problem.hand_overs.saved(&self.done, op)
    }

    /// Bytes that `op` lets go if it runs next, less those that it writes over.
    pub(crate) fn freed(&self, op: u32) -> u64 {
        // An op that cannot run yet may save what it does not let go yet.
        self.freed[op as usize].saturating_sub(self.problem.hand_overs.saved(&self.done, op))
    }

    pub(crate) fn run(&mut self, op: u32) -> Step {
        self.run_and_tell(op, |_, _| ())
    }

    /// Runs `op`, which has not run yet; calls `changes` with each other op just before it comes to cost something else.
    pub(crate) fn run_and_tell(&mut self, op: u32, mut changes: impl FnMut(&Self, u32)) -> Step {
        let during = self.in_use + self.allocated(op);
        self.in_use = during - self.freed(op);
        let problem = self.problem;
        for &b in &problem.writes[op as usize] {
            let buffer = &problem.buffers[b as usize];
            if !std::mem::replace(&mut self.alive[b as usize], true) {
                for &OpIndex(writer) in buffer.writers.iter().filter(|writer| writer.0 != op) {
                    changes(self, writer);
                    self.allocated[writer as usize] -= buffer.bytes;
                }
            }
        }
        for &b in &problem.reads[op as usize] {
            self.readers_left[b as usize] -= 1;
            self.last_reader[b as usize] ^= op;
            if self.readers_left[b as usize] == 1 {
                let last = self.last_reader[b as usize];
                changes(self, last);
                self.freed[last as usize] += problem.buffers[b as usize].bytes;
            }
        }
        // Until now others cost what they did before.
        if !problem.hand_overs.is_empty() {
            bits::insert(&mut self.done, op);
        }
        Step { during, after: self.in_use }
    }
}

/// Memory around each op of an order.
pub(crate) fn steps_of(problem: &Problem, order: &[u32]) -> Vec<Step> {
    let mut walk = Walk::new(problem);
    order.iter().map(|&op| walk.run(op)).collect()
}

/// The most memory in use at any time of an order.
pub(crate) fn peak_of(problem: &Problem, order: &[u32]) -> u64 {
    let mut walk = Walk::new(problem);
    order.iter().map(|&op| walk.run(op).during).fold(problem.at_start(), u64::max)
}
