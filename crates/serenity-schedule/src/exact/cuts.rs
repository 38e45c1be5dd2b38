//! Minima of f by minimum cuts.
//!
//! f is submodular over the downsets of the precedence order (see the [module](super) documentation), and a sum of terms of one
//! form, so its minimum over all downsets `X` is a minimum cut. The source side is "in X". A buffer is in use iff one of its
//! writers is in X and one of its readers is not:
//!
//! ```text
//! writer --unlimited--> alloc --bytes--> kept --unlimited--> reader        op --unlimited--> predecessor
//! ```
//!
//! If a writer is on the source side, so is `alloc`; if a reader is on the sink side, so is `kept`; then the buffer's
//! edge is cut. The last kind of edge keeps X downward closed.

use super::flow::{Network, UNLIMITED};
use crate::{Buffer, Problem, bits};

/// A minimum of f and where it is taken.
pub(super) struct Minimum {
    pub(super) value: u64,
    /// The smallest set that takes it.
    pub(super) least: Vec<u64>,
    /// The largest.
    pub(super) greatest: Vec<u64>,
}

/// The minimum of f over all sets of ops that can have run.
pub(super) fn minimum(problem: &Problem) -> Minimum {
    let nothing = vec![0; problem.words()];
    let mut cut = Cut::new(problem, &problem.buffers, &nothing, &nothing, None);
    let value = problem.base + cut.value();
    let (source_side, sink_side) = (cut.network.reached_from(Cut::SOURCE), cut.network.reaching(Cut::SINK));
    let (mut least, mut greatest) = (nothing.clone(), nothing.clone());
    for op in 0..problem.ops {
        if source_side[cut.node(op) as usize] {
            bits::insert(&mut least, op);
        }
        if !sink_side[cut.node(op) as usize] {
            bits::insert(&mut greatest, op);
        }
    }
    Minimum { value, least, greatest }
}

/// The least memory in use while `op` runs, over all sets that can have run before it. `ancestors` have, `descendants` have not.
pub(super) fn minimum_during(problem: &Problem, op: u32, ancestors: &[u64], descendants: &[u64]) -> u64 {
    problem.base + Cut::new(problem, &problem.buffers, ancestors, descendants, Some(op)).value()
}

/// The network of a problem in which some ops are known to have run and some not to.
pub(super) struct Cut<'a> {
    pub(super) network: Network,
    inside: &'a [u64],
    outside: &'a [u64],
    running: Option<u32>,
    /// Buffers that are in use whatever the rest of X is, and their bytes.
    pub(super) always: Vec<usize>,
    constant: u64,
    /// Which edge stands for which buffer, edges ascending.
    pub(super) buffer_edges: Vec<(u32, usize)>,
}

impl<'a> Cut<'a> {
    pub(super) const SOURCE: u32 = 0;
    pub(super) const SINK: u32 = 1;

    pub(super) fn new(
        problem: &Problem,
        buffers: &[Buffer],
        inside: &'a [u64],
        outside: &'a [u64],
        running: Option<u32>,
    ) -> Self {
        let mut cut = Self {
            network: Network::new(problem.len() + 2),
            inside,
            outside,
            running,
            always: Vec::new(),
            constant: 0,
            buffer_edges: Vec::new(),
        };
        for op in 0..problem.ops {
            for &p in &problem.predecessors[op as usize] {
                let (from, to) = (cut.node(op), cut.node(p));
                if from != Self::SINK && to != Self::SOURCE && from != to {
                    cut.network.add_edge(from, to, UNLIMITED);
                }
            }
        }
        for (index, buffer) in buffers.iter().enumerate() {
            cut.add_buffer(index, buffer);
        }
        cut
    }

    /// Pushes the maximum flow; returns the minimum of what the given buffers have in use.
    pub(super) fn value(&mut self) -> u64 {
        self.constant + self.network.maximise(Self::SOURCE, Self::SINK)
    }

    /// An op whose place is known is merged with the source or the sink. While an op runs it has not finished: it is outside.
    fn node(&self, op: u32) -> u32 {
        if bits::contains(self.inside, op) {
            Self::SOURCE
        } else if bits::contains(self.outside, op) || self.running == Some(op) {
            Self::SINK
        } else {
            op + 2
        }
    }

    fn add_buffer(&mut self, index: usize, buffer: &Buffer) {
        // A running op has brought its results to life but let nothing go yet.
        let written = buffer.from_start
            || buffer.writers.iter().any(|w| self.running == Some(w.0) || self.node(w.0) == Self::SOURCE);
        let kept = buffer.to_end || buffer.readers.iter().any(|r| self.node(r.0) == Self::SINK);
        if written && kept {
            self.constant += buffer.bytes;
            self.always.push(index);
            return;
        }
        let writers: Vec<u32> =
            buffer.writers.iter().map(|w| self.node(w.0)).filter(|&n| n != Self::SINK).collect();
        let readers: Vec<u32> =
            buffer.readers.iter().map(|r| self.node(r.0)).filter(|&n| n != Self::SOURCE).collect();
        let alloc = if written { Some(Self::SOURCE) } else { self.joined(&writers, |op, node| (op, node)) };
        let Some(alloc) = alloc else { return };
        let kept = if kept { Some(Self::SINK) } else { self.joined(&readers, |op, node| (node, op)) };
        let Some(kept) = kept else { return };
        if alloc != kept {
            let edge = self.network.add_edge(alloc, kept, buffer.bytes);
            self.buffer_edges.push((edge, index));
        }
    }

    /// The node that stands for some ops: the op itself if it is one, `None` if there is none, otherwise a new node with
    /// an edge of each.
    fn joined(&mut self, ops: &[u32], edge: impl Fn(u32, u32) -> (u32, u32)) -> Option<u32> {
        if let [] | [_] = ops {
            return ops.first().copied();
        }
        let node = self.network.add_node();
        for &op in ops {
            let (from, to) = edge(op, node);
            self.network.add_edge(from, to, UNLIMITED);
        }
        Some(node)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{problems, sets};
    use super::*;

    #[test]
    fn a_cut_is_the_minimum_over_all_sets() {
        for problem in problems() {
            let sets = sets(&problem);
            let in_use = |set: &u64| problem.in_use_after(&[*set]);
            let least = sets.iter().map(in_use).min().unwrap();
            let minimisers = || sets.iter().filter(|set| in_use(set) == least);
            let found = minimum(&problem);
            assert_eq!(found.value, least);
            assert_eq!(found.least, [minimisers().fold(u64::MAX, |all, set| all & set)]);
            assert_eq!(found.greatest, [minimisers().fold(0, |all, set| all | set)]);
        }
    }
}
