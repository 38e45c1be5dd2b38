//! Minimum cuts of one problem under changing assumptions about which ops have run.
//!
//! The network is that of [`cuts`](super::cuts), built once for a partial order. Every op has an edge from the source and
//! one to the sink, both closed; assuming that it has run, or that it has not, opens one of them. What flows already
//! stays a flow when more is assumed, so an assumption more costs only what it adds.

use super::precedence::Known;
use crate::{Problem, bits};

/// More than any sum of sizes, which fit in 63 bits.
const UNLIMITED: u64 = 1 << 63;

const SOURCE: u32 = 0;
const SINK: u32 = 1;
/// Out of reach.
const NOWHERE: u32 = u32::MAX;

pub(super) struct Network {
    /// The edges of each node, one node after the other.
    first: Vec<u32>,
    to: Vec<u32>,
    /// The index of the edge in the other direction.
    back: Vec<u32>,
    capacity: Vec<u64>,
    /// For each op, its edge from the source and the one to the sink.
    forced_in: Vec<u32>,
    forced_out: Vec<u32>,
    /// The edge of each buffer, if it has one.
    of_buffer: Vec<Option<u32>>,
    level: Vec<u32>,
    current: Vec<u32>,
    queue: Vec<u32>,
}

/// What is assumed, and what flows.
#[derive(Clone, Default)]
pub(super) struct Flow {
    residual: Vec<u64>,
    /// What a cut has at least.
    pub(super) value: u64,
}

impl Network {
    pub(super) fn new(problem: &Problem, known: &Known) -> Self {
        let mut edges = Edges { list: Vec::new(), nodes: problem.ops + 2 };
        for op in 0..problem.ops {
            edges.add(SOURCE, op + 2, 0);
            edges.add(op + 2, SINK, 0);
        }
        for op in 0..problem.ops {
            for p in known.immediate_predecessors(op) {
                edges.add(op + 2, p + 2, UNLIMITED);
            }
        }
        let of_buffer: Vec<Option<usize>> =
            (0..problem.buffers.len()).map(|buffer| edges.add_buffer(problem, known, buffer)).collect();
        edges.network(problem, &of_buffer)
    }

    /// Nothing is assumed.
    pub(super) fn flow(&self) -> Flow {
        Flow { residual: self.capacity.clone(), value: 0 }
    }

    /// Assumes that an op has run.
    pub(super) fn assume_run(&self, flow: &mut Flow, op: u32) {
        flow.residual[self.forced_in[op as usize] as usize] = UNLIMITED;
    }

    /// Assumes that an op has not ended.
    pub(super) fn assume_open(&self, flow: &mut Flow, op: u32) {
        flow.residual[self.forced_out[op as usize] as usize] = UNLIMITED;
    }

    /// Leaves a buffer out, before anything flows.
    pub(super) fn leave_out(&self, flow: &mut Flow, buffer: u32) {
        if let Some(edge) = self.of_buffer[buffer as usize] {
            flow.residual[edge as usize] = 0;
        }
    }

    /// Pushes as much as possible, or until the flow is more than `enough`.
    pub(super) fn maximise(&mut self, flow: &mut Flow, enough: u64) {
        while flow.value <= enough && self.set_levels(&flow.residual) {
            self.current.clear();
            self.current.extend_from_slice(&self.first[..self.first.len() - 1]);
            flow.value +=
                self.push(&mut flow.residual, SOURCE, UNLIMITED - 1 - flow.value.min(UNLIMITED - 1));
        }
    }

    fn set_levels(&mut self, residual: &[u64]) -> bool {
        self.level.fill(NOWHERE);
        self.level[SOURCE as usize] = 0;
        self.queue.clear();
        self.queue.push(SOURCE);
        let mut head = 0;
        while head < self.queue.len() {
            let node = self.queue[head];
            head += 1;
            for edge in self.first[node as usize]..self.first[node as usize + 1] {
                let target = self.to[edge as usize] as usize;
                if residual[edge as usize] > 0 && self.level[target] == NOWHERE {
                    self.level[target] = self.level[node as usize] + 1;
                    if target == SINK as usize {
                        return true;
                    }
                    self.queue.push(target as u32);
                }
            }
        }
        false
    }

    /// Pushes up to `most` from a node along rising levels.
    fn push(&mut self, residual: &mut [u64], node: u32, most: u64) -> u64 {
        if node == SINK {
            return most;
        }
        let mut sent = 0;
        while self.current[node as usize] < self.first[node as usize + 1] {
            let edge = self.current[node as usize] as usize;
            let target = self.to[edge];
            if residual[edge] > 0 && self.level[target as usize] == self.level[node as usize] + 1 {
                let pushed = self.push(residual, target, residual[edge].min(most - sent));
                residual[edge] -= pushed;
                residual[self.back[edge] as usize] += pushed;
                sent += pushed;
                if sent == most {
                    return sent;
                }
            }
            self.current[node as usize] += 1;
        }
        self.level[node as usize] = NOWHERE;
        sent
    }

    /// The smallest set with the value of a maximum flow. To be asked right after [`Self::maximise`].
    pub(super) fn least_set(&self, set: &mut [u64]) {
        set.fill(0);
        for op in 0..self.forced_in.len() as u32 {
            if self.level[op as usize + 2] != NOWHERE {
                bits::insert(set, op);
            }
        }
    }

    /// The largest set with the value of a maximum flow.
    pub(super) fn greatest_set(&self, flow: &Flow, set: &mut [u64]) {
        let mut reaches = vec![false; self.level.len()];
        reaches[SINK as usize] = true;
        let mut open = vec![SINK];
        while let Some(node) = open.pop() {
            for edge in self.first[node as usize]..self.first[node as usize + 1] {
                let target = self.to[edge as usize];
                let has_room = flow.residual[self.back[edge as usize] as usize] > 0;
                if has_room && !std::mem::replace(&mut reaches[target as usize], true) {
                    open.push(target);
                }
            }
        }
        set.fill(0);
        for op in 0..self.forced_in.len() as u32 {
            if !reaches[op as usize + 2] {
                bits::insert(set, op);
            }
        }
    }
}

/// The edges of a network to be.
struct Edges {
    list: Vec<(u32, u32, u64)>,
    nodes: u32,
}

impl Edges {
    fn add(&mut self, from: u32, to: u32, capacity: u64) -> usize {
        self.list.push((from, to, capacity));
        self.list.len() - 1
    }

    /// The edge that is cut iff a writer has run and a reader has not.
    fn add_buffer(&mut self, problem: &Problem, known: &Known, buffer: usize) -> Option<usize> {
        let buffer = &problem.buffers[buffer];
        // A writer behind another one brings nothing to life, and a reader before another one lets nothing go.
        let is_first = |op: u32| !buffer.writers.iter().any(|w| known.is_before(w.0, op));
        let is_last = |op: u32| !buffer.readers.iter().any(|r| known.is_before(op, r.0));
        let writers: Vec<u32> = buffer.writers.iter().map(|w| w.0).filter(|&op| is_first(op)).collect();
        let readers: Vec<u32> = buffer.readers.iter().map(|r| r.0).filter(|&op| is_last(op)).collect();
        let alloc = if buffer.from_start { SOURCE } else { self.joined(&writers, |op, node| (op, node))? };
        let kept = if buffer.to_end { SINK } else { self.joined(&readers, |op, node| (node, op))? };
        (alloc != kept).then(|| self.add(alloc, kept, buffer.bytes))
    }

    /// The node that stands for some ops.
    fn joined(&mut self, ops: &[u32], edge: impl Fn(u32, u32) -> (u32, u32)) -> Option<u32> {
        if let [] | [_] = ops {
            return ops.first().map(|op| op + 2);
        }
        let node = self.nodes;
        self.nodes += 1;
        for &op in ops {
            let (from, to) = edge(op + 2, node);
            self.add(from, to, UNLIMITED);
        }
        Some(node)
    }

    fn network(self, problem: &Problem, of_buffer: &[Option<usize>]) -> Network {
        let mut first = vec![0_u32; self.nodes as usize + 1];
        for &(from, to, _) in &self.list {
            first[from as usize + 1] += 1;
            first[to as usize + 1] += 1;
        }
        for node in 0..self.nodes as usize {
            first[node + 1] += first[node];
        }
        let mut next = first.clone();
        let count = 2 * self.list.len();
        let (mut to, mut back, mut capacity) = (vec![0; count], vec![0; count], vec![0; count]);
        let mut place = Vec::with_capacity(self.list.len());
        for &(from, target, room) in &self.list {
            let (there, again) = (next[from as usize], next[target as usize]);
            next[from as usize] += 1;
            next[target as usize] += 1;
            (to[there as usize], back[there as usize], capacity[there as usize]) = (target, again, room);
            (to[again as usize], back[again as usize]) = (from, there);
            place.push(there);
        }
        let forced = |offset: usize| (0..problem.len()).map(|op| place[2 * op + offset]).collect();
        Network {
            forced_in: forced(0),
            forced_out: forced(1),
            of_buffer: of_buffer.iter().map(|edge| edge.map(|edge| place[edge])).collect(),
            level: vec![NOWHERE; self.nodes as usize],
            current: Vec::new(),
            queue: Vec::new(),
            first,
            to,
            back,
            capacity,
        }
    }
}
